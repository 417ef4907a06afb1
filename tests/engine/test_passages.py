"""When a budget is passed, when a run ends, what is told meanwhile, and what is left of it after Ctrl-C."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import arms, policies
from outlay.arms import Gaussian, Problem, catalogue
from outlay.engine.oracle import trace
from outlay.errors import OutlayError, RunTooLong
from outlay.policies import Fixed, RoundRobin

G = catalogue.load("G")


class HalfAndHalf(NamedTuple):
    """A policy that looks at the budget: arm 0 for its first half, then arm 1."""

    budget: float = math.inf

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 0 if now.spent <= self.budget / 2 else 1


class Alternating(NamedTuple):
    """Costs +3, −2, +3, −2, …"""

    turn: Any

    def draw(self, rng: Any) -> tuple[float, float]:
        self.turn[0] += 1.0
        return (3.0 if self.turn[0] % 2.0 else -2.0), 1.0

    def moments(self) -> tuple[float, float, float, float, float]:
        return (0.5, 1.0, 6.25, 0.0, 0.0)


@pytest.mark.parametrize(("budget", "costs"), [(2.5, [3.0]), (3.5, [3.0, 1.0, 4.0]), (4.0, [3.0, 1.0, 4.0, 2.0, 5.0])])
def test_first_passage_counts_the_crossing_pull_and_never_looks_back(budget: float, costs: list[float]) -> None:
    steps = trace(Problem([Alternating(np.zeros(1))]), policies.Fixed(0), budget)
    assert [step.spent for step in steps] == costs


def test_a_budget_spent_to_the_cent_is_not_exceeded() -> None:
    """S_n = B is not S_n > B; and a million pulls of 0.1 are 100 000 to 1e-10, where plain sums drift by 1e-6."""
    halves = Problem([arms.Constant(0.5, 1.0)])
    assert outlay.simulate(halves, policies.Fixed(0), budgets=[5.0], runs=1).pulls.sum() == 11
    tenths = Problem([arms.Constant(0.1, 0.1)])
    budgets = [100_000 - 1e-9, 100_000 + 1e-9]
    result = outlay.simulate(tenths, policies.Fixed(0), budgets=budgets, runs=1)
    assert result.pulls.ravel().tolist() == [1_000_000, 1_000_001]
    assert result.reward[0, 0, 1] == pytest.approx(100_000.1, rel=1e-15)


@pytest.mark.interpreted
def test_a_policy_that_looks_at_the_budget_runs_once_for_each() -> None:
    problem = Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0)])
    result = outlay.simulate(problem, HalfAndHalf(), budgets=[10.0, 20.0, 40.0], runs=3)
    assert result.pulls[0, 0].tolist() == [[6, 5], [11, 10], [21, 20]]
    assert (result.pulls[0] == result.pulls[0, 0]).all()


class Unsteady(NamedTuple):
    """A law of a user's own: now and then it draws something that is not a number."""

    cost: float
    reward: float

    def draw(self, rng: Any) -> tuple[float, float]:
        return (self.cost, self.reward) if rng.random() < 0.2 else (1.0, 1.0)

    def moments(self) -> tuple[float, float, float, float, float]:
        return 1.0, 1.0, 0.0, 0.0, 0.0


@pytest.mark.parametrize("pair", [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (1.0, -math.inf)])
def test_a_cost_or_reward_that_is_not_a_number_is_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(OutlayError, match=r"run \d+ of .* met a cost or reward that is not a finite number"):
        outlay.simulate(Problem([Unsteady(*pair)]), policies.Fixed(0), budgets=[50.0], runs=3, max_pulls=1000)


def test_max_pulls_is_not_reached_by_a_run_that_ends_there() -> None:
    problem = Problem([arms.Constant(1.0, 1.0)])
    assert outlay.simulate(problem, policies.Fixed(0), budgets=[9.5], runs=1, max_pulls=10).pulls.sum() == 10
    with pytest.raises(RunTooLong):
        outlay.simulate(problem, policies.Fixed(0), budgets=[10.5], runs=1, max_pulls=10)


def test_progress_can_be_told_to_a_function(capfd: pytest.CaptureFixture[str]) -> None:
    told: list[float] = []
    outlay.simulate(G, policies.RoundRobin(), budgets=[1e5], runs=4, progress=told.append)
    assert told == sorted(told)
    assert told[0] >= 0.0
    assert told[-1] == 1.0
    assert capfd.readouterr().err == ""


PROBLEM = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
GIVEN: dict[str, Any] = {"policies": [RoundRobin(), Fixed(1)], "budgets": [1e3, 3e5], "seed": 3, "workers": 2}


def interrupt_at(part: float) -> Callable[[float], None]:
    """Ctrl-C, pressed as soon as that part of all policies' runs is done."""

    def told(done: float) -> None:
        if done >= part:
            raise KeyboardInterrupt

    return told


def test_what_is_done_is_what_fewer_runs_give() -> None:
    some = outlay.simulate(PROBLEM, **GIVEN, runs=4000, partial=True, progress=interrupt_at(0.001))
    assert 1 <= some.runs < 4000
    assert some == outlay.simulate(PROBLEM, **GIVEN, runs=some.runs)


def test_nothing_done_raises() -> None:
    with pytest.raises(KeyboardInterrupt):
        outlay.simulate(PROBLEM, **{**GIVEN, "budgets": [1e8]}, runs=8, partial=True, progress=interrupt_at(0))


def test_it_must_be_asked_for() -> None:
    with pytest.raises(KeyboardInterrupt):
        outlay.simulate(PROBLEM, **GIVEN, runs=4000, progress=interrupt_at(0.001))
