"""What a backend is asked to do: one policy's runs on a problem, for some of the budgets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from outlay.arms.problem import Problem
from outlay.checks import Vector
from outlay.engine.compiler.records import shape
from outlay.engine.loop import Outcome
from outlay.errors import OutlayError
from outlay.policies.protocol import checked_memory, memory_of


@dataclass(frozen=True)
class Task:
    """Runs `first`, `first + 1`, … of a policy, one for each row of `outcome`, which is to be filled in."""

    problem: Problem
    label: str
    policy: Any
    budgets: Vector
    seed: int
    max_pulls: int
    outcome: Outcome
    first: int = 0

    @property
    def runs(self) -> int:
        """How many runs."""
        return len(self.outcome.cost)

    def part(self, start: int, stop: int) -> "Task":
        """Some of the runs, counted from the first; they write where the whole would."""
        return replace(self, first=self.first + start, outcome=self.outcome.part(slice(start, stop)))

    def stream(self, run: int) -> np.random.Generator:
        """The random numbers of a run: they depend on the seed and the run's number, and on nothing else."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(run,)))

    def memory(self) -> Callable[[], Any]:
        """What makes a run's memory, always of the same types; the first one is checked here."""
        first = checked_memory(self.label, self.policy, len(self.problem))
        return lambda: same_types(memory_of(self.policy, len(self.problem)), first)


def same_types(memory: Any, expected: Any) -> Any:
    """The memory, if compiled code may have it: it trusts the types it was compiled for and checks nothing."""
    if shape(memory) != shape(expected):
        raise OutlayError(f"a {type(expected).__name__} must have the same types of fields every time it is made")
    return memory
