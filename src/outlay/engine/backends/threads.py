"""Batches on threads: compiled loops release the interpreter's lock, so every core works.

A compiled loop cannot be interrupted, so each thread asks for slices of about 30 ms and looks up in between. Ctrl-C
stops every thread at its next look, waits for them, and only then goes on to the caller.
"""

import os
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from outlay.engine.batch import Batch, batches_of
from outlay.engine.progress import Report
from outlay.engine.task import Task

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
