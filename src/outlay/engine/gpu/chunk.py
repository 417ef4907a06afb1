"""Some runs of a task, all on a GPU at once, played slice by slice.

A slice lasts about 80 ms, so that progress can be shown and Ctrl-C takes effect; it changes no number.
"""

import math
import time
import warnings
from typing import Any

import numpy as np

from outlay.engine.gpu.plan import Plan, each, refusal
from outlay.engine.progress import Report
from outlay.engine.run.loop import EARNED, PASSED, PULLS, SPENT, STRAY, Passages, Room
from outlay.engine.task import Task, check_finite, same_types
from outlay.errors import BadParameter, OutlayError, RunTooLong
from outlay.policies.protocol import MemoryTuple, has

THREADS = 128  # in a block; runs are padded to a multiple

_SLICE_SECONDS = 0.08
_FIRST_SLICE = 256  # pulls per run

Arguments = tuple[Any, ...]  # what the compiled loop takes: records of arrays on the device, and numbers


class Chunk:
    """Some runs of a task, all on the device at once."""

    def __init__(self, plan: Plan, task: Task) -> None:
        self.plan, self.task = plan, task
        self.lanes = math.ceil(task.runs / THREADS) * THREADS
        _, budgets, arms = task.passages.pulls.shape
        zeros, lanes = plan.zeros, self.lanes
        marks = np.zeros((4, lanes), np.int64)
        marks[PASSED, task.runs :] = len(task.budgets)  # the padding is done
        self.state = plan.kernel.Standings(
            zeros(arms, lanes, dtype=np.int64),
            zeros(4, lanes),
            plan.cuda.to_device(marks),
            zeros(3, lanes, dtype=np.uint64),
            zeros(2, lanes),
            zeros(plan.bounds, lanes, dtype=np.float32),
            zeros(plan.bounds, lanes, dtype=np.int32),
            self._room(arms if task.hard else 1),
        )
        self.passages: Any = Passages(
            zeros(task.runs, budgets, arms, dtype=np.int64), zeros(task.runs, budgets), zeros(task.runs, budgets)
        )
        self.memories = self._spread([plan.first])
        self._kernel: Any = None

    def _room(self, arms: int) -> Room:
        """What hard mode needs; hardly anything where the budget may be passed."""
        plan, task = self.plan, self.task
        lanes = self.lanes if task.hard else 1
        dearest = plan.cuda.to_device(task.dearest if task.hard else np.zeros(1))
        counts = (plan.zeros(arms, lanes, dtype=np.int64) for _ in range(2))
        return Room(dearest, plan.zeros(arms, 2, lanes), *counts)

    def play(self, report: Report) -> None:
        """Play all runs to their end and write what came of them into the task's passages."""
        limit, task, plan = _FIRST_SLICE, self.task, self.plan
        while True:
            start = time.perf_counter()
            going, troubled, share = self.advance(limit)
            seconds = max(time.perf_counter() - start, 1e-6)
            if going == 0:
                break
            if troubled:
                self._help()
            report(max(0.0, share / plan.kernel.MILLION - (self.lanes - task.runs)))
            limit = max(1, int(limit * min(4.0, max(0.25, _SLICE_SECONDS / seconds))))
        passages = Passages(*(array.copy_to_host() for array in self.passages))
        if not (np.isfinite(passages.cost).all() and np.isfinite(passages.reward).all()):
            check_finite(task.label, task.first, passages.cost, passages.reward)
        task.passages.fill(passages)

    def advance(self, limit: int) -> tuple[int, int, int]:
        """Make at most `limit` pulls in each run; returns the tally: runs going, troubled, millionths of runs done."""
        tally = self.plan.zeros(4, dtype=np.int64)
        arguments = self.arguments(tally, limit)
        self._kernel = self._kernel or self._compiled(arguments)
        with warnings.catch_warnings():  # few runs leave the card idle; that is no mistake
            warnings.simplefilter("ignore")
            self._kernel[self.lanes // THREADS, THREADS](*arguments)
        going, troubled, share, finished = map(int, tally.copy_to_host())
        if going + finished != self.lanes:  # a thread that raises just ends
            raise OutlayError(
                f"a run of {self.task.label} raised an exception on the GPU; backend='threads' says which"
            )
        return going, troubled, share

    def arguments(self, tally: Any, limit: int) -> Arguments:
        """What the compiled loop takes."""
        plan, task = self.plan, self.task
        shared = plan.world, plan.policy, self.memories, self.state, self.passages, plan.limits
        return *shared, tally, plan.key, task.first, limit, task.max_pulls

    def _compiled(self, arguments: Arguments) -> Any:
        """The loop, compiled for these arguments."""
        code = self.plan.code
        try:
            return code.kernel_for(arguments, self.plan.lazy, self.task.hard)
        except code.CannotCompile as error:
            raise OutlayError(refusal(self.task.label, str(error))) from error

    def _help(self) -> None:
        """Raise what is wrong with some run; give all of them more memory where that is what one needs."""
        task = self.task
        marks, totals = self.state.marks.copy_to_host(), self.state.totals.copy_to_host()
        going = np.flatnonzero(marks[PASSED] < len(task.budgets))
        for i in going[marks[STRAY, going] != 0]:
            last = task.passages.pulls.shape[2] - 1
            raise BadParameter(task.label, "the arm that choose returns", f"0 to {last}", int(marks[STRAY, i]))
        for i in going[~np.isfinite(totals[[SPENT, EARNED]][:, going]).all(axis=0)]:
            check_finite(task.label, task.first + int(i), totals[[SPENT, EARNED], i][None])
        for i in going[marks[PULLS, going] >= task.max_pulls]:
            spent = float(totals[SPENT, i])
            raise RunTooLong(task.label, task.first + int(i), int(marks[PULLS, i]), spent, float(task.budgets[-1]))
        self._grow()

    def _grow(self) -> None:
        """Enlarge every run's memory: all are of one size."""
        if not has(self.plan.first, "enlarged"):
            raise OutlayError(f"a {type(self.plan.first).__name__} is full and has no method enlarged() to go on with")
        held = each(lambda item: item.copy_to_host() if hasattr(item, "copy_to_host") else item, self.memories)
        self.memories = None

        def of_run(i: int) -> MemoryTuple:
            return each(lambda item: np.ascontiguousarray(item[..., i]) if isinstance(item, np.ndarray) else item, held)

        parts = [of_run(i) for i in range(self.lanes)]
        grown = [same_types(part.enlarged(), part) for part in parts]
        if any(memory.full() for memory in grown):
            raise OutlayError(f"{self.task.label} makes no progress")
        self.memories = self._spread(grown)

    def _spread(self, memories: list[MemoryTuple]) -> MemoryTuple:
        """One memory per run, or one for all, as arrays on the device whose last axis is the run."""

        def spread(*fields: Any) -> Any:
            if not isinstance(fields[0], np.ndarray):
                return fields[0]
            if len(fields) == 1 and not fields[0].any():
                return self.plan.zeros(*fields[0].shape, self.lanes, dtype=fields[0].dtype)
            stacked = np.stack(fields, axis=-1)
            return self.plan.cuda.to_device(
                np.ascontiguousarray(np.broadcast_to(stacked, (*stacked.shape[:-1], self.lanes)))
            )

        return each(spread, *memories)
