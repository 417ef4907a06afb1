"""Hard mode on a GPU: in the interpreter, as far as PTX, and on the device where there is one, against the CPU."""

import math
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay.engine.backends import Backend
from outlay.engine.gpu import random as device_random
from outlay.engine.run import hard, loop
from outlay.engine.task import Task
from outlay.errors import OutlayError
from outlay.policies.protocol import with_limits
from tests.engine.gpu.examples import COINS, WITHIN, Thompson, has_gpu, needs_compiler, task_of
from tests.engine.gpu.test_compiled import ptx as ptx
from tests.engine.gpu.test_warp import Warp

needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no GPU: runs on the device are not compared with the CPU's")
CUDA: Backend = "cuda"
THREADS: Backend = "threads"
KINDS = {**WITHIN, "randomised": Thompson(0.5)}


class Making(NamedTuple):
    """A policy of a user's that makes an array where some arms fit no longer."""

    x: float

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 0

    def choose_among(self, memory: Any, arms: Any, now: Any, rng: Any) -> int:
        return int(arms[int(np.zeros(len(arms))[0])])


def hard_task(policy: Any, budget: float, requests: int | None, runs: int = 3) -> Task:
    numbers = None if requests is None else np.array([requests])
    return task_of(COINS, with_limits(policy, budget, requests), [budget], runs, requests=numbers, hard=True)


def one_by_one(task: Task) -> None:
    """The same runs, each by the CPU's loop in one go, from the device's random numbers."""
    world: Any = SimpleWorld(task.problem)
    for run in range(task.runs):
        standing = loop.Standing.start(len(task.problem))
        standing.room.dearest[:] = task.dearest
        rng: Any = device_random.Philox.of(task.seed, run)
        out = task.passages.part(run)
        hard.advance_hard(
            rng, world, task.policy, task.memory()(), standing.pulls, standing.totals, standing.marks,
            standing.scratch, standing.room, task.budgets[0], int(task.limits.requests[0]), *out, 10**6,
        )  # fmt: skip
        assert standing.marks[loop.PASSED] == 1


class SimpleWorld:
    """Arms as the interpreter pulls them."""

    def __init__(self, problem: outlay.Problem) -> None:
        self.arms: Any = problem.arms

    def pull(self, arm: int, rng: Any) -> tuple[float, float]:
        cost, reward = self.arms[arm].draw(rng)
        return cost, reward


@needs_compiler
class TestInTheInterpreter:
    @pytest.mark.parametrize("requests", [None, 30])
    @pytest.mark.parametrize("policy", KINDS)
    def test_a_warp_makes_the_choices_of_the_cpu(self, monkeypatch, policy, requests):
        """In slices, every arm asked about at each pull, against lazy choices in one go."""
        device, host = (hard_task(KINDS[policy], 12.0, requests) for _ in range(2))
        one_by_one(host)
        Warp(monkeypatch).play(device, False, 7)
        assert all((mine == theirs).all() for mine, theirs in zip(device.passages, host.passages, strict=True))
        assert (device.passages.cost <= 12.0).all()
        assert (device.passages.pulls.sum(axis=2) <= (requests or math.inf)).all()

    def test_a_run_that_no_arm_fits_ends_without_a_pull(self, monkeypatch):
        task = Warp(monkeypatch).play(hard_task(KINDS["Frugal"], 0.2, None), False, 7)
        assert not task.passages.pulls.any()


@needs_compiler
class TestCompiled:
    @pytest.mark.parametrize(
        "policy", [pytest.param(name, marks=() if name == "RoundRobin" else pytest.mark.soak) for name in KINDS]
    )
    def test_to_ptx_that_calls_nothing_from_outside(self, ptx, policy):
        code = ptx(hard_task(KINDS[policy], 20.0, 50))
        assert code.count(".visible .entry") == 1
        assert not re.search(r"\.extern\s+\.func", code)

    def test_a_policy_that_makes_arrays_is_refused_in_one_sentence(self, ptx):
        with pytest.raises(OutlayError, match=r"^Making cannot be compiled for a GPU, backend='threads' can play it: "):
            ptx(hard_task(Making(1.0), 20.0, None))


@needs_gpu
class TestOnTheDevice:
    @pytest.mark.parametrize("requests", [None, 60])
    @pytest.mark.parametrize("policy", WITHIN)
    def test_means_are_those_of_threads_and_no_run_passes_the_budget(self, policy, requests):
        """Fifty means in all, to 4.4 standard errors: a false alarm in one call in about two thousand."""
        runs, budget = 20_000, 20.0
        device, host = (
            outlay.simulate(
                COINS, WITHIN[policy], [budget], requests=requests, mode="hard", runs=runs, seed=seed, backend=backend
            )
            for seed, backend in ((1, CUDA), (2, THREADS))
        )  # fmt: skip
        assert (device.cost <= budget).all()
        assert (device.pulls.sum(axis=-1) <= (requests or math.inf)).all()
        mine, theirs = (
            np.column_stack([result.cost[0], result.reward[0], result.pulls[0, :, 0]]) for result in (device, host)
        )
        error = np.sqrt((mine.var(axis=0) + theirs.var(axis=0)) / runs)
        assert (np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) <= 4.4 * error + 1e-9).all()
