"""Runs on a GPU, one thread each: `simulate(…, backend="cuda")`.

A task's runs are played in chunks that fit into the card's free memory, and a chunk in slices of about 80 ms, so that
progress is seen and Ctrl-C is heard. Neither changes any number: a run's stream depends on the seed and on its own
number alone.
"""

import contextlib
import importlib
import importlib.util
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from outlay.engine.compiler.records import coerced
from outlay.engine.compiler.world import compose
from outlay.engine.gpu.random import key_of
from outlay.engine.loop import EARNED, PASSED, PULLS, SPENT, STRAY, Passages, decide_lazily, way_to_decide
from outlay.engine.task import Task, check_finite, same_types
from outlay.errors import BadParameter, OutlayError, RunTooLong

THREADS = 128  # in a block; runs are padded to a multiple
MARGIN = 0.85  # of the free memory is used
ROOM_TO_GROW = 4  # memories that grow are planned with this part of it
MOST_LAZY_PULLS = 2**31 - 2  # beyond which the pulls of a bound do not fit into its 32 bits

_SLICE_SECONDS = 0.08
_FIRST_SLICE = 256  # pulls a run


def run(tasks: Sequence[Task], workers: int | None, report: Callable[[float], None]) -> None:  # noqa: ARG001
    """Do every task on the GPU; `report` is told, now and then, how many runs are done."""
    cuda = toolkit()
    done = 0
    for task in tasks:
        with _limited_memory():
            plan = _Plan(cuda, task)
            for start, stop in chunks(task.runs, plan.bytes_a_run, plan.free_bytes):
                _Chunk(plan, task.part(start, stop)).play(lambda share, done=done: report(done + share))  # type: ignore[misc]
                done += stop - start
                report(done)


def chunks(runs: int, bytes_a_run: int, free: int) -> list[tuple[int, int]]:
    """Cut runs into stretches of nearly one size that fit into the memory, each but the last whole blocks of threads.

    >>> chunks(1000, bytes_a_run=1_000_000, free=600_000_000)
    [(0, 384), (384, 768), (768, 1000)]
    """
    most = int(MARGIN * free / bytes_a_run) // THREADS * THREADS
    if most == 0:
        need = THREADS * bytes_a_run / MARGIN
        raise OutlayError(f"{THREADS} runs need {need:.1e} bytes of the GPU's memory, and {free:.1e} are free")
    parts = math.ceil(runs / most)
    size = min(most, math.ceil(runs / parts / THREADS) * THREADS)
    return [(start, min(start + size, runs)) for start in range(0, runs, size)]


def toolkit() -> Any:
    """numba.cuda with a GPU behind it, or one sentence that says what is missing."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise OutlayError("backend='cuda' needs `pip install outlay[cuda]`")
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


class _Plan:
    """What all chunks of a task share: the world and the policy on the device, and how large a run is."""

    def __init__(self, cuda: Any, task: Task, lazy: bool = True) -> None:
        self.cuda, self.task = cuda, task
        self.code: Any = imported("outlay.engine.gpu.code")
        self.device: Any = imported("outlay.engine.gpu.kernel")
        self.first = task.memory()()
        self.lazy = lazy and task.max_pulls <= MOST_LAZY_PULLS and _may_be_lazy(task.policy)
        policy = coerced(task.policy)
        if any(array.size == 0 for array in arrays_in(policy)):
            raise OutlayError(_refusal(task.label, "it holds an empty array"))
        try:
            self.world, self.policy = self.on_device(compose(task.problem.arms)), self.on_device(policy)
        except (TypeError, ValueError) as error:
            raise OutlayError(_refusal(task.label, str(error))) from None
        self.budgets = cuda.to_device(np.ascontiguousarray(task.budgets))
        self.key = np.uint64(key_of(task.seed))

    @property
    def bounds(self) -> int:
        """How many bounds a run keeps: one an arm and one a group, if it is played lazily."""
        arms = len(self.task.problem)
        groups = math.ceil(arms / int(self.device.group_size(arms)))
        return (arms + groups if groups > 1 else arms) if self.lazy else 1

    @property
    def bytes_a_run(self) -> int:
        """What a run takes of the device's memory."""
        _, budgets, arms = self.task.passages.pulls.shape
        held = sum(array.nbytes for array in arrays_in(self.first))
        return int(held + 8 * (arms + self.bounds + 4 + 4 + 5 + budgets * (arms + 2)))

    @property
    def free_bytes(self) -> int:
        """The device's free memory that a chunk may be planned with: a part of it, where runs need more as they go."""
        context = self.cuda.current_context()
        with contextlib.suppress(AttributeError):  # of another allocator than numba's, which frees late
            context.memory_manager.deallocations.clear()
        free = int(context.get_memory_info()[0])
        return free // ROOM_TO_GROW if hasattr(self.first, "grown") else free

    def on_device(self, value: Any) -> Any:
        """The same value with its arrays on the device."""

        def moved(item: Any) -> Any:
            if not isinstance(item, np.ndarray):
                return item
            if item.size == 0:  # it has no address: one number stands for it, and is not read
                item = np.zeros([1] * item.ndim, item.dtype)
            return self.cuda.to_device(np.ascontiguousarray(item))

        return each(moved, value)

    def zeros(self, *shape: int, dtype: Any = np.float64) -> Any:
        """Zeros, made on the device."""
        array = self.cuda.device_array(shape, dtype)
        self.cuda.cudadrv.driver.device_memset(array, 0, array.nbytes)
        return array


class _Chunk:
    """Some runs of a task, all on the device at once."""

    def __init__(self, plan: _Plan, task: Task) -> None:
        self.plan, self.task = plan, task
        self.lanes = math.ceil(task.runs / THREADS) * THREADS
        _, budgets, arms = task.passages.pulls.shape
        zeros, lanes = plan.zeros, self.lanes
        marks = np.zeros((4, lanes), np.int64)
        marks[PASSED, task.runs :] = len(task.budgets)  # the padding is done
        self.state = plan.device.State(
            zeros(arms, lanes, dtype=np.int64),
            zeros(4, lanes),
            plan.cuda.to_device(marks),
            zeros(3, lanes, dtype=np.uint64),
            zeros(2, lanes),
            zeros(plan.bounds, lanes, dtype=np.float32),
            zeros(plan.bounds, lanes, dtype=np.int32),
        )
        self.passages: Any = Passages(
            zeros(task.runs, budgets, arms, dtype=np.int64), zeros(task.runs, budgets), zeros(task.runs, budgets)
        )
        self.memories = self._spread([plan.first])
        self._kernel: Any = None

    def play(self, report: Callable[[float], None]) -> None:
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
            report(max(0.0, share / plan.device.MILLION - (self.lanes - task.runs)))
            limit = max(1, int(limit * min(4.0, max(0.25, _SLICE_SECONDS / seconds))))
        passages = Passages(*(array.copy_to_host() for array in self.passages))
        if not (np.isfinite(passages.cost).all() and np.isfinite(passages.reward).all()):
            check_finite(task.label, task.first, passages.cost, passages.reward)
        for result, mine in zip(task.passages, passages, strict=True):
            result[...] = mine

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

    def arguments(self, tally: Any, limit: int) -> tuple[Any, ...]:
        """What the compiled loop takes."""
        plan, task = self.plan, self.task
        shared = plan.world, plan.policy, self.memories, self.state, self.passages, plan.budgets
        return *shared, tally, plan.key, task.first, limit, task.max_pulls

    def _compiled(self, arguments: tuple[Any, ...]) -> Any:
        """The loop, compiled for these arguments."""
        code = self.plan.code
        try:
            return code.kernel_for(arguments, self.plan.lazy)
        except code.CannotCompile as error:
            raise OutlayError(_refusal(self.task.label, str(error))) from error

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
        kind: Any = type(self.plan.first)
        if not hasattr(kind, "grown"):
            raise OutlayError(f"a {kind.__name__} is full and has no method grown() to go on with")
        held = each(lambda item: item.copy_to_host() if hasattr(item, "copy_to_host") else item, self.memories)
        self.memories = None

        def of_run(i: int) -> Any:
            return each(lambda item: np.ascontiguousarray(item[..., i]) if isinstance(item, np.ndarray) else item, held)

        parts = [of_run(i) for i in range(self.lanes)]
        grown = [same_types(part.grown(), part) for part in parts]
        if any(memory.full() for memory in grown):
            raise OutlayError(f"{self.task.label} makes no progress")
        self.memories = self._spread(grown)

    def _spread(self, memories: list[Any]) -> Any:
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


def each(function: Callable[..., Any], *values: Any) -> Any:
    """A value like the first, of tuples in tuples, with `function` of what the values have in each innermost place.

    >>> each(max, (1, (5, 2)), (3, (4, 6)))
    (3, (5, 6))
    """
    if not isinstance(values[0], tuple):
        return function(*values)
    return tuple.__new__(type(values[0]), (each(function, *parts) for parts in zip(*values, strict=True)))


def arrays_in(value: Any) -> list[Any]:
    """The arrays of a value of tuples in tuples."""
    if isinstance(value, tuple):
        return [array for item in value for array in arrays_in(item)]
    return [value] if isinstance(value, np.ndarray) else []


def _may_be_lazy(policy: Any) -> bool:
    return way_to_decide(type(policy)) is decide_lazily


def _refusal(label: str, reason: str) -> str:
    return f"{label} cannot be compiled for a GPU, backend='threads' can play it: {reason}"


@contextlib.contextmanager
def _limited_memory() -> Iterator[None]:
    """One sentence, where the driver has no memory left."""
    try:
        yield
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
        raise OutlayError("the GPU's memory is full: fewer runs, or backend='threads'") from error
