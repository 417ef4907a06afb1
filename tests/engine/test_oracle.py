"""The best arm alone: played when somebody asks what it earned, once, and to the same numbers as ever."""

import copy
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay.arms import Gaussian, Problem
from outlay.engine import cluster, oracle
from outlay.engine.task import Task, backend_of
from outlay.errors import InterpretedWarning, RunTooLong
from outlay.policies import Fixed

PROBLEM = Problem([Gaussian(1.0, 0.5, 0.5, 0.5), Gaussian(1.2, 1.5, 0.5, 0.5), Gaussian(0.9, 0.7, 0.5, 0.5)])
GIVEN: dict[str, Any] = {"budgets": [5.0, 50.0], "runs": 40, "seed": 2**70 + 3}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The backends that oracles are played on, one after another: all of them threads in truth."""
    seen: list[str] = []

    def noted(backend: str) -> Callable[..., None]:
        def play(tasks: Sequence[Task], workers: int | None, report: Callable[[float], None]) -> None:
            seen.append(backend)
            backend_of("threads")(tasks, workers, report)

        return play

    monkeypatch.setattr(oracle, "backend_of", noted)
    return seen


def simulated(**changes: Any) -> outlay.Result:
    return outlay.simulate(PROBLEM, Fixed(0), **{**GIVEN, **changes})


def test_it_earns_what_the_best_arm_earns_among_all_of_them() -> None:
    best = outlay.simulate(PROBLEM, Fixed(PROBLEM.best), **GIVEN)
    assert np.array_equal(simulated().oracle_reward, best.reward[0])
    assert simulated().oracle_reward.dtype == np.float64


def test_nobody_plays_it_who_does_not_need_it(played: list[str]) -> None:
    result = simulated()
    result.regret(), result.frame(), repr(result), result._repr_html_(), pickle.dumps(result), copy.copy(result)
    assert result == simulated()
    assert result != simulated(seed=1)
    assert played == []
    result.regret("realised"), result.regret("realised"), result.oracle_reward
    assert played == ["threads"]
    assert result == simulated(), "played or not"


def test_results_of_the_same_runs_share_it_while_one_holds_it(played: list[str]) -> None:
    one, other = simulated(), outlay.simulate(PROBLEM, {"another": Fixed(2)}, **GIVEN)
    assert one.oracle_reward is other.oracle_reward
    assert played == ["threads"]
    with pytest.raises(ValueError, match="read-only"):
        one.oracle_reward[0, 0] = 0.0
    for change in ({"runs": 39}, {"seed": 5}, {"budgets": [5.0, 49.0]}):
        assert not np.array_equal(simulated(**change).oracle_reward, one.oracle_reward)
    del one, other
    simulated().regret("realised")
    assert played == ["threads"] * 5


def test_saving_plays_it_and_a_loaded_result_has_it(played: list[str], tmp_path: Path) -> None:
    result = simulated()
    result.save(tmp_path / "x.parquet")
    assert played == ["threads"]
    back = outlay.load(tmp_path / "x.parquet")
    assert np.array_equal(back.oracle_reward, result.oracle_reward)
    assert back == result
    assert played == ["threads"]


def test_threads_that_ask_at_once_play_it_once(played: list[str]) -> None:
    result, got = simulated(budgets=[1e6], runs=4), []
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        got.append(result.oracle_reward)

    askers = [threading.Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert played == ["threads"]
    assert all(array is got[0] for array in got)


def test_the_backend_that_has_its_random_numbers_plays_it(played: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = oracle.Oracle(PROBLEM, (5.0,), 3, 2, 10**9, "cuda")
    recipe()
    monkeypatch.setattr(cluster, "connected", lambda backend: backend == "ray")
    replace(recipe, backend="dask")(), replace(recipe, backend="ray")()
    assert played == ["cuda", "threads", "ray"]


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


def test_a_function_that_is_told_of_progress_is_told_of_the_policies_alone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outlay.progress._DELAY_SECONDS", 0.0)
    told: list[float] = []
    result = simulated(progress=told.append)
    before = len(told)
    assert told[-1] == 1.0
    result.regret("realised")
    assert len(told) == before
    assert capfd.readouterr().err == ""
    simulated(seed=9, progress=True).regret("realised")
    assert "playing the best arm" in capfd.readouterr().err
