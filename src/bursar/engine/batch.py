"""A batch of runs of one policy, advanced a slice of pulls at a time.

Run i draws from `SeedSequence(seed, spawn_key=(i,))` whatever the policy, the batch or the thread, so results depend
on nothing but the seed.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bursar.engine.loop import BATCH, EARNED, PASSED, PULLS, SPENT, STRAY, Outcome, Runs
from bursar.engine.records import shape
from bursar.errors import BadParameter, BursarError, RunTooLong
from bursar.parameters import Vector


@dataclass(frozen=True)
class Player:
    """A policy ready to play: the loop, compiled or not, and all that it needs."""

    label: str
    play: Callable[..., None]
    world: Any
    policy: Any
    memory: Callable[[], Any]
    budgets: Vector
    seed: int
    max_pulls: int


@dataclass
class Batch:
    """At most BATCH runs of one policy, with their memories and where each stands."""

    player: Player
    first: int  # the number of the first run
    result: Outcome  # where the runs' outcomes go in the end
    state: "_State | None" = field(default=None, init=False)

    def advance(self, pulls: int) -> tuple[float, int]:
        """Make at most this many more pulls; returns how much of the batch is done, 1.0 at the end, and pulls made."""
        player, state = self.player, self.state or _State.start(self)
        self.state = state
        state.grew = False
        before = state.runs.marks[:, PULLS].sum()
        try:
            player.play(
                state.rngs, player.world, player.policy, tuple(state.memories), state.runs, state.outcome,
                player.budgets, pulls, player.max_pulls,
            )  # fmt: skip
        except Exception as error:  # only interpreted code raises: a mistake in a policy or law of the user's
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"
            raise BursarError(f"a run of {player.label} failed with {what}") from error
        made = int(state.runs.marks[:, PULLS].sum() - before)
        count = len(self.result.cost)
        done = state.runs.marks[:count, PASSED] == len(player.budgets)
        if done.all():
            _check_finite(player.label, self.first, state.outcome.cost, state.outcome.reward)
            for result, mine in zip(self.result, state.outcome, strict=True):
                result[...] = mine
            self.state = None  # thousands of finished batches must not hold their memories
            return 1.0, made
        for i in np.flatnonzero(~done):
            self._check(state, int(i))
        if made == 0 and not state.grew:
            raise BursarError(f"{player.label} makes no progress")
        spent = np.clip(state.runs.totals[:count, SPENT] / player.budgets[-1], 0.0, 1.0)
        return float(np.where(done, 1.0, spent).mean()) * 0.999, made

    def _check(self, state: "_State", i: int) -> None:
        """Raise what is wrong with an open run; give it more memory where that is what it needs."""
        label, run = self.player.label, self.first + i
        marks, totals = state.runs.marks[i], state.runs.totals[i]
        if stray := int(marks[STRAY]):
            last = state.runs.pulls.shape[1] - 1
            raise BadParameter(label, "the arm that choose returns", f"0 to {last}", stray)
        _check_finite(label, run, totals[None, [SPENT, EARNED]])
        if marks[PULLS] >= self.player.max_pulls:
            raise RunTooLong(label, run, int(marks[PULLS]), float(totals[SPENT]), float(self.player.budgets[-1]))
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
        count, _, arms = batch.result.pulls.shape
        rngs = [_stream(batch.player.seed, batch.first + i) for i in range(count)]
        memories = [batch.player.memory() for _ in range(count)]
        padding = BATCH - count
        outcome = batch.result.blank()
        return cls(tuple(rngs + rngs[:1] * padding), memories + memories[:1] * padding, Runs.start(arms), outcome)

    def grow(self, i: int) -> None:
        """Enlarge a memory that is full."""
        memory = self.memories[i]
        if memory.full():
            if not hasattr(memory, "grown"):
                raise BursarError(f"a {type(memory).__name__} is full and has no method grown() to go on with")
            self.memories[i] = same_types(memory.grown(), memory)
            self.grew |= not self.memories[i].full()


def _check_finite(label: str, first: int, *totals: Vector) -> None:
    for run, row in enumerate(np.concatenate(totals, axis=1), first):
        if not np.isfinite(row).all():
            raise BursarError(f"run {run} of {label} met a cost or reward that is not a finite number")


def same_types(memory: Any, expected: Any) -> Any:
    """The memory, if compiled code may have it: it trusts the types it was compiled for and checks nothing."""
    if shape(memory) != shape(expected):
        raise BursarError(f"a {type(expected).__name__} must have the same types of fields every time it is made")
    return memory


def _stream(seed: int, run: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))
