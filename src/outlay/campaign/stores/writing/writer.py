"""Group commit: one thread writes, and takes all that has come in while it wrote as its next transaction.

One writer serves all campaigns of a store. A single caller is served at once, in its own thread; under load a batch
forms while the disk is busy with the last, and those who were just answered have a moment to come back. What a
caller gave up waiting for is not done, or is undone: pulls that nobody received are voided with the next batch.
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

from outlay.campaign.ledger.commands import Command
from outlay.campaign.records import Reply
from outlay.campaign.stores.plain import plain
from outlay.campaign.stores.protocol import FORKED
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.fairness import fair
from outlay.campaign.stores.writing.gate import Bell, Gate
from outlay.campaign.stores.writing.job import Job, settle_all
from outlay.errors import QueueFull, StoreBusy, StoreError

MOST_WAITING = 10_000  # jobs that may wait; more are refused, and may be tried again
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
        self._idle = False  # nobody is served
        self._alone = False  # a caller serves himself
        self._answered = 0  # callers, at the end of the last batch
        self._dropped: deque[Book] = deque()  # campaigns that nobody holds any more
        _writers.add(self)
        threading.Thread(target=self._work, name=f"outlay {name}", daemon=True).start()

    def call(self, book: Book, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """The replies, when they are kept; StoreBusy where that takes longer than `timeout` seconds."""
        job = Job(book, [plain(command) for command in commands])
        if timeout is not None or not self._serve_alone(job):
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

    def _serve_alone(self, job: Job) -> bool:
        """Serve a caller in its own thread, where nobody else is about; whether that was so, and it is done.

        To wake another thread and be woken by it takes as long as all else that is done for a command. The main thread
        hears Ctrl-C, which must not come between a COMMIT and its answer.
        """
        if self._answered > 1 or _is_main() or os.getpid() != self._process:
            return False
        with self._mutex:
            if not self._idle or self._waiting or job.book.closed:
                return False
            self._idle, self._alone = False, True
        try:
            self._serve([job])
        finally:
            with self._mutex:
                self._alone, self._answered = False, 1
                job.answered = not job.left
                if job.error is not None:
                    self._take_back(job)
                self._idle = True
                if self._waiting or self._dropped:
                    self._wake()
        return job.answered

    def _await(self, job: Job, timeout: float | None) -> None:
        # Ctrl-C must not come between a gate that opens and passing that on.
        own = Gate() if job.leaving or _is_main() else None
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
        pulls = job.unreceived()
        if pulls:
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
            with self._mutex:
                if not self._alone:
                    self._idle = not self._waiting and not self._dropped
                rest = self._idle or self._alone
            if rest:
                self._bell.wait()
            else:
                over = self._serve_waiting()
        self._idle = True

    def _serve_waiting(self) -> bool:
        """One batch; True where the last campaign was let go."""
        gate, jobs = self._take()
        stay = [job for job in jobs if not job.leaving]
        if stay:
            self._serve(stay)
        unfinished = [job for job in stay if job.left]
        books = {job.book for job in unfinished}
        self._put_back(gate, [*unfinished, *(job for job in jobs if job.leaving and job.book in books)])
        answered = [job for job in stay if job not in unfinished] if unfinished else stay
        if self._answer(gate, answered, last=len(stay) == len(jobs)):
            return False
        over = False
        for job in jobs:
            if job.leaving and job.book not in books:
                over |= self._let_go(job.book)
                self._answer(Gate(), [job])
        while self._dropped and not unfinished:
            over |= self._let_go(self._dropped.popleft())
        return over

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
        self._gather()
        with self._mutex:
            jobs, rest = fair(self._waiting)
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

    def _answer(self, gate: Gate, jobs: list[Job], last: bool = False) -> bool:
        """Wake the callers: one for all who wait at the gate, one for each event loop.

        Where they are the `last` of a batch and nobody waits, True: whoever is answered may then serve himself.
        """
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
            self._idle = idle = last and not self._waiting and not self._dropped
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
        return idle


def _is_main() -> bool:
    """Whether this is the thread that hears Ctrl-C."""
    return threading.get_ident() == threading.main_thread().ident


def _wait(done: Callable[[], object], deadline: float) -> None:
    """Wait until it is so, or until then: no gate is opened for that."""
    while not done() and time.monotonic() < deadline:
        time.sleep(MOMENT)
