"""Batches of runs on threads: compiled loops release the interpreter's lock, so every core works.

A compiled loop cannot be interrupted, so each thread asks for slices of about 30 ms and looks up in between. Ctrl-C
stops every thread at its next look, waits for them, and only then goes on to the caller.

A batch is some runs of one policy, played one after another. A short run takes less time than making a generator and a
memory in the interpreter, which would moreover keep all other threads waiting for its lock. So one of each serves all
runs of a batch: the compiled loop sets them back (`loop.begin`).
"""

import math
import os
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np

from outlay.engine.bulk_random import SharedGenerator, packed, seeded
from outlay.engine.jit.compile import Program, program_of
from outlay.engine.loop import EARNED, MADE, PULLS, RUN, SPENT, STRAY, Crossings, ResetImage, RunState
from outlay.engine.task import Task, check_finite, enlarged
from outlay.errors import BadCode, BadParameter, OutlayError, RunTooLong
from outlay.policies.protocol import Memory
from outlay.progress import Report
from outlay.usercode import what_failed

_BATCH_PULLS = 500_000  # a batch holds at most as many runs as make about this many pulls
_FEWEST_PULLS = 20_000  # and at least as many as make about this many
_SHARES = 8  # batches for each worker, so that none waits long for the last
_BATCH_NUMBERS = 2**20  # that the crossings of a batch hold at most
_SLICE_SECONDS = 0.03
_FIRST_SLICE = 1_000  # pulls; interpreted policies make about this many in a slice


def run(tasks: Sequence[Task], workers: int | None, report: Report) -> None:
    """Do every task on threads, by default one per core; `report` is told, now and then, how many runs are done."""
    workers = workers or os.cpu_count() or 1
    batches: list[Batch] = []
    for task in tasks:
        batches += batches_of(task, workers)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for i in sorted(range(len(batches)), key=lambda i: batches[i].task.first):
        todo.put(i)  # all policies' first runs come first: whoever interrupts has some runs of each
    done = [0.0] * len(batches)
    stop = threading.Event()
    pace: dict[str, int] = {}  # pulls in a slice, by policy

    def runs_done() -> float:
        return sum(share * batch.task.runs for share, batch in zip(done, batches, strict=True))

    def work() -> None:
        while not stop.is_set():
            try:
                i = todo.get_nowait()
            except queue.Empty:
                return
            label = batches[i].task.label  # one policy may be a thousand times slower than another: a pace for each
            pulls = pace.get(label, _FIRST_SLICE)
            while done[i] < 1.0 and not stop.is_set():
                start = time.perf_counter()
                done[i], made = batches[i].advance(pulls)
                wanted = _SLICE_SECONDS / max(time.perf_counter() - start, 1e-6)
                pulls = 1 + _FIRST_SLICE // 10 + int(made * min(8.0, wanted))
            pace[label] = pulls

    with ThreadPoolExecutor(workers, thread_name_prefix="outlay") as pool:
        threads = [pool.submit(work) for _ in range(min(workers, len(batches)))]
        try:
            while wait(threads, timeout=0.05, return_when=FIRST_EXCEPTION).not_done:
                report(runs_done())
                if any(thread.done() and thread.exception() for thread in threads):
                    break
        finally:
            stop.set()  # on Ctrl-C and on an error in one thread: the others stop at their next look
    for thread in threads:
        thread.result()
    report(runs_done())


def batches_of(task: Task, workers: int) -> "list[Batch]":
    """Cut a policy's runs into batches: few long runs to a batch, many short ones."""
    share = max(math.ceil(task.runs / (_SHARES * workers)), _FEWEST_PULLS // task.pulls)
    numbers = task.crossings.pulls.shape[1] * (task.crossings.pulls.shape[2] + 2)
    size = int(max(1, min(share, _BATCH_PULLS // task.pulls, _BATCH_NUMBERS // numbers)))
    program, idle = program_of(task), list[_Player]()
    return [Batch(program, task.part(first, first + size), idle) for first in range(0, task.runs, size)]


@dataclass
class Batch:
    """Some runs of one policy."""

    program: Program
    task: Task
    _idle: "list[_Player]"  # which other batches of the task have done with
    _open: "_Running | None" = field(default=None, init=False)

    def advance(self, pulls: int) -> tuple[float, int]:
        """Make at most this many more pulls; returns how much of the batch is done, 1.0 at the end, and pulls made."""
        task, program, alone = self.task, self.program, self.program.alone
        self._open = running = self._open or self._start()
        player, marks = running.player, running.player.state.marks
        player.grew = False
        before, first = int(marks[MADE]), int(marks[RUN])
        if alone and running.prepared != first:
            player.rng, player.memory, running.prepared = task.stream(task.first + first), program.memory(), first
        end = first + 1 if alone or player.memory is not player.packed else task.runs
        try:
            program.play(
                player.rng, program.world, program.policy, player.memory, running.reset_image, player.state,
                running.crossings, task.limits, pulls, task.max_pulls, end,
            )  # fmt: skip
        except Exception as error:  # a mistake in a policy or law of the user's
            owners = type(task.policy), *{type(law) for law in task.problem.laws}
            raise BadCode(f"a run of {task.label} failed: {what_failed(error, *owners)}") from error
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
        budget, requests = float(task.budgets[-1]), int(task.limits.requests[-1])
        used = max(player.state.totals[SPENT] / budget, marks[PULLS] / requests) if marks[PULLS] else 0.0
        return 0.999 * float(row + min(max(used, 0.0), 1.0)) / task.runs, made

    def _start(self) -> "_Running":
        task = self.task
        try:
            player = self._idle.pop()
        except IndexError:
            player = _Player.make(self.program, task)
        player.state.marks[:] = 0
        seeds = np.zeros((task.runs, 4), np.uint64) if self.program.alone else seeded(task.seed, task.first, task.runs)
        return _Running(player, player.reset_image._replace(seeds=seeds), Crossings.blank(*task.crossings.pulls.shape))

    def _write(self, running: "_Running", row: int) -> None:
        """Write the runs that have ended since the last time where they belong."""
        if row > running.written:
            part = slice(running.written, row)
            ended = running.crossings.part(part)
            check_finite(self.task.label, self.task.first + running.written, ended.cost, ended.reward)
            self.task.crossings.part(part).fill(ended)
            running.written = row
            running.player.memory = running.player.packed  # the next run starts as small as this one did

    def _check(self, player: "_Player", run: int) -> None:
        """Raise what is wrong with an open run; give it more memory where that is what it needs."""
        label, (pulls, totals, marks, *_) = self.task.label, player.state
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
    reset_image: ResetImage  # but for the seeds
    state: RunState
    grew: bool = False

    @classmethod
    def make(cls, program: Program, task: Task) -> "_Player":
        """For programs whose runs are not alone, a generator and a memory that the loop can set back."""
        memory, nothing = program.memory(), np.zeros((1, 4), np.uint64)
        state = RunState.start(len(task.problem), task.dearest if task.hard else None)
        if program.alone:
            reset_image = ResetImage(nothing, nothing[0], nothing[0], nothing[0, :0], nothing[0, :0])
            return cls(np.random.default_rng(0), memory, memory, reset_image, state)
        opened = SharedGenerator.make()
        memory, words = packed(memory)
        reset_image = ResetImage(nothing, opened.state, opened.spare, words.copy(), words)
        return cls(opened.rng, memory, memory, reset_image, state)

    def grow(self) -> None:
        """Enlarge the memory if it is full."""
        if self.memory.full():
            self.memory = enlarged(self.memory)
            self.grew = not self.memory.full()


@dataclass
class _Running:
    """A batch while it is played."""

    player: _Player
    reset_image: ResetImage
    crossings: Crossings
    written: int = 0  # runs whose crossings have been written
    prepared: int = -1  # the row of the run that generator and memory were made for
