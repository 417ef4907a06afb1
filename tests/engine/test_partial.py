"""Ctrl-C with `partial=True`: the runs that every policy has finished, as if no more had been asked for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import bursar
from bursar.arms import Gaussian, Problem
from bursar.engine import simulation
from bursar.engine.loop import Outcome
from bursar.policies import Fixed, Uniform

PROBLEM = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
GIVEN: dict[str, Any] = {"policies": [Uniform(), Fixed(1)], "budgets": [1e3, 3e5], "seed": 3, "workers": 2}


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Have Ctrl-C pressed as soon as so many runs, of all policies together, are done."""

    def after(runs: float) -> None:
        @contextmanager
        def progress(total: float, wanted: bool | None) -> Iterator[Callable[[float], None]]:
            def report(done: float) -> None:
                if done >= runs:
                    raise KeyboardInterrupt

            yield report

        monkeypatch.setattr(simulation, "progress_bar", progress)

    return after


def test_what_is_done_is_what_fewer_runs_give(interrupt, monkeypatch) -> None:
    with monkeypatch.context():
        interrupt(12)
        some = bursar.simulate(PROBLEM, **GIVEN, runs=4000, partial=True)
        monkeypatch.undo()
    assert 1 <= some.runs < 4000
    assert some == bursar.simulate(PROBLEM, **GIVEN, runs=some.runs)


def test_nothing_done_raises(interrupt) -> None:
    interrupt(0)
    with pytest.raises(KeyboardInterrupt):
        bursar.simulate(PROBLEM, **{**GIVEN, "budgets": [1e8]}, runs=8, partial=True)


def test_it_must_be_asked_for(interrupt) -> None:
    interrupt(12)
    with pytest.raises(KeyboardInterrupt):
        bursar.simulate(PROBLEM, **GIVEN, runs=4000)
    with pytest.raises(bursar.BursarError, match="partial of simulate must be True or False; got 'yes'"):
        bursar.simulate(PROBLEM, **GIVEN, partial="yes")  # type: ignore[arg-type]


def test_a_second_ctrl_c_raises(interrupt, monkeypatch) -> None:
    """The first one waits for the threads; a second one, meanwhile, wants out, and they may still be writing."""

    def twice(*_: Any) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise KeyboardInterrupt

    monkeypatch.setattr("bursar.engine.backends.threads.run", twice)
    monkeypatch.setattr(simulation, "_finished", lambda outcome: 3)
    with pytest.raises(KeyboardInterrupt):
        bursar.simulate(PROBLEM, **GIVEN, runs=8, partial=True)


def test_runs_count_from_the_first_one_on() -> None:
    reward = np.zeros((2, 5, 3))
    outcome = Outcome(np.zeros((2, 5, 3, 1), np.int64), np.zeros((2, 5, 3)), reward)
    assert simulation._finished(outcome) == 5
    reward[1, 3, 2] = np.nan
    assert simulation._finished(outcome) == 3
    reward[0, 0] = np.nan
    assert simulation._finished(outcome) == 0
