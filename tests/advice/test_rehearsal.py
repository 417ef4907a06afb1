"""The rehearsal: policies on the log's own rows, and when one of them is preferred."""

import numpy as np
import pytest

from outlay import policies
from outlay.advice import rehearsal
from outlay.errors import RunTooLong
from outlay.policies import Fixed

from .reading import advise, said


def test_the_default_unless_another_clearly_earned_more(close, stand_in):
    found = advise(close, 1000)
    assert found.remaining == ["fair", "good"]
    assert found.policy == policies.default()
    assert found.reason.startswith(
        "nothing clearly earned more in the rehearsal, and it needs to know nothing but the budget"
    )
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
    assert "policy=policies.Frugal(reward_bound=3.0)" in found.code
    refunds = close.assign(cost=np.where(close.index == 5, -1.0, close["cost"]))
    assert type(advise(refunds, 1000, guarantee=True).policy) is policies.BernsteinRate


def test_the_same_seed_gives_the_same_advice(log, stand_in, monkeypatch):
    assert advise(log, 1000, seed=3) == advise(log, 1000, seed=3)
    monkeypatch.setattr("outlay.advice.summary.SAMPLE", 50)
    one, other, again = (advise(log, 1000, seed=seed) for seed in (3, 4, 3))
    assert one == again
    assert one.rehearsal.best_reward != other.rehearsal.best_reward
    assert said(one, "sample") == "The rehearsal draws from at most 50 rows per arm, chosen at random"


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
