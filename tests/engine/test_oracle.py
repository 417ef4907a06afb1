"""The best arm alone: played when somebody asks what it earned, once, and to the same numbers as ever."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay.arms import Gaussian, Problem
from outlay.errors import InterpretedWarning, RunTooLong
from outlay.policies import Fixed

PROBLEM = Problem([Gaussian(1.0, 0.5, 0.5, 0.5), Gaussian(1.2, 1.5, 0.5, 0.5), Gaussian(0.9, 0.7, 0.5, 0.5)])
GIVEN: dict[str, Any] = {"budgets": [5.0, 50.0], "runs": 40, "seed": 2**70 + 3}


def simulated(**changes: Any) -> outlay.Result:
    return outlay.simulate(PROBLEM, Fixed(0), **{**GIVEN, **changes})


def test_it_earns_what_the_best_arm_earns_among_all_of_them() -> None:
    best = outlay.simulate(PROBLEM, Fixed(PROBLEM.best), **GIVEN)
    assert np.array_equal(simulated().oracle_reward, best.reward[0])
    assert simulated().oracle_reward.dtype == np.float64


def test_results_of_the_same_runs_share_it_and_threads_that_ask_at_once_get_the_same() -> None:
    one, other = simulated(), outlay.simulate(PROBLEM, {"another": Fixed(2)}, **GIVEN)
    with ThreadPoolExecutor(8) as askers:
        assert all(array is other.oracle_reward for array in askers.map(lambda _: one.oracle_reward, range(8)))
    with pytest.raises(ValueError, match="read-only"):
        one.oracle_reward[0, 0] = 0.0
    for change in ({"runs": 39}, {"seed": 5}, {"budgets": [5.0, 49.0]}):
        assert not np.array_equal(simulated(**change).oracle_reward, one.oracle_reward)


def test_a_run_that_will_not_end_raises_when_it_is_asked_for_and_again() -> None:
    slow = Problem([Gaussian(1.0, 0.5, 0.1, 0.1), Gaussian(1e-9, 1.0, 1.0, 1.0)])
    result = outlay.simulate(slow, Fixed(0), budgets=[1e3], runs=2, max_pulls=5000)
    for _ in range(2):
        with pytest.raises(RunTooLong, match=r"run \d of the oracle, Fixed\(1\) made max_pulls = 5000 pulls"):
            result.regret("realised")
    assert result.regret()["mean"].item() > 0.0


class Odd(NamedTuple):
    """A law that numba refuses."""

    level: float = 1.0

    def draw(self, rng: Any) -> tuple[float, float]:
        return 1.0, self._asdict()["level"] * rng.random()

    def moments(self) -> tuple[float, float, float, float, float]:
        return 1.0, self.level / 2, 0.0, self.level**2 / 12, 0.0


def test_a_law_that_is_interpreted_is_said_to_be_once() -> None:
    with pytest.warns(InterpretedWarning, match="Fixed cannot be compiled") as warned:
        result = outlay.simulate(Problem([Odd(), Odd(2.0)]), Fixed(1), budgets=[10.0], runs=3)
    assert len(warned) == 1
    assert np.array_equal(result.oracle_reward, result.reward[0])  # a warning here would be an error
