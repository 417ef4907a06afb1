"""A batch of runs of one policy, advanced a slice of pulls at a time."""

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from outlay.checks import Vector
from outlay.engine.compiler.records import coerced
from outlay.engine.compiler.world import Laws, compose
from outlay.engine.loop import BATCH, EARNED, PASSED, PULLS, SPENT, STRAY, Outcome, Runs, play
from outlay.engine.task import Task, same_types
from outlay.errors import BadParameter, InterpretedWarning, OutlayError, RunTooLong

_BATCH_PULLS = 200_000  # a batch holds as many runs as make about this many pulls


@dataclass(frozen=True)
class Player:
    """A policy ready to play: the loop, compiled or not, and all that it needs."""

    play: Callable[..., None]
    world: Any
    policy: Any
    memory: Callable[[], Any]


def player_of(task: Task, warn: bool = True) -> Player:
    """Compile the policy for the problem's laws, or have it interpreted, with a warning, where numba refuses."""
    from outlay.engine.compiler.dispatch import CannotCompile, compiled

    memory = task.memory()
    first = memory()
    try:
        world = compose(task.problem.arms)  # a law of the user's may hold anything
        policy = coerced(task.policy)
        return Player(compiled(policy, first, world), world, policy, memory)
    except Exception as error:  # whatever numba cannot type or compile still runs; what is wrong otherwise fails again
        reason = str(error) if isinstance(error, CannotCompile) else f"{type(error).__name__}: {error}"
        slow = f"{task.label} cannot be compiled and runs interpreted, hundreds of times slower: {reason}"
        if warn:
            warnings.warn(slow, InterpretedWarning, stacklevel=5)  # of the caller of simulate
        return Player(play, Laws(tuple(task.problem.arms)), task.policy, memory)


def batches_of(task: Task, warn: bool = True) -> "list[Batch]":
    """Cut a policy's runs into batches: few long runs to a batch, many short ones."""
    player = player_of(task, warn)
    pulls = task.budgets[-1] / task.problem.mean_costs.min()
    size = int(min(BATCH, max(1, _BATCH_PULLS // max(pulls, 1))))
    return [Batch(player, task.part(first, first + size)) for first in range(0, task.runs, size)]


@dataclass
class Batch:
    """At most BATCH runs of one policy, with their memories and where each stands."""

    player: Player
    task: Task
    state: "_State | None" = field(default=None, init=False)

    def advance(self, pulls: int) -> tuple[float, int]:
        """Make at most this many more pulls; returns how much of the batch is done, 1.0 at the end, and pulls made."""
        player, task = self.player, self.task
        self.state = state = self.state or _State.start(self)
        state.grew = False
        before = state.runs.marks[:, PULLS].sum()
        try:
            player.play(
                state.rngs, player.world, player.policy, tuple(state.memories), state.runs, state.outcome,
                task.budgets, pulls, task.max_pulls,
            )  # fmt: skip
        except Exception as error:  # only interpreted code raises: a mistake in a policy or law of the user's
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
            raise OutlayError(f"a run of {task.label} failed with {what}") from error
        made = int(state.runs.marks[:, PULLS].sum() - before)
        count = task.runs
        done = state.runs.marks[:count, PASSED] == len(task.budgets)
        if done.all():
            check_finite(task.label, task.first, state.outcome.cost, state.outcome.reward)
            for result, mine in zip(task.outcome, state.outcome, strict=True):
                result[...] = mine
            self.state = None  # thousands of finished batches must not hold their memories
            return 1.0, made
        for i in np.flatnonzero(~done):
            self._check(state, int(i))
        if made == 0 and not state.grew:
            raise OutlayError(f"{task.label} makes no progress")
        spent = np.clip(state.runs.totals[:count, SPENT] / task.budgets[-1], 0.0, 1.0)
        return float(np.where(done, 1.0, spent).mean()) * 0.999, made

    def _check(self, state: "_State", i: int) -> None:
        """Raise what is wrong with an open run; give it more memory where that is what it needs."""
        label, run = self.task.label, self.task.first + i
        marks, totals = state.runs.marks[i], state.runs.totals[i]
        if stray := int(marks[STRAY]):
            last = state.runs.pulls.shape[1] - 1
            raise BadParameter(label, "the arm that choose returns", f"0 to {last}", stray)
        check_finite(label, run, totals[None, [SPENT, EARNED]])
        if marks[PULLS] >= self.task.max_pulls:
            raise RunTooLong(label, run, int(marks[PULLS]), float(totals[SPENT]), float(self.task.budgets[-1]))
        state.grow(i)


@dataclass
class _State:
    """What a batch holds while it runs; padded, since compiled code takes exactly BATCH generators and memories."""

    rngs: tuple[np.random.Generator, ...]
    memories: list[Any]
    runs: Runs
    outcome: Outcome
    grew: bool = False

    @classmethod
    def start(cls, batch: Batch) -> "_State":
        task = batch.task
        count, _, arms = task.outcome.pulls.shape
        rngs = [task.stream(task.first + i) for i in range(count)]
        memories = [batch.player.memory() for _ in range(count)]
        padding = BATCH - count
        outcome = task.outcome.blank()
        return cls(tuple(rngs + rngs[:1] * padding), memories + memories[:1] * padding, Runs.start(arms), outcome)

    def grow(self, i: int) -> None:
        """Enlarge a memory that is full."""
        memory = self.memories[i]
        if memory.full():
            if not hasattr(memory, "grown"):
                raise OutlayError(f"a {type(memory).__name__} is full and has no method grown() to go on with")
            self.memories[i] = same_types(memory.grown(), memory)
            self.grew |= not self.memories[i].full()


def check_finite(label: str, first: int, *totals: Vector) -> None:
    """Refuse totals, a row for each run from `first` on, that are not numbers."""
    for run, row in enumerate(np.concatenate(totals, axis=1), first):
        if not np.isfinite(row).all():
            raise OutlayError(f"run {run} of {label} met a cost or reward that is not a finite number")
