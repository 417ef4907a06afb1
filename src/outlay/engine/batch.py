"""A batch of runs of one policy, advanced a slice of pulls at a time."""

import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from outlay.engine.compiler.program import Program, program_of
from outlay.engine.loop import BATCH, EARNED, PASSED, PULLS, SPENT, STRAY, Passages, Runs
from outlay.engine.task import Task, check_finite, same_types
from outlay.errors import BadParameter, OutlayError, RunTooLong
from outlay.policies.protocol import Grows, Memory

_BATCH_PULLS = 200_000  # a batch holds as many runs as make about this many pulls


def batches_of(task: Task) -> "list[Batch]":
    """Cut a policy's runs into batches: few long runs to a batch, many short ones."""
    program = program_of(task)
    size = int(min(BATCH, max(1, _BATCH_PULLS // task.pulls)))
    return [Batch(program, task.part(first, first + size)) for first in range(0, task.runs, size)]


@dataclass
class Batch:
    """At most BATCH runs of one policy, with their memories and where each stands."""

    program: Program
    task: Task
    _open: "_Running | None" = field(default=None, init=False)

    def advance(self, pulls: int) -> tuple[float, int]:
        """Make at most this many more pulls; returns how much of the batch is done, 1.0 at the end, and pulls made."""
        task = self.task
        self._open = running = self._open or _Running.start(self)
        running.grew = False
        before = running.runs.marks[:, PULLS].sum()
        self._play(running, pulls)
        made = int(running.runs.marks[:, PULLS].sum() - before)
        count = task.runs
        done = running.runs.marks[:count, PASSED] == len(task.budgets)
        if done.all():
            check_finite(task.label, task.first, running.passages.cost, running.passages.reward)
            task.passages.fill(running.passages)
            self._open = None  # thousands of finished batches must not hold their memories
            return 1.0, made
        for i in np.flatnonzero(~done):
            self._check(running, int(i))
        if made == 0 and not running.grew:
            raise OutlayError(f"{task.label} makes no progress")
        spent = np.clip(running.runs.totals[:count, SPENT] / task.budgets[-1], 0.0, 1.0)
        return float(np.where(done, 1.0, spent).mean()) * 0.999, made

    def _play(self, running: "_Running", pulls: int) -> None:
        program, task = self.program, self.task
        try:
            program.play(
                running.rngs, program.world, program.policy, tuple(running.memories), running.runs, running.passages,
                task.budgets, pulls, task.max_pulls,
            )  # fmt: skip
        except Exception as error:  # only interpreted code raises: a mistake in a policy or law of the user's
            frame = traceback.extract_tb(error.__traceback__)[-1]
            what = f"{type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
            raise OutlayError(f"a run of {task.label} failed with {what}") from error

    def _check(self, running: "_Running", i: int) -> None:
        """Raise what is wrong with an open run; give it more memory where that is what it needs."""
        label, run = self.task.label, self.task.first + i
        marks, totals = running.runs.marks[i], running.runs.totals[i]
        if stray := int(marks[STRAY]):
            last = running.runs.pulls.shape[1] - 1
            raise BadParameter(label, "the arm that choose returns", f"0 to {last}", stray)
        check_finite(label, run, totals[None, [SPENT, EARNED]])
        if marks[PULLS] >= self.task.max_pulls:
            raise RunTooLong(label, run, int(marks[PULLS]), float(totals[SPENT]), float(self.task.budgets[-1]))
        running.grow(i)


@dataclass
class _Running:
    """What a batch holds while it runs; padded, since compiled code takes exactly BATCH generators and memories."""

    rngs: tuple[np.random.Generator, ...]
    memories: list[Memory]
    runs: Runs
    passages: Passages
    grew: bool = False

    @classmethod
    def start(cls, batch: Batch) -> "_Running":
        task = batch.task
        count, budgets, arms = task.passages.pulls.shape
        rngs = [task.stream(task.first + i) for i in range(count)]
        memories = [batch.program.memory() for _ in range(count)]
        padding = BATCH - count
        passages = Passages.blank(count, budgets, arms)
        return cls(tuple(rngs + rngs[:1] * padding), memories + memories[:1] * padding, Runs.start(arms), passages)

    def grow(self, i: int) -> None:
        """Enlarge a memory that is full."""
        memory = self.memories[i]
        if memory.full():
            if not isinstance(memory, Grows):
                raise OutlayError(f"a {type(memory).__name__} is full and has no method grown() to go on with")
            self.memories[i] = same_types(memory.grown(), memory)
            self.grew |= not self.memories[i].full()
