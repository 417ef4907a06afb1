"""Requests beside a budget: when a run ends, what it is told, and what its regret is."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import Problem, arms, policies, theory
from outlay.arms import catalogue
from tests.engine.slow import slow_run

G = catalogue.load("G")
STEPS = Problem([arms.Constant(1.0, 3.0), arms.Constant(4.0, 6.0), arms.Constant(10.0, 9.0)])
FREE = Problem(
    [arms.Gaussian(0.0, 0.2, 0.3, 0.1), arms.Gaussian(1.0, 1.5, 0.5, 0.5), arms.Gaussian(-0.2, 0.1, 0.3, 0.1)]
)
PAIRS = [  # some that rise together, and some that do not
    ([10.0, 20.0, 40.0, math.inf], [5, 40, 40, 60]),
    ([10.0, 20.0, 40.0], [60, 10, 30]),
    ([15.0, 15.0, 15.0], [7, 20, 1000]),
]
BUDGETS = [5.0, 25.0, 60.0]


class Told(NamedTuple):
    """Arm 0 for half of the requests, then arm 1 for half of the budget, then arm 2."""

    budget: float = math.inf
    requests: float = math.inf

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        if now.pulls < self.requests / 2:
            return 0
        return 1 if now.spent < self.budget / 2 else 2


class Served(NamedTuple):
    """A policy that is told requests alone."""

    requests: float = math.inf

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 0 if now.pulls < self.requests / 2 else 1


@pytest.mark.parametrize(
    "policy",
    [
        policies.UCBB1(**G.second_moments()),
        policies.Fieller(),
        *(pytest.param(each, marks=pytest.mark.interpreted) for each in (policies.baselines.BTS(), Told(), Served())),
    ],
    ids=repr,
)
@pytest.mark.parametrize(("budgets", "requests"), PAIRS)
def test_runs_end_where_those_of_the_slow_twin_do(policy: Any, budgets: list[float], requests: list[int]) -> None:
    """Bit for bit but for sums, which the twin rounds once."""
    result = outlay.simulate(G, policy, budgets, requests=requests, runs=3, seed=7)
    for run in range(3):
        for j, (budget, number) in enumerate(zip(budgets, requests, strict=True)):
            told = policy._replace(
                **{
                    name: limit
                    for name, limit in (("budget", budget), ("requests", float(number)))
                    if name in getattr(policy, "_fields", ())
                }
            )
            [(pulls, cost, reward)] = slow_run(G, told, [budget], 7, run, [number])
            assert result.pulls[0, run, j].tolist() == pulls
            assert result.cost[0, run, j] == pytest.approx(cost, rel=1e-15)
            assert result.reward[0, run, j] == pytest.approx(reward, rel=1e-15)


def test_requests_that_are_never_reached_change_no_bit() -> None:
    players: list[Any] = [
        policies.UCBB1(**G.second_moments()),
        policies.default(),
        policies.Frugal(),
        policies.baselines.BTS(),
    ]
    without = outlay.simulate(G, players, BUDGETS, runs=20, seed=3)
    beside = outlay.simulate(G, players, BUDGETS, runs=20, seed=3, requests=10**12)
    for name in ("pulls", "cost", "reward", "oracle_reward"):
        assert np.array_equal(getattr(without, name), getattr(beside, name))


def test_a_request_worth_nothing_leaves_the_regret_of_one_budget() -> None:
    """With more requests than money buys, ν = 0 and λ = r*: what is overspent aside, the pseudo-regret is the same."""
    without = outlay.simulate(G, policies.Fieller(), BUDGETS, runs=20)
    beside = outlay.simulate(G, policies.Fieller(), BUDGETS, runs=20, requests=10**9)
    overspent = without.cost - without.budgets
    assert beside.run_regret() == pytest.approx(without.run_regret() - G.rate * overspent, rel=1e-12)


def test_the_identity_holds_on_average() -> None:
    """Pseudo and realised regret have one mean: 12 differences, each within 4.5 standard errors but once in 10⁵."""
    players: list[Any] = [policies.RoundRobin(), policies.Fieller()]
    for problem, budgets in ((G, [20.0, 60.0, 120.0]), (FREE, [5.0, 40.0, math.inf])):
        result = outlay.simulate(problem, players, budgets, requests=100, runs=4000, seed=1)
        fluid = np.array([100 * theory.fluid(problem, budget, 100).value for budget in budgets])
        difference = (fluid - result.reward) - result.run_regret()
        error = difference.std(axis=1) / math.sqrt(result.runs)
        assert (np.abs(difference.mean(axis=1)) <= 4.5 * error + 1e-9).all()
        assert result.regret("realised")["mean"].to_numpy() == pytest.approx(
            (fluid - result.reward).mean(axis=1).ravel()
        )


def test_regret_by_hand() -> None:
    """Arm 1 alone: 63 pulls for 25·10, of which the fluid optimum makes 450."""
    result = outlay.simulate(STEPS, policies.Fixed(1), [250.0, 400.0], requests=100, runs=2)
    assert result.pulls[0, 0].tolist() == [[0, 63, 0], [0, 100, 0]]
    assert result.regret()["mean"].tolist() == [450.0 - 378.0, 0.0]
    assert result.regret("realised")["mean"].tolist() == [450.0 - 378.0, 0.0]
    assert list(result.regret().columns[:4]) == ["policy", "budget", "requests", "mean"]
    assert result.frame()["requests"].tolist() == [100] * 4


@pytest.mark.interpreted
def test_a_policy_is_told_what_limits_it() -> None:
    result = outlay.simulate(STEPS, Told(), [60.0, 80.0], requests=40, runs=1)
    assert result.pulls[0, 0].tolist() == [[20, 3, 3], [20, 5, 5]]
    only_money = outlay.simulate(STEPS, Told(requests=4.0), [60.0], runs=1)
    assert only_money.pulls[0, 0].tolist() == [[2, 7, 4]], "it keeps what it was given"
    served = outlay.simulate(STEPS, Served(), [1000.0, 1001.0], requests=[10, 20], runs=1)
    assert served.pulls[0, 0].tolist() == [[5, 5, 0], [10, 10, 0]]
    unlimited = outlay.simulate(STEPS, Served(), [9.0], runs=1)
    assert unlimited.pulls[0, 0].tolist() == [[10, 0, 0]]
