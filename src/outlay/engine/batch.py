"""Some runs of one policy, played one after another, a slice of pulls at a time.

A short run takes less time than making a generator and a memory in the interpreter, which would moreover keep all other
threads waiting for its lock. So one of each serves all runs: the compiled loop sets them back (`loop.begin`).
"""

import math
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from outlay.engine.jit.compile import Program, program_of
from outlay.engine.run.loop import EARNED, MADE, PULLS, RUN, SPENT, STRAY, Passages, Standing, Starts
from outlay.engine.run.memories import packed
from outlay.engine.run.streams import Opened, seeded
from outlay.engine.task import Task, check_finite, same_types
from outlay.errors import BadCode, BadParameter, OutlayError, RunTooLong
from outlay.policies.protocol import CampaignMemory, Memory, has
from outlay.usercode import what_failed

_BATCH_PULLS = 500_000  # a batch holds at most as many runs as make about this many pulls
_FEWEST_PULLS = 20_000  # and at least as many as make about this many
_SHARES = 8  # batches for each worker, so that none waits long for the last
_BATCH_NUMBERS = 2**20  # that the passages of a batch hold at most


def batches_of(task: Task, workers: int) -> "list[Batch]":
    """Cut a policy's runs into batches: few long runs to a batch, many short ones."""
    program = program_of(task)
    size = _batch_size(task, workers)
    idle: list[_Player] = []
    return [Batch(program, task.part(first, first + size), idle) for first in range(0, task.runs, size)]


def _batch_size(task: Task, workers: int) -> int:
    share = max(math.ceil(task.runs / (_SHARES * workers)), _FEWEST_PULLS // task.pulls)
    numbers = task.passages.pulls.shape[1] * (task.passages.pulls.shape[2] + 2)
    return int(max(1, min(share, _BATCH_PULLS // task.pulls, _BATCH_NUMBERS // numbers)))


def _share(task: Task, standing: Standing) -> float:
    """How far a run is: how much it has used of the budget, or of the requests if that is more; from 0 to 1."""
    pulls, limits = int(standing.marks[PULLS]), task.limits
    if pulls == 0:
        return 0.0
    used = max(standing.totals[SPENT] / limits.budgets[-1], pulls / limits.requests[-1])
    return float(min(max(used, 0.0), 1.0))


@dataclass
class Batch:
    """Some runs of one policy."""

    program: Program
    task: Task
    _idle: "list[_Player]"  # which other batches of the task have done with
    _open: "_Running | None" = field(default=None, init=False)

    def advance(self, pulls: int) -> tuple[float, int]:
        """Make at most this many more pulls; returns how much of the batch is done, 1.0 at the end, and pulls made."""
        task = self.task
        self._open = running = self._open or self._start()
        player, marks = running.player, running.player.standing.marks
        player.grew = False
        before, first = int(marks[MADE]), int(marks[RUN])
        end = self._prepare(running)
        self._play(running, pulls, end)
        made, row = int(marks[MADE]) - before, int(marks[RUN])
        self._write(running, row)
        if row == task.runs:
            self._open = None  # finished batches must not hold what they were played with
            self._idle.append(player)
            return 1.0, made
        if marks[PULLS] > 0 or made == 0:
            self._check(player, task.first + row)
        if made == 0 and row == first and not player.grew:  # a run may end without a pull, where no arm fits
            raise OutlayError(f"{task.label} makes no progress")
        return 0.999 * (row + _share(task, player.standing)) / task.runs, made

    def _start(self) -> "_Running":
        task = self.task
        try:
            player = self._idle.pop()
        except IndexError:
            player = _Player.make(self.program, len(task.problem))
            player.standing.room.dearest[:] = task.dearest if task.hard else 0.0
        player.standing.marks[:] = 0
        seeds = np.zeros((task.runs, 4), np.uint64) if self.program.alone else seeded(task.seed, task.first, task.runs)
        return _Running(player, player.starts._replace(seeds=seeds), Passages.blank(*task.passages.pulls.shape))

    def _prepare(self, running: "_Running") -> int:
        """Give the next run what it needs; returns the row of the run before which to stop."""
        player, row = running.player, int(running.player.standing.marks[RUN])
        if self.program.alone and running.prepared != row:
            player.rng, player.memory = self.task.stream(self.task.first + row), self.program.memory()
            running.prepared = row
        return row + 1 if self.program.alone or player.memory is not player.packed else self.task.runs

    def _play(self, running: "_Running", pulls: int, end: int) -> None:
        program, task, player = self.program, self.task, running.player
        try:
            program.play(
                player.rng, program.world, program.policy, player.memory, running.starts, player.standing,
                running.passages, task.limits, pulls, task.max_pulls, end,
            )  # fmt: skip
        except Exception as error:  # a mistake in a policy or law of the user's
            owners = type(task.policy), *{type(law) for law in task.problem.arms}
            raise BadCode(f"a run of {task.label} failed: {what_failed(error, *owners)}") from error

    def _write(self, running: "_Running", row: int) -> None:
        """Write the runs that have ended since the last time where they belong."""
        if row > running.written:
            part = slice(running.written, row)
            ended = running.passages.part(part)
            check_finite(self.task.label, self.task.first + running.written, ended.cost, ended.reward)
            self.task.passages.part(part).fill(ended)
            running.written = row
            running.player.memory = running.player.packed  # the next run starts as small as this one did

    def _check(self, player: "_Player", run: int) -> None:
        """Raise what is wrong with an open run; give it more memory where that is what it needs."""
        label, (pulls, totals, marks, *_) = self.task.label, player.standing
        if stray := int(marks[STRAY]):
            raise BadParameter(label, "the arm that choose returns", f"0 to {len(pulls) - 1}", stray)
        check_finite(label, run, totals[None, [SPENT, EARNED]])
        if marks[PULLS] >= self.task.max_pulls:
            raise RunTooLong(label, run, int(marks[PULLS]), float(totals[SPENT]), float(self.task.budgets[-1]))
        player.grow()


@dataclass
class _Player:
    """What runs are played with, one after another: on one thread at a time."""

    rng: np.random.Generator
    memory: Memory
    packed: Memory  # the memory that runs start with, unless each has its own
    starts: Starts  # but for the seeds
    standing: Standing
    grew: bool = False

    @classmethod
    def make(cls, program: Program, arms: int) -> "_Player":
        """For programs whose runs are not alone, a generator and a memory that the loop can set back."""
        memory, standing, nothing = program.memory(), Standing.start(arms), np.zeros((1, 4), np.uint64)
        if program.alone:
            starts = Starts(nothing, nothing[0], nothing[0], nothing[0, :0], nothing[0, :0])
            return cls(np.random.default_rng(0), memory, memory, starts, standing)
        opened = Opened.make()
        memory, words = packed(memory)
        starts = Starts(nothing, opened.state, opened.spare, words.copy(), words)
        return cls(opened.rng, memory, memory, starts, standing)

    def grow(self) -> None:
        """Enlarge the memory if it is full."""
        if self.memory.full():
            if not has(self.memory, "enlarged"):
                raise OutlayError(f"a {type(self.memory).__name__} is full and has no method enlarged() to go on with")
            self.memory = same_types(cast("CampaignMemory", self.memory).enlarged(), self.memory)
            self.grew = not self.memory.full()


@dataclass
class _Running:
    """A batch while it is played."""

    player: _Player
    starts: Starts
    passages: Passages
    written: int = 0  # runs whose passages have been written
    prepared: int = -1  # the row of the run that generator and memory were made for
