"""The loop of the GPU in the interpreter, with four threads that vote as a warp does."""

import math
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import outlay
from outlay import arms
from outlay.engine import choose_arm as decide
from outlay.engine import loop
from outlay.engine.gpu import backend
from outlay.engine.jit.numba_types import Laws
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.errors import OutlayError
from tests.engine.gpu.examples import (
    BUILT_IN,
    HARD,
    Blank,
    Huge,
    Raising,
    gaussians,
    hard_task,
    host,
    needs_compiler,
    played_on_cpu,
    task_of,
)


def part_of(memories: Any, run: int) -> Any:
    return backend.each(lambda array: array[..., run], memories)


class Warp:
    """Four threads that go through the loop together, in the interpreter."""

    LANES = 4

    def __init__(self, monkeypatch: Any) -> None:
        self.kernel: Any = backend.imported("outlay.engine.gpu.kernel")
        self.local, self.lock = threading.local(), threading.Lock()
        self.barrier, self.votes = threading.Barrier(self.LANES, timeout=20), [False] * self.LANES
        self.monkeypatch = monkeypatch
        stub = SimpleNamespace(
            grid=lambda _: self.local.lane,
            local=SimpleNamespace(
                array=lambda shape, kind: np.full(shape, 123, np.uint64 if kind is np.uint64 else float)
            ),
            any_sync=lambda _, vote: any(self.exchange(vote)),
            ballot_sync=lambda _, vote: sum(voted << i for i, voted in enumerate(self.exchange(vote))),
            popc=int.bit_count,
            atomic=SimpleNamespace(add=self.add),
        )
        for module, name, value in (
            (self.kernel, "cuda", stub),
            (self.kernel, "uint64", np.uint64),
            (self.kernel, "of_run", part_of),
        ):
            monkeypatch.setattr(module, name, value)

    def exchange(self, vote: Any) -> list[bool]:
        self.votes[self.local.lane] = bool(vote)
        self.barrier.wait()
        votes = list(self.votes)
        self.barrier.wait()
        return votes

    def add(self, tally: Any, i: int, value: int) -> None:
        with self.lock:
            tally[i] += value

    def launch(self, kernel: Any, arguments: Any) -> None:
        def thread(lane: int) -> None:
            self.local.lane = lane
            try:
                kernel(*arguments)
            except ArithmeticError:  # of a policy; on the device, the thread just ends
                self.barrier.abort()
            except threading.BrokenBarrierError:
                pass

        threads = [threading.Thread(target=thread, args=(lane,)) for lane in range(self.LANES)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    def play(self, task: Task, limit: int) -> Crossings:
        """Play a task of fewer runs than lanes, at first in slices of `limit` pulls."""
        with self.monkeypatch.context() as patch:
            for module in (decide, loop):
                patch.setattr(module, "decide", self.kernel.decide)
                patch.setattr(module, "forget", self.kernel.forget)
            patch.setattr(backend, "THREADS", self.LANES)
            patch.setattr(backend, "_FIRST_SLICE", limit)
            plan, kernel = backend.Plan(host(), task), self.kernel.play_hard if task.hard else self.kernel.play
            blocks = {(1, self.LANES): lambda *arguments: self.launch(kernel, arguments)}
            patch.setattr(plan.code, "kernel_for", lambda *_: blocks)
            plan.world = Laws(tuple(task.problem.arms))
            backend.Chunk(plan, task).play(0, lambda share: None)
        return task.crossings


def same(one: Crossings, other: Crossings) -> bool:
    return all((mine == theirs).all() for mine, theirs in zip(one, other, strict=True))


@needs_compiler
class TestWarp:
    @pytest.mark.parametrize(
        ("arms", "policy", "limit", "budget"),
        [
            (1, "UCBB1", 7, 50.0),
            pytest.param(3, "UCBB1", 1, 50.0, marks=pytest.mark.soak),
            (3, "UCBB1", 1000, 700.0),
            (17, "UCBB1", 13, 150.0),
            (4, "UCBB2", 30, 80.0),
            (2, "UCBM1", 50, 420.0),  # whose memory grows, and whose scores have phases
            pytest.param(1, "Frugal", 7, 50.0, marks=pytest.mark.soak),
            (3, "Frugal", 1, 50.0),
            pytest.param(3, "Frugal", 1000, 700.0, marks=pytest.mark.soak),
            (20, "Frugal", 100, 500.0),
            pytest.param(3, "KLRate", 100, 500.0, marks=pytest.mark.soak),
            pytest.param(20, "Thrifty", 100, 500.0, marks=pytest.mark.soak),
            (20, "Thrifty, told", 1000, 500.0),
        ],
    )
    def test_its_runs_are_those_of_the_cpu(self, monkeypatch, arms, policy, limit, budget):
        budgets = [1.0, 1.5, budget]
        mine, theirs = (task_of(gaussians(arms), BUILT_IN[policy], budgets, runs=3) for _ in range(2))
        assert same(Warp(monkeypatch).play(mine, limit), played_on_cpu(theirs))
        assert (mine.crossings.cost > budgets).all()

    @pytest.mark.parametrize("policy", ["Frugal", "Thrifty, told"])
    def test_a_leader_that_refunds_and_one_that_is_free(self, monkeypatch, policy):
        refunds = arms.Gaussian(0.2, 0.3, 0.8, 0.3)
        seldom = arms.Bernoulli(0.04, 0.1)  # as a rule it is free for longer than an arm's first price is waited for
        problem = outlay.Problem([refunds, seldom, arms.Gaussian(1.0, 1.2, 0.5, 0.6), refunds])
        mine, theirs = (task_of(problem, BUILT_IN[policy], [10.0, 30.0], runs=3) for _ in range(2))
        assert same(Warp(monkeypatch).play(mine, 50), played_on_cpu(theirs))

    @pytest.mark.parametrize("policy", [Blank(1), Blank(3), Blank(10**6), Huge(1e300)], ids=str)
    def test_scores_that_are_infinite_or_no_numbers(self, monkeypatch, policy):
        mine, theirs = (task_of(gaussians(5), policy, [100.0], runs=3) for _ in range(2))
        assert same(Warp(monkeypatch).play(mine, 50), played_on_cpu(theirs))

    @pytest.mark.parametrize("policy", ["UCBB1", "Frugal"])
    def test_runs_end_with_their_requests(self, monkeypatch, policy):
        """The first pair by its requests, the second by its budget, the third by requests without a budget."""
        budgets, requests = [50.0, 60.0, np.inf], np.array([9, 1000, 1000])
        mine, theirs = (task_of(gaussians(3), BUILT_IN[policy], budgets, runs=3, requests=requests) for _ in range(2))
        crossings = Warp(monkeypatch).play(mine, 13)
        assert same(crossings, played_on_cpu(theirs))
        made = crossings.pulls.sum(axis=2)
        assert (made[:, 0] == 9).all()
        assert (made[:, 2] == 1000).all()
        assert (crossings.cost[:, 1] > 60.0).all()
        assert (made[:, 1] < 1000).all()

    @pytest.mark.parametrize("requests", [None, 30])
    @pytest.mark.parametrize("policy", HARD)
    def test_hard_mode(self, monkeypatch, policy, requests):
        mine, theirs = (hard_task(HARD[policy], 12.0, requests) for _ in range(2))
        crossings = Warp(monkeypatch).play(mine, 7)
        assert same(crossings, played_on_cpu(theirs))
        assert (crossings.cost <= 12.0).all()
        assert (crossings.pulls.sum(axis=2) <= (requests or math.inf)).all()

    def test_a_run_that_raises_is_noticed(self, monkeypatch):
        with pytest.raises(
            OutlayError, match=r"^a run of Raising raised an exception on the GPU; backend='threads' says which$"
        ):
            Warp(monkeypatch).play(task_of(gaussians(2), Raising(3), runs=3), 10**6)
