"""The loop of the GPU in the interpreter, with four threads that vote as a warp does."""

import contextlib
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import outlay
from outlay import arms
from outlay.beliefs import Moments, SequentialMoments
from outlay.engine.compiler.world import Laws
from outlay.engine.gpu import chunk as chunks
from outlay.engine.gpu import contest as contests
from outlay.engine.gpu import hand
from outlay.engine.gpu import look as looks
from outlay.engine.gpu import memory as held
from outlay.engine.gpu.decide import DECIDE
from outlay.engine.gpu.plan import Plan, compares, each
from outlay.engine.gpu.toolkit import imported
from outlay.engine.run import hard
from outlay.engine.task import Task
from outlay.errors import OutlayError
from outlay.policies.protocol import policy_kind
from tests.engine.gpu.examples import (
    BUILT_IN,
    Greedy,
    Raising,
    Remembering,
    Unsteady,
    gaussians,
    host,
    needs_compiler,
    task_of,
)


def part_of(memories: Any, run: int) -> Any:
    return each(lambda array: array[..., run], memories)


def decide_plainly(policy: Any, *rest: Any) -> int:
    return DECIDE[policy_kind(type(policy)).name](policy, *rest)


def of_hand(memory: Any, mine: hand.Hand, leader: int) -> Any:
    """A memory of the leader alone, as the compiler makes it."""
    if isinstance(memory, SequentialMoments):
        return memory._replace(stats=mine.rows, extremes=mine.extremes, usual=mine.usual)
    return memory._replace(stats=mine.rows, extremes=mine.extremes, pairs=memory.pairs[leader : leader + 1])


class Warp:
    """Four threads that go through the loop together, in the interpreter."""

    LANES = 4

    def __init__(self, monkeypatch: Any) -> None:
        imported("outlay.engine.gpu.code")  # what it tells numba about is not to be what stands in below
        self.kernel: Any = imported("outlay.engine.gpu.kernel")
        self.compare: Any = imported("outlay.engine.gpu.compare")
        self.within: Any = imported("outlay.engine.gpu.within")
        self.local, self.lock = threading.local(), threading.Lock()
        self.barrier, self.votes = threading.Barrier(self.LANES, timeout=20), [False] * self.LANES
        self.monkeypatch = monkeypatch
        stub = SimpleNamespace(
            grid=lambda _: self.local.lane,
            local=SimpleNamespace(
                array=lambda shape, kind: np.full(shape, 123, np.uint64 if kind is np.uint64 else float)
            ),
            shared=SimpleNamespace(array=lambda shape, kind: np.full(shape, 123.0)),  # to each lane its own
            threadIdx=SimpleNamespace(x=0),
            any_sync=lambda _, vote: any(self.exchange(vote)),
            ballot_sync=lambda _, vote: sum(voted << i for i, voted in enumerate(self.exchange(vote))),
            popc=int.bit_count,
            atomic=SimpleNamespace(add=self.add),
        )
        for module, name, value in (
            *((module, "cuda", stub) for module in (self.kernel, self.compare, self.within)),
            *((module, "uint64", np.uint64) for module in (self.kernel, self.compare, self.within)),
            *((module, "of_run", part_of) for module in (self.kernel, self.compare, self.within)),
            *((module, "decide", decide_plainly) for module in (self.kernel, self.within)),
            (hard, "decide", self.within.decide_anew),
            (hard, "forget", self.within.forget_nothing),
            (looks, "at_once", lambda policy, *rest: looks.AT_ONCE_OF[policy_kind(type(policy)).name](policy, *rest)),
            (hand, "of_hand", of_hand),
            (held, "of_row", lambda memory, row: type(memory)(row)),
            (held, "of_arm", lambda belief, arm: belief._replace(arm=int(arm))),
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
            with contextlib.suppress(ArithmeticError):  # of a policy; the thread just ends, as on the device
                kernel(*arguments)

        threads = [threading.Thread(target=thread, args=(lane,)) for lane in range(self.LANES)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

    def play(self, task: Task, lazy: bool, limit: int) -> Task:
        """Play a task of fewer runs than lanes, at first in slices of `limit` pulls."""
        with self.monkeypatch.context() as patch:
            patch.setattr(chunks, "THREADS", self.LANES)
            patch.setattr(chunks, "_FIRST_SLICE", limit)
            chunk = chunks.Chunk(Plan(host(), task, lazy), task)
            if not isinstance(chunk.memories, Moments):
                for module in (self.kernel, contests):
                    for name in ("pick_up", "put_down"):
                        patch.setattr(module, name, held.leave)
                    patch.setattr(module, "known_of", held.known_of_there)
                patch.setattr(self.kernel, "take_in", held.take_in_there)
            if not isinstance(chunk.memories, SequentialMoments):
                patch.setattr(hand, "take_usual", hand.nothing_usual)
                patch.setattr(hand, "put_back_usual", hand.nothing_usual)
                patch.setattr(looks, "excess_of_fresh", looks.none_is_fresh)
            lazily = self.compare.play_comparing if compares(task.policy) else self.kernel.play_lazily
            plainly = self.within.play_within if task.hard else self.kernel.play_plainly
            kernel = lazily if lazy else plainly
            chunk.plan.world = Laws(tuple(task.problem.arms))
            chunk._kernel = {(1, self.LANES): lambda *arguments: self.launch(kernel, arguments)}
            chunk.play(lambda share: None)
        return task


@needs_compiler
class TestWarp:
    @pytest.mark.parametrize(
        ("arms", "policy", "limit", "budget"),
        [
            (1, "UCBB1", 7, 50.0),
            pytest.param(3, "UCBB1", 1, 50.0, marks=pytest.mark.soak),
            pytest.param(3, "UCBB1", 1000, 50.0, marks=pytest.mark.soak),
            (17, "UCBB1", 13, 50.0),
            pytest.param(4, "UCBB2", 30, 80.0, marks=pytest.mark.soak),
            (2, "UCBM1", 50, 420.0),  # whose memory grows
            pytest.param(1, "Frugal", 7, 50.0, marks=pytest.mark.soak),
            (3, "Frugal", 1, 50.0),
            pytest.param(3, "Frugal", 1000, 700.0, marks=pytest.mark.soak),
            (20, "Frugal", 100, 500.0),
            pytest.param(3, "KLRate", 100, 500.0, marks=pytest.mark.soak),
            pytest.param(20, "Thrifty", 100, 500.0, marks=pytest.mark.soak),
            (20, "Thrifty, told", 1000, 500.0),
        ],
    )
    def test_lazy_and_plain_play_give_the_same_numbers(self, monkeypatch, arms, policy, limit, budget):
        warp, budgets = Warp(monkeypatch), [1.0, 1.5, budget]
        lazy, plain = (task_of(gaussians(arms), BUILT_IN[policy], budgets, runs=3) for _ in range(2))
        warp.play(lazy, True, limit)
        warp.play(plain, False, 10**6)
        assert all((mine == theirs).all() for mine, theirs in zip(lazy.passages, plain.passages, strict=True))
        assert (lazy.passages.cost > budgets).all()

    @pytest.mark.parametrize("policy", ["Frugal", "Thrifty, told"])
    def test_a_leader_that_refunds_and_one_that_is_free_are_left_as_in_plain_play(self, monkeypatch, policy):
        warp, refunds = Warp(monkeypatch), arms.Gaussian(0.2, 0.3, 0.8, 0.3)
        seldom = arms.Bernoulli(0.04, 0.1)  # as a rule it is free for longer than an arm's first price is waited for
        problem = outlay.Problem([refunds, seldom, arms.Gaussian(1.0, 1.2, 0.5, 0.6), refunds])
        lazy, plain = (task_of(problem, BUILT_IN[policy], [10.0, 30.0], runs=3) for _ in range(2))
        warp.play(lazy, True, 50)
        warp.play(plain, False, 10**6)
        assert all((mine == theirs).all() for mine, theirs in zip(lazy.passages, plain.passages, strict=True))

    @pytest.mark.parametrize("policy", ["UCBB1", "Frugal"])
    def test_runs_end_with_their_requests(self, monkeypatch, policy):
        """The first pair by its requests, the second by its budget, the third by requests without a budget."""
        warp, budgets, requests = Warp(monkeypatch), [50.0, 60.0, np.inf], np.array([9, 1000, 1000])
        lazy, plain = (task_of(gaussians(3), BUILT_IN[policy], budgets, runs=3, requests=requests) for _ in range(2))
        warp.play(lazy, True, 13)
        warp.play(plain, False, 10**6)
        assert all((mine == theirs).all() for mine, theirs in zip(lazy.passages, plain.passages, strict=True))
        made = lazy.passages.pulls.sum(axis=2)
        assert (made[:, 0] == 9).all()
        assert (made[:, 2] == 1000).all()
        assert (lazy.passages.cost[:, 1] > 60.0).all()
        assert (made[:, 1] < 1000).all()

    def test_a_run_that_raises_is_noticed(self, monkeypatch):
        with pytest.raises(
            OutlayError, match=r"^a run of Raising raised an exception on the GPU; backend='threads' says which$"
        ):
            Warp(monkeypatch).play(task_of(gaussians(2), Raising(3), runs=3), False, 10**6)

    def test_a_reward_that_is_not_finite_is_refused(self, monkeypatch):
        task = task_of(outlay.Problem([Unsteady(1.0, 1.0)]), BUILT_IN["UCBB1"], [500.0], runs=3)
        with pytest.raises(OutlayError, match=r"run 0 of .* met a cost or reward that is not a finite number"):
            Warp(monkeypatch).play(task, False, 100)

    def test_a_memory_in_a_memory(self, monkeypatch):
        warp = Warp(monkeypatch)
        nested, flat = (
            warp.play(task_of(gaussians(3), policy, runs=3), False, 10) for policy in (Remembering(0.0), Greedy(0.0))
        )
        assert (nested.passages.cost == flat.passages.cost).all()
