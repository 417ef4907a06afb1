"""What a backend is asked to do: one policy's runs on a problem, for some of the budgets (and requests)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Literal, TypeVar, cast, get_args

import numpy as np

from outlay.arms.law import support_of
from outlay.arms.problem import Problem
from outlay.checks import Vector
from outlay.engine.limits import Counts, Limits
from outlay.engine.loop import Crossings
from outlay.errors import BadParameter, OutlayError
from outlay.policies.protocol import CampaignMemory, Memory, MemoryTuple, Policy, check_memory, has, memory_of
from outlay.progress import Report

Remembered = TypeVar("Remembered")

Backend = Literal["threads", "dask", "ray", "cuda"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


@dataclass(frozen=True)
class Task:
    """Runs `first`, `first + 1`, … of a policy, one for each row of `crossings`, which is to be filled in."""

    problem: Problem
    label: str
    policy: Policy
    budgets: Vector
    seed: int
    max_pulls: int
    crossings: Crossings
    first: int = 0
    warn: bool = True  # whether to say that it cannot be compiled
    requests: Counts | None = None  # one number for each budget; None: not limited
    hard: bool = False  # whether the budget, of which there is one then, must not be passed
    laws: Counts | None = None  # as in Limits, where the problem changes

    @property
    def runs(self) -> int:
        """How many runs."""
        return len(self.crossings.cost)

    @property
    def limits(self) -> Limits:
        """What ends a run."""
        return Limits.of(self.budgets, self.requests, self.laws)

    @property
    def pulls(self) -> float:
        """About how many pulls a run makes, at most: as many as of the cheapest arm, or requests; at least 1."""
        cheapest, requests = float(self.problem.mean_costs.min()), float(self.limits.requests[-1])
        return max(1.0, min(self.budgets[-1] / cheapest, requests) if cheapest > 0 else requests)

    @property
    def dearest(self) -> Vector:
        """The most that a pull of each arm can cost."""
        return np.array([support_of(law).cost_high for law in self.problem.arms])

    def part(self, start: int, stop: int) -> "Task":
        """Some of the runs, counted from the first; they write where the whole would."""
        return replace(self, first=self.first + start, crossings=self.crossings.part(slice(start, stop)))

    def stream(self, run: int) -> np.random.Generator:
        """The random numbers of a run: they depend on the seed and the run's number, and on nothing else."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(run,)))

    def memory(self) -> Callable[[], Memory]:
        """What makes a run's memory, always of the same types; the first one is checked here."""
        first = check_memory(self.label, self.policy, len(self.problem))
        return lambda: same_types(memory_of(self.policy, len(self.problem)), first)


Play = Callable[[Sequence[Task], int | None, Report], None]  # tasks, workers, and who is told how many runs are done


def backend_of(name: Backend) -> Play:
    """What plays tasks there, imported when it is asked for."""
    if name in ("dask", "ray"):
        return partial(import_module("outlay.engine.cluster").run, name)
    return cast("Play", import_module("outlay.engine.gpu.backend" if name == "cuda" else "outlay.engine.threads").run)


def same_types(memory: Remembered, expected: object) -> Remembered:
    """The memory, if compiled code may have it: it trusts the types it was compiled for and checks nothing."""
    from outlay.engine.jit.numba_types import shape

    if shape(memory) != shape(expected):
        raise OutlayError(f"a {type(expected).__name__} must have the same types of fields every time it is made")
    return memory


def enlarged(memory: Memory) -> MemoryTuple:
    """A full memory with more room."""
    if not has(memory, "enlarged"):
        raise OutlayError(f"a {type(memory).__name__} is full and has no method enlarged() to go on with")
    return same_types(cast("CampaignMemory", memory).enlarged(), memory)


def check_finite(label: str, first: int, *totals: Vector) -> None:
    """Refuse totals, a row for each run from `first` on, that are not numbers."""
    wrong = np.flatnonzero(~np.isfinite(np.concatenate(totals, axis=1)).all(axis=1))
    if wrong.size:
        raise OutlayError(f"run {first + wrong[0]} of {label} met a cost or reward that is not a finite number")


def room_for(owner: str, policies: int, runs: int, budgets: int, arms: int) -> Crossings:
    """Where the crossings of all policies' runs go; rewards are nan until then.

    >>> room_for("simulate", policies=2, runs=5, budgets=1, arms=3).pulls.shape
    (2, 5, 1, 3)
    """
    shape = (policies, runs, budgets)
    try:
        return Crossings(np.zeros((*shape, arms), np.int64), np.zeros(shape), np.full(shape, np.nan))
    except (MemoryError, ValueError):  # of numpy: too large for this machine, too large for any
        size = 8.0 * policies * runs * budgets * (arms + 2)
        raise BadParameter(owner, "runs", f"small enough: these need {size:.1e} bytes of memory", runs) from None
