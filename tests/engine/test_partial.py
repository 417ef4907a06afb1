"""Ctrl-C with `partial=True`: the runs that every policy has finished, as if no more had been asked for."""

from collections.abc import Callable
from typing import Any

import pytest

import outlay
from outlay.arms import Gaussian, Problem
from outlay.policies import Fixed, RoundRobin

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
