"""Advice as a whole: what to run, what to mind, and the same from the same seed."""

import json
import math
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outlay
from outlay import policies
from outlay.advice import Advice, rehearsal
from outlay.advice import advise as library_advise
from outlay.advice.choice import Known, contenders
from outlay.advice.doubts import Doubts, doubts
from outlay.advice.evidence.drift import Course
from outlay.advice.evidence.rates import Interval
from outlay.advice.evidence.tails import Tail
from outlay.advice.telling.answer import answer
from outlay.advice.telling.code import call
from outlay.advice.telling.data import data_of
from outlay.errors import BadParameter, RunTooLong
from outlay.policies import Fixed


def advise(*arguments: Any, **options: Any) -> Any:
    """As it is, with fields that mypy need not know to be there."""
    return library_advise(*arguments, **options)


def kinds(advice: Advice) -> list[str]:
    return [caution.kind for caution in advice.cautions]


def said(advice: Advice, kind: str) -> str:
    return next(caution.sentence for caution in advice.cautions if caution.kind == kind)


def test_a_plain_log(log, stand_in):
    found = advise(log, 1000)
    assert [(arm.name, arm.verdict) for arm in found.arms] == [
        ("fair", "ruled out"), ("good", "best so far"), ("poor", "ruled out"),
    ]  # fmt: skip
    rows = log[log["arm"] == "good"]
    assert found.best.rate == pytest.approx(rows["reward"].mean() / rows["cost"].mean())
    assert found.best.correlation == pytest.approx(np.corrcoef(rows["cost"], rows["reward"])[0, 1])
    assert found.best.rows == len(rows)
    assert kinds(found) == ["selection"]
    assert found.remaining == ["good"]
    assert found.policy == policies.default()
    assert found.reason == "good is the only arm left, so that any policy will do"
    assert answer(found)[-1] == "Spend it all on good: no other arm is left."
    assert [one.label for one in found.rehearsal.candidates] == [
        "Frugal", "Frugal, rewards ≤ 1", "KLRate", "Fieller", "UCBB1", "RoundRobin",
    ]  # fmt: skip
    assert found.rehearsal.runs == 200
    assert all(one.in_turn for one in found.rehearsal.candidates)  # one pull of each arm
    assert found.campaign.candidates[0].share == pytest.approx(0.5)


def test_what_the_policies_are_told(log):
    found = advise(log, 1000, rehearse=False)
    told = contenders(found.arms, Known.of(found.arms, None, 2.0))
    assert told["Frugal, rewards ≤ 2"] == policies.Frugal(reward_bound=2.0)
    paper = told["UCBB1"]
    assert paper.cost_bound == log["cost"].max()
    assert paper.reward_bound == 2.0
    assert paper.min_cost == pytest.approx(log.groupby("arm")["cost"].mean().min() / 2)
    np.testing.assert_allclose(paper.var_cost, log.groupby("arm")["cost"].var(ddof=0))
    assert not any("≤" in label for label in contenders(found.arms, Known(1.0, 1.0, negative_costs=True)))


@pytest.fixture
def close(draw: Any) -> Any:
    """Two arms between which the log does not decide."""
    return draw().replace({"arm": {"poor": "good"}}).assign(reward=lambda frame: frame["cost"] > 0.9)


def test_the_default_unless_another_clearly_earned_more(close, stand_in):
    found = advise(close, 1000)
    assert found.remaining == ["fair", "good"]
    assert found.policy == policies.default()
    assert found.reason.startswith("nothing clearly earned more in the rehearsal, and of the policies that need")
    stand_in["Fieller"] = 0.504
    assert advise(close, 1000).policy == policies.default()
    stand_in["Fieller"] = 0.6
    better = advise(close, 1000)
    assert better.policy == policies.Fieller()
    assert better.reason.startswith("it earned ")
    stand_in["UCBB1"] = 0.7
    assert len(advise(close, 1000).policy.var_cost) == 2


def test_a_guarantee(close, stand_in):
    found = advise(close, 1000, guarantee=True, reward_bound=3.0)
    assert found.policy == policies.Frugal(reward_bound=3.0)
    assert "policy=policies.Frugal(reward_bound=3.0))" in found.code
    refunds = close.assign(cost=np.where(close.index == 5, -1.0, close["cost"]))
    assert type(advise(refunds, 1000, guarantee=True).policy) is policies.BernsteinRate


def test_the_code_runs(close):
    found = advise(close, 30, rehearse=False)
    scope: dict[str, object] = {}
    exec(found.code.replace("cost=...", "cost=1.0").replace("reward=...", "reward=0.5"), scope)
    campaign = scope["campaign"]
    assert isinstance(campaign, outlay.Campaign)
    assert campaign.status().spent > 30
    assert found.rehearsal is None
    told = policies.UCBB1([1.0, 2.0], 0.5, 0.1)
    assert eval(f"policies.{call(told)}", {"policies": policies}) == told


def test_odd_costs_and_rewards(log):
    odd = log.copy()
    odd.loc[:3, "cost"] = 0.0
    odd.loc[4:5, "cost"] = -2.0
    odd.loc[6, "reward"] = 5.0
    odd.loc[7, "reward"] = np.nan
    free = pd.DataFrame({"arm": ["gift"] * 3, "cost": [0.0] * 3, "reward": [1.0] * 3})
    found = advise(pd.concat([odd, free]), 100, reward_bound=1.0, rehearse=False)
    assert kinds(found) == ["empty cells", "few rows", "free", "costs of 0", "negative costs", "bounds", "selection"]
    assert said(found, "empty cells").startswith("1 row of 1,203 had an empty cell and were left out")
    assert said(found, "few rows").startswith("1 of 4 arms with fewer than 200 rows (gift: 3)")
    assert said(found, "free").startswith("The mean cost of gift is not above 0")
    assert said(found, "costs of 0").startswith("4 rows of ")
    assert said(found, "negative costs").startswith("2 rows of ")
    assert "had a reward beyond the reward bound 1: the largest seen, 5, takes its place" in said(found, "bounds")
    assert "gift" not in found.remaining


def test_a_budget_of_a_few_pulls(log):
    """Fewer than 30 of the dearest arm, or less than a pull of an arm in play has cost."""
    means, most = log.groupby("arm")["cost"].mean(), log["cost"].max()
    assert "small budget" not in kinds(advise(log, 31 * means.max(), rehearse=False))
    few = said(advise(log, 5.0 * means.max(), rehearse=False), "small budget")
    assert few.startswith(f"The budget pays for about 5 pulls of {means.idxmax()}: since a run ends with the pull that")
    assert "and one pull of " in said(advise(log, 0.9 * most, rehearse=False), "small budget")
    wild = log.assign(cost=np.where(log.index == log["arm"].eq("good").idxmax(), 90.0, log["cost"]))
    one = said(advise(wild, 60, rehearse=False), "small budget")
    assert one.startswith("One pull of good has cost 90, more than the budget: since")
    free = pd.DataFrame({"arm": ["gift"] * 3, "cost": [99.0, -99.0, 0.0], "reward": [1.0] * 3})
    assert "small budget" not in kinds(advise(pd.concat([log, free]), 50, rehearse=False))


def test_heavy_tails_and_limits(draw):
    rng, log = np.random.default_rng(1), draw(0, 2000)
    heavy = log.assign(cost=1.0 + rng.pareto(1.6, len(log)))
    found = advise(heavy, 100, rehearse=False)
    assert "infinite variance" in kinds(found)
    assert "shorter than they should be; an arm that only such" in said(found, "infinite variance")
    assert [arm.verdict for arm in found.arms] == ["behind", "best so far", "behind"]
    assert found.remaining == ["fair", "good", "poor"]
    assert any(sentence.startswith("Behind, if no cost larger") for sentence in answer(found))
    assert said(found, "infinite variance").startswith("The variance of costs looks infinite, tail index below 2 (fair")
    assert re.search(r"between \S+ and \S+ as far as \S+ rows can tell, or less if costs larger", answer(found)[1])
    cut = advise(heavy.assign(cost=heavy["cost"].clip(upper=6.0)), 100, rehearse=False)
    assert "as by a timeout (fair: 6, " in said(cut, "cut off")
    assert "their variance would be infinite without the limit, tail index" in said(cut, "infinite variance")
    assert "shorter" not in said(cut, "infinite variance")
    assert "or less" not in answer(cut)[1]
    log.loc[log["arm"] == "fair", "cost"] = heavy["cost"].clip(upper=6.0)
    log.loc[log["arm"] == "good", "cost"] = heavy["cost"]
    found = advise(log, 100, rehearse=False)
    without, limited = (caution.sentence for caution in found.cautions if caution.kind == "infinite variance")
    assert without.startswith("The variance of costs looks infinite, tail index below 2 (good: 1.")
    assert "would be infinite without the limit, tail index below 2 (fair: 1." in limited


def test_an_arm_that_changed_is_not_ruled_out(draw):
    """One that got better along the file may be the best by now; and one that only a changed arm beats is behind."""
    log = draw(0, 1000)
    along = np.linspace(0.0, 1.0, len(log))
    poor = log.assign(cost=np.where(log["arm"] == "poor", log["cost"] * np.where(along < 0.8, 5.0, 0.2), log["cost"]))
    found = advise(poor, 1000, rehearse=False)
    assert [(arm.verdict, arm.course.drifts) for arm in found.arms] == [
        ("ruled out", False), ("best so far", False), ("behind", True),
    ]  # fmt: skip
    assert found.remaining == ["good", "poor"]
    assert "not below another in every eighth of the file is called behind, not ruled out" in said(found, "drift")
    wanted = "Behind, if the future is like the log as a whole, and kept in the campaign in case it is not so: poor."
    assert wanted in answer(found)
    good = log.assign(cost=np.where(log["arm"] == "good", log["cost"] * np.where(along < 0.7, 0.5, 1.6), log["cost"]))
    found = advise(good, 1000, rehearse=False)
    assert [arm.verdict for arm in found.arms] == ["behind", "best so far", "ruled out"]
    assert answer(found)[1].startswith("If the future is like the log as a whole, which changed on the way, 1,000 ")
    assert wanted.replace(": poor", ": fair") in answer(found)


def test_arms_that_were_used_at_different_times():
    """One was good while it was used alone; where both were used, late in the file, the other is better."""
    rng = np.random.default_rng(0)
    early = pd.DataFrame({"arm": "a", "cost": 1.0, "reward": rng.random(2000) < np.repeat([0.97, 0.8], 1000)})
    late = pd.DataFrame({"arm": rng.permutation(["a"] * 140 + ["b"] * 8000), "cost": 1.0})
    late["reward"] = rng.random(len(late)) < np.where(late["arm"] == "a", 0.3, 0.5)
    found = advise(pd.concat([early, late]), 100, rehearse=False)
    assert [(arm.name, arm.verdict) for arm in found.arms] == [("a", "best so far"), ("b", "behind")]


def test_why_an_arm_is_behind(log):
    """Tails, drift, or both where each explains only some of the arms above."""
    low, one, other = advise(log, 100, rehearse=False).arms
    steady, moves = (Course(drifts, (math.nan,) * 3) for drifts in (False, True))
    low, one, other = (
        arm._replace(name=name, verdict=verdict, interval=Interval(*ends), course=steady)
        for arm, name, verdict, ends in (
            (low, "low", "behind", (0, 1)), (one, "one", "open", (2, 4)), (other, "other", "best so far", (3, 5)),
        )
    )  # fmt: skip
    wild = one._replace(tail=Tail(1.5, None, 0))
    moved = other._replace(course=moves)
    assert doubts([low, wild, other._replace(interval=Interval(0, 5))]) == {"low": (True, False)}
    assert doubts([low, one._replace(interval=Interval(0, 4)), moved]) == {"low": (False, True)}
    assert doubts([low._replace(course=moves), one, other]) == {"low": (False, True)}
    assert doubts([low, wild, moved]) == {"low": (True, True)}
    assert Doubts(True, True).condition.endswith("ever comes and the future is like the log as a whole")


def test_what_the_best_arm_brings(close, stand_in):
    """On average and what is open about that; and how single campaigns vary, where enough were played."""
    found = advise(close, 1000)
    mean, single = answer(found)[1:3]
    low, high = (f"{1000 * end:.4g}" for end in found.best.interval)
    assert f"brings about {1000 * found.best.rate:.4g} on average (between {low} and {high} as far as " in mean
    played = found.rehearsal
    assert f"8 runs in 10 earned between {played.best_low:.4g} and {played.best_high:.4g}." in single
    assert played.best_low < played.best_reward < played.best_high
    assert "alone with " in answer(advise(close, 1e9))[2]
    assert not any("Single" in sentence for sentence in answer(advise(close, 1000, runs=5)))
    assert answer(advise(close[:1], 1000))[1].endswith("on average; the log leaves open how far off that is.")
    few = advise(close[:300], 1000)
    assert said(few, "few rows").endswith("a rehearsal takes these rows for the whole truth")
    assert ", as if its few rows were the whole truth, that campaign earned " in answer(few)[-1]


def test_one_arm_and_no_reward(log):
    one = advise(log[log["arm"] == "good"], 100)
    assert kinds(one) == ["one arm", "selection"]
    assert one.rehearsal is None
    assert answer(one)[-1] == "Spend it all on good: the log has no other arm."
    nothing = advise(log.assign(reward=0.0), 100, rehearse=False)
    assert "no reward" in kinds(nothing)


def test_drift_is_told_and_seldom_falsely(draw):
    """Logs in random order: at most 5 % of them raise an alarm, over all arms and both columns together."""
    alarms = sum("drift" in kinds(advise(draw(seed, 60), 100, rehearse=False)) for seed in range(120))
    assert alarms <= 0.05 * 120
    log = draw(0)
    log["cost"] *= np.linspace(1.0, 1.6, len(log))
    found = advise(log, 100, rehearse=False)
    assert "6 tests, chance of any false alarm 5%" in said(found, "drift")
    assert "cost of good from 1" in said(found, "drift")
    by_arm = advise(draw(0).sort_values("arm", kind="stable"), 100, rehearse=False)
    assert "drift" not in kinds(by_arm)


def test_a_bar_while_a_file_is_read(log, tmp_path, monkeypatch):
    told: list[object] = []

    @contextmanager
    def progress(total, wanted, words):
        told.extend([total, wanted, words])
        yield told.append

    monkeypatch.setattr("outlay.advice.advice.progress", progress)
    log.to_csv(tmp_path / "log.csv", index=False)
    advise(tmp_path / "log.csv", 1000, rehearse=False)
    assert told == [1.0, None, "reading log.csv", 1.0]


def test_the_same_seed_gives_the_same_advice(log, stand_in, monkeypatch):
    assert advise(log, 1000, seed=3) == advise(log, 1000, seed=3)
    monkeypatch.setattr("outlay.advice.evidence.tally.SAMPLE", 50)
    one, other, again = (advise(log, 1000, seed=seed) for seed in (3, 4, 3))
    assert one == again
    assert one.rehearsal.best_reward != other.rehearsal.best_reward
    assert said(one, "sample") == "The rehearsal draws from at most 50 rows of an arm, chosen at random"


def test_large_budgets_are_rehearsed_in_small(log, stand_in, monkeypatch):
    found = advise(log, 1e9)
    assert found.rehearsal.runs == 20
    assert found.rehearsal.budget < 1e6
    assert said(found, "budget").startswith("The rehearsal spends ")
    played, tried = vars(rehearsal)["simulate"], []

    def slow(problem, contenders, budgets, **options):
        tried.append(budgets[0])
        if len(tried) < 3:
            raise RunTooLong("RoundRobin", 0, 10, 1.0, budgets[0])
        return played(problem, contenders, budgets, **options)

    monkeypatch.setattr(rehearsal, "simulate", slow)
    assert advise(log, 1000, runs=7).rehearsal.budget == pytest.approx(10.0)


def test_a_rehearsal_played_for_real(log):
    samples = {name: rows[["cost", "reward"]].to_numpy().T for name, rows in log.groupby("arm")}
    problem = rehearsal.problem_of(samples)
    players = {"good": Fixed(1), "poor": Fixed(2)}
    found = rehearsal.rehearse(problem, players, 500.0, runs=40, seed=1, workers=1)
    good, poor = found.candidates
    assert found.best == "good"
    assert (good.in_turn, found.best_low < good.reward < found.best_high) == (False, True)
    assert good.reward == found.best_reward == pytest.approx(500 * problem.rate, rel=0.05)
    assert good.regret == good.edge == 0.0
    assert good.share == 1.0
    assert poor.reward == pytest.approx(500 * problem.rates[2], rel=0.1)
    assert poor.edge == pytest.approx(poor.reward - good.reward)
    assert poor.regret == pytest.approx(500 * problem.gaps[2], rel=0.05)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"budget": 0}, "budget of advise must be > 0; got 0"),
        ({"budget": "much"}, "budget of advise must be a finite number > 0; got 'much'"),
        ({"reward_bound": -1}, "reward_bound of advise must be > 0; got -1"),
        ({"confidence": 1}, "confidence of advise must be > 0.5 and < 1; got 1"),
        ({"guarantee": "yes"}, "guarantee of advise must be True or False; got 'yes'"),
        ({"seed": 0.5}, "seed of advise must be a whole number ≥ 0; got 0.5"),
        ({"runs": 0}, "runs of advise must be a whole number ≥ 1; got 0"),
    ],
)
def test_bad_parameters(log, options, sentence):
    with pytest.raises(BadParameter) as refused:
        advise(log, **{"budget": 100, **options})
    assert str(refused.value) == sentence


def test_json(close, stand_in):
    found = advise(close, 1000)
    text = json.dumps(data_of(found), allow_nan=False)
    data = json.loads(text)
    assert data["policy"]["name"] == "Frugal"
    assert data["remaining"] == ["fair", "good"]
    assert data["arms"][0]["belief"]["pulls"] == found.arms[0].rows
    assert data["answer"] == answer(found)
    assert len(data["rehearsal"]["candidates"]) == 6
    assert data["rehearsal"]["best_low"] < data["rehearsal"]["best_high"]
    assert data["arms"][0]["course"]["drifts"] is False
    assert json.loads(json.dumps(data_of(advise(close[:1], 5)), allow_nan=False))["arms"][0]["interval"]["low"] is None


@pytest.mark.skipif(not os.environ.get("OUTLAY_DATA"), reason="OUTLAY_DATA names no folder of logs")
def test_real_logs():
    folder = Path(os.environ["OUTLAY_DATA"])
    solvers = advise(folder / "aslib_tsp-lion2015.csv.gz", 1e4, rehearse=False)
    assert {"infinite variance", "cut off"} <= set(kinds(solvers))
    assert solvers.best.name == "eax.restart"
    assert "would be infinite without the limit" in said(solvers, "infinite variance")
    assert solvers.remaining == ["eax.restart", "lkh.restart"]
    ads = advise(folder / "kag_facebook_ads.csv.gz", 1e4, rehearse=False)
    assert "few rows" in kinds(ads)
    agents = advise(folder / "swebench.csv.gz", 1e4, rehearse=False)
    assert len(agents.arms) == 24
    assert "few rows" not in kinds(agents)
