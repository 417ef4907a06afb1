"""What compiled code holds: memory, references, threads."""

import gc
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import arms, policies
from outlay.engine.bulk_random import SharedGenerator
from tests.engine.traps.cells import PROBLEM, favourite


class Allocating(NamedTuple):
    weight: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return self.weight * float(np.array([0.0, 2.0, 1.0])[belief.arm])


def resident_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


def test_a_policy_that_allocates_works_and_leaks_nothing() -> None:
    assert favourite(Allocating()) == 1
    before = resident_kilobytes()
    outlay.simulate(PROBLEM, Allocating(), budgets=[200_000.0], runs=4)  # 2.4 million arrays of 24 bytes and a header
    assert resident_kilobytes() - before < 40_000


ALLOCATING = """
from typing import NamedTuple

import numpy as np

import outlay
from outlay.arms import Empirical


class Allocating(NamedTuple):
    weight: float = 1.0

    def score(self, belief, log_n):
        tried = np.zeros(3)
        tried[belief.arm % 3] = belief.mean_reward
        return tried.sum() + self.weight / (1.0 + belief.pulls)


logged = [Empirical(np.arange(1.0, rows), np.arange(1.0, rows)) for rows in (50, 60)]
problem = outlay.Problem(logged)
for seed in range(3):
    assert outlay.simulate(problem, Allocating(), [1000.0], runs=8, seed=seed).pulls.sum() > 0
"""


@pytest.mark.soak  # it compiles in a process of its own
def test_laws_that_hold_arrays_keep_them_while_a_policy_allocates(fresh_python: Callable[..., Any]) -> None:
    """The tables of the laws were freed under the loop: the process ended in an abort, here or a little later."""
    fresh_python(ALLOCATING)


def test_references_are_not_leaked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the generators, which compiled code gets once a slice."""
    seen: list[Any] = []
    make = SharedGenerator.make

    def watched() -> Any:
        opened = make()
        seen.append(opened.rng)
        return opened

    monkeypatch.setattr(SharedGenerator, "make", watched)
    monkeypatch.setattr("outlay.engine.threads._SLICE_SECONDS", 0.0)
    outlay.simulate(PROBLEM, policies.UCBB1([0.25] * 3, [0.25] * 3, [0.1] * 3), budgets=[500.0], runs=20, workers=2)
    gc.collect()
    assert 1 <= len(seen) <= 2
    assert {sys.getrefcount(rng) for rng in seen} == {sys.getrefcount(object()) + 2}  # by `seen` and by `rng`


def test_ctrl_c_returns_at_once_and_leaves_no_thread() -> None:
    problem = arms.catalogue.load("thousand-arms")
    policy = policies.UCBB1(**problem.second_moments())
    outlay.simulate(problem, policy, budgets=[10.0], runs=1)  # compiled before the clock starts
    moments: list[float] = []

    def interrupt() -> None:
        time.sleep(0.5)
        moments.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        outlay.simulate(problem, policy, budgets=[1e9], runs=8, max_pulls=10**9)
    assert time.perf_counter() - moments[0] < 60.0  # a hang, not a stopwatch; benchmarks/ has the milliseconds
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("outlay_")]
