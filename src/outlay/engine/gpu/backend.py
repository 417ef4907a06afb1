"""Runs on a GPU, one thread each: `simulate(…, backend="cuda")`.

A task's runs are played in chunks that fit into the card's free memory. That changes no number: a run's stream depends
on the seed and on its own number alone. A chunk is played slice by slice, about 80 ms each, so that progress can be
shown and Ctrl-C takes effect; that changes none either.
"""

import contextlib
import importlib
import importlib.util
import math
import time
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from outlay.beliefs import HullMoments, SequentialMoments
from outlay.checks import Vector
from outlay.engine.bulk_random import arrays_in
from outlay.engine.choose_arm import Affordable
from outlay.engine.gpu.philox import key_of
from outlay.engine.jit.numba_types import coerced, compose
from outlay.engine.loop import EARNED, PASSED, PULLS, SPENT, STRAY, Crossings
from outlay.engine.task import Task, check_finite, enlarged
from outlay.errors import BadParameter, OutlayError, RunTooLong
from outlay.policies.protocol import MemoryTuple, has
from outlay.progress import Report

THREADS = 128  # in a block; runs are padded to a multiple
MARGIN = 0.85  # of the free memory is used
ROOM_TO_GROW = 4  # memories that grow are planned with this part of it

_SLICE_SECONDS = 0.08
_FIRST_SLICE = 256  # pulls per run

Cuda = Any  # the module numba.cuda, which is not typed, and its arrays on the device


def run(tasks: Sequence[Task], workers: int | None, report: Report) -> None:  # noqa: ARG001
    """Do every task on the GPU; `report` is told, now and then, how many runs are done."""
    cuda = toolkit()
    done = 0
    try:
        for task in tasks:
            plan = Plan(cuda, task)
            for start, stop in chunks(task.runs, plan.bytes_per_run, plan.free_bytes):
                Chunk(plan, task.part(start, stop)).play(done, report)
                done += stop - start
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
        raise OutlayError("the GPU's memory is full: fewer runs, or backend='threads'") from error


def chunks(runs: int, bytes_per_run: int, free: int) -> list[tuple[int, int]]:
    """Cut runs into stretches of nearly one size that fit into the memory, each but the last whole blocks of threads.

    >>> chunks(1000, bytes_per_run=1_000_000, free=600_000_000)
    [(0, 384), (384, 768), (768, 1000)]
    """
    most = int(MARGIN * free / bytes_per_run) // THREADS * THREADS
    if most == 0:
        need = THREADS * bytes_per_run / MARGIN
        raise OutlayError(f"{THREADS} runs need {need:.1e} bytes of the GPU's memory, and {free:.1e} are free")
    parts = math.ceil(runs / most)
    size = min(most, math.ceil(runs / parts / THREADS) * THREADS)
    return [(start, min(start + size, runs)) for start in range(0, runs, size)]


class Chunk:
    """Some runs of a task, all on the device at once."""

    def __init__(self, plan: "Plan", task: Task) -> None:
        self.plan, self.task = plan, task
        self.lanes = math.ceil(task.runs / THREADS) * THREADS
        _, budgets, arms = task.crossings.pulls.shape
        zeros, lanes = plan.zeros, self.lanes
        marks = np.zeros((3, lanes), np.int64)
        marks[PASSED, task.runs :] = len(task.budgets)  # the padding is done
        room = self.lanes if task.hard else 1  # hardly any where the budget may be passed
        dearest = task.dearest if task.hard else np.zeros(1)
        self.states = plan.code.kernel.RunStates(
            pulls=zeros(arms, lanes, dtype=np.int64),
            totals=zeros(4, lanes),
            marks=plan.cuda.to_device(marks),
            words=zeros(3, lanes, dtype=np.uint64),
            normals=zeros(2, lanes),
            bounds=zeros(arms, lanes),
            ends=zeros(arms, lanes, dtype=np.int64),
            affordable=Affordable(
                dearest=plan.cuda.to_device(dearest),
                totals=zeros(arms, 2, room),
                arms=zeros(arms, room, dtype=np.int64),
                pulls=zeros(arms, room, dtype=np.int64),
                most=float(dearest.max()),
            ),
        )
        self.crossings: Any = Crossings(
            zeros(task.runs, budgets, arms, dtype=np.int64), zeros(task.runs, budgets), zeros(task.runs, budgets)
        )
        self.memories = self._spread([plan.first])
        try:
            self.kernel = plan.code.kernel_for(self._arguments(zeros(4, dtype=np.int64), 1), task.hard)
        except plan.code.CannotCompile as error:
            raise OutlayError(refusal(task.label, str(error))) from error

    def play(self, before: int, report: Report) -> None:
        """Play all runs to their end, after so many of other chunks, and write what came of them where it belongs."""
        limit, task, going = _FIRST_SLICE, self.task, self.lanes
        while going:
            start = time.perf_counter()
            going, troubled, share = self.advance(limit)
            seconds = max(time.perf_counter() - start, 1e-6)
            if troubled:
                self._help()
            report(before + max(0.0, share / self.plan.code.kernel.MILLION - (self.lanes - task.runs)))
            limit = max(1, int(limit * min(4.0, max(0.25, _SLICE_SECONDS / seconds))))
        crossings = Crossings(*(array.copy_to_host() for array in self.crossings))
        check_finite(task.label, task.first, crossings.cost, crossings.reward)
        task.crossings.fill(crossings)

    def advance(self, limit: int) -> tuple[int, int, int]:
        """Make at most `limit` pulls in each run; returns the tally: runs going, troubled, millionths of runs done."""
        tally = self.plan.zeros(4, dtype=np.int64)
        with warnings.catch_warnings():  # few runs leave the card idle; that is no mistake
            warnings.simplefilter("ignore")
            self.kernel[self.lanes // THREADS, THREADS](*self._arguments(tally, limit))
        going, troubled, share, finished = map(int, tally.copy_to_host())
        if going + finished != self.lanes:  # a thread that raises just ends
            raise OutlayError(
                f"a run of {self.task.label} raised an exception on the GPU; backend='threads' says which"
            )
        return going, troubled, share

    def _arguments(self, tally: Any, limit: int) -> tuple[Any, ...]:
        plan, task = self.plan, self.task
        shared = plan.world, plan.policy, self.memories, self.states, self.crossings, plan.limits
        return *shared, tally, plan.key, task.first, limit, task.max_pulls

    def _help(self) -> None:
        """Raise what is wrong with some run; give all of them more memory where that is what one needs."""
        task = self.task
        marks, totals = self.states.marks.copy_to_host(), self.states.totals.copy_to_host()
        going = np.flatnonzero(marks[PASSED] < len(task.budgets))
        for i in going[marks[STRAY, going] != 0]:
            last = task.crossings.pulls.shape[2] - 1
            raise BadParameter(task.label, "the arm that choose returns", f"0 to {last}", int(marks[STRAY, i]))
        for i in going[~np.isfinite(totals[[SPENT, EARNED]][:, going]).all(axis=0)]:
            check_finite(task.label, task.first + int(i), totals[[SPENT, EARNED], i][None])
        for i in going[marks[PULLS, going] >= task.max_pulls]:
            spent = float(totals[SPENT, i])
            raise RunTooLong(task.label, task.first + int(i), int(marks[PULLS, i]), spent, float(task.budgets[-1]))
        self._grow()

    def _grow(self) -> None:
        """Enlarge every run's memory: all are of one size."""
        held = each(lambda item: item.copy_to_host() if hasattr(item, "copy_to_host") else item, self.memories)
        self.memories = None

        def of_run(i: int) -> MemoryTuple:
            return each(lambda item: np.ascontiguousarray(item[..., i]) if isinstance(item, np.ndarray) else item, held)

        parts = [of_run(i) for i in range(self.lanes)]
        grown = list(map(enlarged, parts))
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


class Plan:
    """What all chunks of a task share: the world and the policy on the device, and how large a run is."""

    def __init__(self, cuda: Cuda, task: Task) -> None:
        self.cuda, self.task = cuda, task
        self.code: Any = imported("outlay.engine.gpu.device_code")
        first = task.memory()()
        self.first: MemoryTuple = (
            PointsWithRoom._make((*first, first)) if task.hard and type(first) is HullMoments else first
        )
        policy = coerced(task.policy)
        if any(array.size == 0 for array in arrays_in(policy)):
            raise OutlayError(refusal(task.label, "it holds an empty array"))
        try:
            self.world, self.policy = self.on_device(compose(task.problem.arms)), self.on_device(policy)
        except (TypeError, ValueError) as error:
            raise OutlayError(refusal(task.label, str(error))) from None
        self.limits = self.on_device(task.limits)
        self.key = np.uint64(key_of(task.seed))

    @property
    def bytes_per_run(self) -> int:
        """What a run takes of the device's memory."""
        _, budgets, arms = self.task.crossings.pulls.shape
        held = sum(array.nbytes for array in arrays_in(self.first))
        room = 4 * arms if self.task.hard else 0
        return int(held + 8 * (3 * arms + 4 + 3 + 5 + room + budgets * (arms + 2)))

    @property
    def free_bytes(self) -> int:
        """The device's free memory that a chunk may be planned with: a part of it, where runs need more as they go."""
        context = self.cuda.current_context()
        with contextlib.suppress(AttributeError):  # of another allocator than numba's, which frees late
            context.memory_manager.deallocations.clear()
        free = int(context.get_memory_info()[0])
        return free // ROOM_TO_GROW if has(self.first, "enlarged") else free

    def on_device(self, value: Any) -> Any:
        """The same value with its arrays on the device."""

        def moved(item: Any) -> Any:
            if not isinstance(item, np.ndarray):
                return item
            if item.size == 0:  # it has no address: one number stands for it, and is not read
                item = np.zeros([1] * item.ndim, item.dtype)
            return self.cuda.to_device(np.ascontiguousarray(item))

        return each(moved, value)

    def zeros(self, *shape: int, dtype: DTypeLike = np.float64) -> Any:
        """Zeros, made on the device."""
        array = self.cuda.device_array(shape, dtype)
        self.cuda.cudadrv.driver.device_memset(array, 0, array.nbytes)
        return array


def refusal(label: str, reason: str) -> str:
    """Why a policy cannot be played on a GPU, in one sentence."""
    return f"{label} cannot be compiled for a GPU, backend='threads' can play it: {reason}"


def each(function: Callable[..., Any], *values: Any) -> Any:
    """A value like the first, of tuples in tuples, with `function` of what the values have in each innermost place.

    >>> each(max, (1, (5, 2)), (3, (4, 6)))
    (3, (5, 6))
    """
    if not isinstance(values[0], tuple):
        return function(*values)
    return tuple.__new__(type(values[0]), (each(function, *parts) for parts in zip(*values, strict=True)))


def toolkit() -> Cuda:
    """numba.cuda with a GPU behind it, or one sentence that says what is missing."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise OutlayError("backend='cuda' needs `pip install 'outlay[cuda]'`")
    cuda = imported("numba.cuda")
    if not cuda.is_available():
        raise OutlayError("backend='cuda' needs an NVIDIA GPU with its driver, and none was found on this machine")
    return cuda


def imported(name: str) -> ModuleType:
    """A module that builds on numba-cuda, which reads the name np.row_stack that numpy 2.5 has dropped."""
    names = vars(np)
    missing = "row_stack" not in names
    if missing:
        names["row_stack"] = lambda arrays: np.vstack(arrays)
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
        return importlib.import_module(name)
    finally:
        if missing:
            names.pop("row_stack", None)  # another thread may have been faster


class _PointsFields(NamedTuple):
    """Those of `HullMoments`, and a second one to line up some of its arms in."""

    arms: SequentialMoments
    pulls: NDArray[np.int64]
    costs: Vector
    rewards: Vector
    told: Vector
    other: Vector
    free_after: NDArray[np.int64]
    spare: HullMoments


class PointsWithRoom(_PointsFields):
    """`HullMoments` for the GPU, where no array can be made: it need not make room."""

    __slots__ = ()

    shuffle = HullMoments.shuffle
    observe = HullMoments.observe
    belief = HullMoments.belief
    lead = HullMoments.lead
    opened = HullMoments.opened
    unopened = HullMoments.unopened
    full = HullMoments.full

    def room_for(self, count: int) -> HullMoments:
        """A part of the room."""
        spare, arms = self.spare, self.spare.arms
        narrow = SequentialMoments(
            arms.stats[: count + 1], arms.extremes, arms.usual, arms.order[:count], arms.place[:count], arms.marks,
            arms.past,
        )  # fmt: skip
        return HullMoments(
            narrow, spare.pulls[:count], spare.costs[:count], spare.rewards[:count], spare.told[:count],
            spare.other[:, :count], spare.free_after,
        )  # fmt: skip
