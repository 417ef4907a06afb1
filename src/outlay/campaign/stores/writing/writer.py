"""Group commit: one thread writes, and takes all that has come in while it wrote as its next transaction.

One writer serves all campaigns of a store. A single caller is served at once; under load a batch forms while the disk
is busy with the last, and those who were just answered are given a moment to come back. What a caller gave up waiting
for is not done, or is undone: pulls that nobody received are voided with the next batch.
"""

import asyncio
import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from weakref import WeakSet

from outlay.campaign.answers.replies import Reply
from outlay.campaign.ledger.commands import Command
from outlay.campaign.stores.plain import plain
from outlay.campaign.stores.protocol import FORKED
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.gate import Bell, Gate
from outlay.campaign.stores.writing.job import Job, settle_all
from outlay.errors import QueueFull, StoreBusy, StoreError

MOST_WAITING = 10_000  # jobs that may wait; more are refused, and may be tried again
LARGEST = 256  # commands in one transaction, a last job that is larger aside
AT_THE_END = 2.0  # seconds that the end of the process waits for what is being written
MOMENT = 5e-5  # seconds: little beside a transaction, and enough for a thread that was woken to ask again


_writers: WeakSet["Writer"] = WeakSet()


def _finish() -> None:
    """When the process ends, have the writers finish: with them would go the word that nobody received a pull."""
    deadline = time.monotonic() + AT_THE_END
    for writer in list(_writers):
        writer.rest(deadline)


atexit.register(_finish)


class Writer:
    """A thread that hands jobs to `serve`, many at a time, and wakes their callers.

    `serve` gives each job its replies or its error, and `leave` lets a campaign go: True where it was the last.
    """

    def __init__(self, serve: Callable[[list[Job]], None], leave: Callable[[Book], bool], name: str) -> None:
        self._serve, self._leave = serve, leave
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._waiting: list[Job] = []
        self._gate = Gate()  # where those wait who will be in the next batch
        self._bell = Bell()  # where the writer waits
        self._idle = False
        self._answered = 0  # callers, at the end of the last batch
        self._dropped: deque[Book] = deque()  # campaigns that nobody holds any more
        _writers.add(self)
        threading.Thread(target=self._work, name=f"outlay {name}", daemon=True).start()

    def call(self, book: Book, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """The replies, when they are kept; StoreBusy where that takes longer than `timeout` seconds."""
        job = Job(book, [plain(command) for command in commands])
        self._await(job, timeout)
        return job.outcome()

    def submit(self, book: Book, commands: Sequence[Command]) -> Future[list[Reply]]:
        """The same, later; the future can be cancelled until it is done."""
        job = Job(book, [plain(command) for command in commands])
        promise: Future[list[Reply]] = Future()
        job.promise = promise
        self._enter(job)
        return promise

    async def acall(self, book: Book, commands: Sequence[Command]) -> list[Reply]:
        """The same in an event loop."""
        job = Job(book, [plain(command) for command in commands])
        job.future = asyncio.get_running_loop().create_future()
        try:
            self._enter(job)
            return await job.future
        except BaseException:
            self._give_up(job)
            raise

    def close(self, book: Book) -> None:
        """Write what waits for a campaign, and let it go; a forked process has nothing to let go."""
        if os.getpid() == self._process:
            self._await(Job(book, (), leaving=True), None)

    def drop(self, book: Book) -> None:
        """Let a campaign go that nobody holds any more. It takes no lock, for it may be called while ours is held."""
        self._dropped.append(book)
        self._bell.open()

    @property
    def depth(self) -> int:
        """How many jobs wait."""
        return len(self._waiting)

    def rest(self, deadline: float) -> None:
        """Wait until there is nothing to write, or until then."""
        _wait(lambda: self._idle or os.getpid() != self._process, deadline)

    def _await(self, job: Job, timeout: float | None) -> None:
        # Ctrl-C, which only the main thread hears, must not come between a gate that opens and passing that on.
        alone = job.leaving or threading.get_ident() == threading.main_thread().ident
        own = Gate() if alone else None
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            self._enter(job, own)
            while not job.answered:
                assert job.gate is not None  # noqa: S101 (it has entered)
                through = job.gate.wait(None if deadline is None else deadline - time.monotonic())
                if not through and not job.answered:
                    raise StoreBusy(f"the store of campaign {job.book.name!r} did not answer within {timeout:g} s")
        except BaseException as error:
            self._give_up(job)
            if not isinstance(error, Exception) and job.gate is not None:
                # Ctrl-C, which may end the process, and one of multiprocessing ends without `atexit`.
                _wait(lambda: job.answered and not job.book.unwanted, time.monotonic() + AT_THE_END)
            raise

    def _enter(self, job: Job, own: Gate | None = None) -> None:
        if os.getpid() != self._process:
            raise StoreError(FORKED)
        with self._mutex:
            if job.book.closed:
                raise StoreError("the campaign was disconnected: open it anew")
            if len(self._waiting) >= MOST_WAITING and not job.leaving:
                raise QueueFull(f"{MOST_WAITING} commands wait to be written", 0.1)
            job.book.closed = job.leaving
            job.gate = own or self._gate
            self._waiting.append(job)
            self._wake()

    def _give_up(self, job: Job) -> None:
        """Nobody waits for this job any more: it is left out, or what it was given is taken back."""
        with self._mutex:
            job.given_up = True
            if job.answered:
                self._take_back(job)

    def _take_back(self, job: Job) -> None:
        if pulls := job.unreceived():
            job.book.unwanted += pulls
            self._waiting.append(Job(job.book, ()))
            self._wake()

    def _wake(self) -> None:
        if self._idle:  # Ctrl-C may come in between: a bell that rings twice harms nobody, one that never does all
            self._bell.open()
            self._idle = False

    def _work(self) -> None:
        """Until the last campaign was let go."""
        over = False
        while not over:
            gate, jobs = self._take()
            stay = [job for job in jobs if not job.leaving]
            if stay:
                self._serve(stay)
            unfinished = [job for job in stay if job.left]
            books = {job.book for job in unfinished}
            self._put_back(gate, [*unfinished, *(job for job in jobs if job.leaving and job.book in books)])
            self._answer(gate, [job for job in stay if job not in unfinished])
            for job in jobs:
                if job.leaving and job.book not in books:
                    over |= self._let_go(job.book)
                    self._answer(Gate(), [job])
            while self._dropped and not unfinished:
                over |= self._let_go(self._dropped.popleft())
            del jobs, stay, unfinished, books  # while we wait, they would keep alive what belongs to others
        self._idle = True

    def _put_back(self, gate: Gate, jobs: list[Job]) -> None:
        """Let jobs be first again, of which something is left to be done, and those who leave when it is."""
        if jobs:
            with self._mutex:
                self._waiting = [*jobs, *self._waiting]
                for job in jobs:
                    job.gate = self._gate if job.gate is gate else job.gate

    def _let_go(self, book: Book) -> bool:
        before = 0
        while book.unwanted and len(book.unwanted) != before:  # as long as some are voided
            before = len(book.unwanted)
            self._serve([Job(book, ())])
        return self._leave(book)

    def _take(self) -> tuple[Gate, list[Job]]:
        """What waits, up to a transaction's worth, and the gate of those who wait for it."""
        with self._mutex:
            self._idle = not self._waiting and not self._dropped
        if self._idle:
            self._bell.wait()
        self._gather()
        with self._mutex:
            self._idle = False
            jobs, rest = _fair(self._waiting)
            gate, self._gate, self._waiting = self._gate, Gate(), rest
            for job in rest:
                job.gate = self._gate if job.gate is gate else job.gate
        return gate, jobs

    def _gather(self) -> None:
        """While those who were answered last come back, one after another, wait for the others.

        Otherwise who is first has a transaction to himself, and all others have to wait for it: of eight threads on a
        server, one and seven would take turns, and each would be served at half the pace.
        """
        seen = 0
        while seen < len(self._waiting) < self._answered:
            seen = len(self._waiting)
            time.sleep(MOMENT)

    def _answer(self, gate: Gate, jobs: list[Job]) -> None:
        """Wake the callers: one for all who wait at the gate, one for each event loop."""
        self._answered = len(jobs)
        loops: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        lost: list[Job] = []
        for job in jobs:
            if job.future is not None:
                loops.setdefault(job.future.get_loop(), []).append(job)
            elif not job.keep_promise():
                lost.append(job)
        with self._mutex:
            for job in jobs:
                job.answered = True
            for job in jobs:
                if job.given_up or job.error is not None:
                    self._take_back(job)
        for loop, theirs in loops.items():
            try:
                loop.call_soon_threadsafe(settle_all, theirs)
            except RuntimeError:  # the loop was closed
                lost += theirs
        for job in lost:
            self._give_up(job)
        for job in jobs:
            if job.gate is not None and job.gate is not gate:
                job.gate.open()
        gate.open()


def _wait(done: Callable[[], object], deadline: float) -> None:
    """Wait until it is so, or until then: no gate is opened for that."""
    while not done() and time.monotonic() < deadline:
        time.sleep(MOMENT)


def _fair(waiting: list[Job]) -> tuple[list[Job], list[Job]]:
    """Those to serve now and those to serve later: where there are too many, campaigns take turns."""
    if sum(len(job.left) for job in waiting) <= LARGEST:
        return waiting, []
    queues: dict[Book, deque[Job]] = {}
    for job in waiting:
        queues.setdefault(job.book, deque()).append(job)
    now: list[Job] = []
    size = 0
    while size < LARGEST and queues:
        for book in list(queues):
            now.append(queues[book].popleft())
            size += len(now[-1].left)
            if not queues[book]:
                del queues[book]
            if size >= LARGEST:
                break
    served = {job.book for job in now}  # their next turn comes after that of the others
    return now, [queues[book][i] for book in sorted(queues, key=served.__contains__) for i in range(len(queues[book]))]
