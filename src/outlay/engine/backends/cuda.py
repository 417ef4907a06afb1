"""Runs on a GPU, one thread each: `simulate(…, backend="cuda")`.

A task's runs are played in chunks that fit into the card's free memory. That changes no number: a run's stream depends
on the seed and on its own number alone.
"""

import math
from collections.abc import Sequence
from functools import partial

from outlay.engine.gpu.chunk import THREADS, Chunk
from outlay.engine.gpu.plan import Plan
from outlay.engine.gpu.toolkit import limited_memory, toolkit
from outlay.engine.progress import Report
from outlay.engine.task import Task
from outlay.errors import OutlayError

MARGIN = 0.85  # of the free memory is used


def run(tasks: Sequence[Task], workers: int | None, report: Report) -> None:  # noqa: ARG001
    """Do every task on the GPU; `report` is told, now and then, how many runs are done."""
    cuda = toolkit()
    done = 0
    for task in tasks:
        with limited_memory():
            plan = Plan(cuda, task)
            for start, stop in chunks(task.runs, plan.bytes_per_run, plan.free_bytes):
                Chunk(plan, task.part(start, stop)).play(partial(_add, report, done))
                done += stop - start
                report(done)


def _add(report: Report, before: float, done: float) -> None:
    report(before + done)


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
