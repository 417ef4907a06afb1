"""A budget for a number of requests: the hull, the mix, what more money brings, and a rehearsal."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outlay
from outlay import theory
from outlay.advice import requests as hull
from outlay.advice import requests as serving
from outlay.advice.advice_page import page_text
from outlay.advice.answer import answer, data_of
from outlay.advice.comparison import groups_of
from outlay.advice.requests import gain, hull_of, mix_of, points_of

from .reading import advise

POINTS = {"small": (0.1, 0.3), "medium": (0.4, 0.6), "large": (0.9, 0.85), "other": (0.6, 0.5)}


def calls(seed: int = 0, rows: int = 6000) -> pd.DataFrame:
    """Arms with the points of docs/requests.md: costs vary, rewards are 0 or 1."""
    rng = np.random.default_rng(seed)
    arms = rng.choice(list(POINTS), rows)
    cost, reward = np.array([POINTS[arm] for arm in arms]).T
    paid = (rng.random(rows) < reward).astype(float)
    return pd.DataFrame({"arm": arms, "cost": cost * rng.gamma(9.0, 1 / 9, rows), "reward": paid})


def problem(log: pd.DataFrame) -> outlay.Problem:
    """The empirical problem of a log, arms by name."""
    laws = {str(name): outlay.arms.Empirical(rows["cost"], rows["reward"]) for name, rows in log.groupby("arm")}
    return outlay.Problem(list(laws.values()), list(laws))


@pytest.mark.parametrize("budget", [30.0, 250.0, 2000.0])
def test_it_is_the_fluid_optimum_of_the_log(budget):
    log = calls()
    found = advise(log, budget, requests=1000, rehearse=False)
    exact = theory.fluid(problem(log), budget, 1000)
    mix = found.serving.mix
    assert mix.reward.value == pytest.approx(1000 * exact.value)
    assert (mix.low, mix.high) == (exact.low, exact.high)
    assert (mix.price, mix.share) == pytest.approx((exact.price, exact.share))
    assert mix.reward.low < mix.reward.value < mix.reward.high


def test_what_is_said(stand_in):
    found = advise(calls(), 250.0, requests=1000, rehearse=False)
    assert {arm.name: arm.on_hull for arm in found.serving.arms} == {
        "small": "for sure", "medium": "for sure", "large": "for sure", "other": "never",
    }  # fmt: skip
    assert found.remaining == ["small", "medium", "large"]
    assert "give 50% of the requests to medium and the others to small." in answer(found)[0]
    assert found.policy == outlay.policies.Ration()
    scope: dict[str, Any] = {}
    exec(found.code.replace("cost=...", "cost=0.5").replace("reward=...", "reward=1.0"), scope)
    assert scope["campaign"].status().spent > 250
    json.dumps(data_of(found), allow_nan=False)
    assert "Money and requests" in page_text(found)
    assert found.hull_figure().axes
    assert "for sure" in found._repr_html_()


def test_at_equal_times():
    """The dear arm was used when everything was easy: over the whole log it looks better than it is."""
    rng, rows = np.random.default_rng(1), 4000
    along = np.sort(rng.random(rows))
    large = rng.random(rows) < 0.1 + 0.8 * along
    level = np.where(large, 0.5, 0.25) * (0.5 + along)
    log = pd.DataFrame({"arm": np.where(large, "large", "small"), "cost": np.where(large, 1.0, 0.25)})
    log["reward"] = rng.random(rows) < level
    found = advise(log, 250.0, requests=500, rehearse=False).serving
    assert found.at_equal_times
    rewards = {arm.name: arm.reward for arm in found.arms}
    assert rewards["large"] / rewards["small"] == pytest.approx(2.0, abs=0.25)
    plain = log.groupby("arm")["reward"].mean()
    assert plain["large"] / plain["small"] > 2.5


@pytest.mark.parametrize("logs", [100, pytest.param(2000, marks=pytest.mark.soak)])
def test_intervals_cover_what_the_truth_brings(logs, monkeypatch):
    """95 % intervals of what the budget brings, and of what more money would, cover 93 to 97 %.

    Two standard deviations of chance are allowed beside that (1 in 20 at the very ends of that range).
    """
    monkeypatch.setattr(hull, "DRAWS", 120)
    rng = np.random.default_rng(2)
    truth = hull_of(np.array(list(POINTS.values())))
    reward = 1000 * float(truth.value(np.array(0.25)))
    covered = np.zeros(2)
    for seed in range(logs):
        arms = [np.stack([cost * rng.gamma(9.0, 1 / 9, 300), rng.random(300) < paid]) for cost, paid in POINTS.values()]
        groups = [groups_of(own, np.zeros(300, np.int64), rng) for own in arms]
        points = points_of(groups, 1, shared=False, seed=seed)
        brings, [more] = mix_of(points, 250.0, 1000).reward, gain(points, 1000, [275.0], since=250.0)
        covered += [brings.low <= reward <= brings.high, more.low <= 25.0 <= more.high]
    spread = 2.0 * (0.05 * 0.95 / logs) ** 0.5
    assert (covered / logs > 0.93 - spread).all()
    assert (covered / logs < 0.97 + spread).all()


def test_a_rehearsal_with_requests(monkeypatch):
    """Ration beside the arms of the mix alone; more than half a million requests are scaled down with the money."""
    asked: list[Any] = []

    def simulate(problem: Any, players: Any, budgets: Any, *, requests: int, runs: int, **_: Any) -> Any:
        asked.append((list(players), budgets[0], requests, problem.names))
        shape = (len(players), runs, 1)
        pulls = np.ones((*shape, len(problem)), np.int64)
        ones, none = np.ones(shape), np.zeros((runs, 1))
        return outlay.Result(problem, players, np.array(budgets), 0, pulls, ones, 2 * ones, none, "0.2.0")

    monkeypatch.setattr(serving, "simulate", simulate)
    found = advise(calls(), 250.0, requests=1000)
    assert asked[0] == (
        ["Ration", "small alone", "medium alone", "RoundRobin"],
        250.0,
        1000,
        ("small", "medium", "large"),
    )
    assert found.serving.rehearsal[0][:2] == ("Ration", 2.0)
    assert any(sentence.startswith("Rehearsed from scratch, Ration earned 2, ") for sentence in answer(found))
    large = advise(calls(), 250_000.0, requests=1_000_000)
    assert asked[1][1:3] == (125_000.0, 500_000)
    assert large.cautions[0].kind == "requests"


@pytest.mark.soak
def test_a_rehearsal_played_for_real():
    """Ration comes close to the best mix, and beats each arm alone."""
    found = advise(calls(), 2500.0, requests=10_000, runs=40).serving
    ration, small, medium, turns = found.rehearsal
    assert 0.93 < ration.share < 1.01
    assert ration.reward > max(small.reward, medium.reward, turns.reward)
    assert ration.spent == pytest.approx(2500.0, rel=0.03)
