"""Group commit: one thread writes, and takes all that has come in while it wrote as its next transaction.

One writer serves all campaigns of a store. What a caller gave up waiting for is not done, or is undone: pulls that
nobody received are cancelled with the next batch.
"""

import asyncio
import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from weakref import WeakSet

from outlay.campaign.ledger.events import Ask, Command
from outlay.campaign.records import Pull, Reply
from outlay.campaign.stores.base import FORKED
from outlay.errors import QueueFull, StoreBusy, StoreError

if TYPE_CHECKING:
    from outlay.campaign.stores.transaction import CachedLedger

LARGEST = 256  # commands in one transaction, a last request that is larger aside
MOST_WAITING = 10_000  # requests that may wait; more are refused, and may be tried again
COME_BACK = 0.001  # seconds to wait for callers who were just answered, and may have the next command at once
AT_THE_END = 2.0  # seconds that the end of the process waits for what is being written


class WriteRequest:
    """One caller's commands for one campaign, and the future by which the caller hears of the outcome."""

    __slots__ = ("campaign", "commands", "error", "future", "leaving", "replies")

    def __init__(self, campaign: "CachedLedger", commands: Sequence[Command] = (), *, leaving: bool = False) -> None:
        self.campaign, self.commands, self.leaving = campaign, commands, leaving
        self.future: Future[list[Reply]] = Future()
        self.replies: list[Reply] = []
        self.error: BaseException | None = None

    @property
    def left(self) -> Sequence[Command]:
        """What is still to be done of it, as long as somebody waits for the outcome."""
        return () if self.error is not None or self.future.cancelled() else self.commands[len(self.replies) :]

    def answer(self) -> bool:
        """Have the future say what came of it; False where it was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return False
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.replies)
        return True

    def undelivered(self) -> list[int]:
        """The pulls that only the caller could have known of: one with a key can be asked for again, by anybody."""
        answers = zip(self.commands, self.replies, strict=False)
        return [
            reply.id
            for command, reply in answers
            if isinstance(command, Ask) and command.key is None and isinstance(reply, Pull)
        ]


class Writer:
    """A thread that hands requests to `serve`, many at a time, and tells their callers.

    `serve` gives each request its replies or its error, and `leave` lets a campaign go: True where it was the last.
    """

    def __init__(
        self, serve: Callable[[list[WriteRequest]], None], leave: Callable[["CachedLedger"], bool], name: str
    ) -> None:
        self._serve, self._leave = serve, leave
        self._process = os.getpid()
        self._queue: SimpleQueue[WriteRequest] = SimpleQueue()
        self._waiting: dict[CachedLedger, deque[WriteRequest]] = {}  # taken from the queue; campaigns take turns
        self._leaving: set[CachedLedger] = set()  # campaigns that will be let go: what comes after that is refused
        self._open: set[WriteRequest] = set()  # that are not answered, or not taken back yet
        self._last = 0  # requests in the last transaction
        self._over = False
        _writers.add(self)
        threading.Thread(target=self._work, name=f"outlay {name}", daemon=True).start()

    @property
    def depth(self) -> int:
        """How many requests wait for their answer."""
        return sum(not request.future.done() for request in list(self._open))

    def call(self, campaign: "CachedLedger", commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """The replies, when they are kept; StoreBusy where that takes longer than `timeout` seconds."""
        request = WriteRequest(campaign, commands)
        try:
            self._wait(request, timeout)
        except BaseException as error:
            self._give_up(request)
            if isinstance(error, Empty):
                raise StoreBusy(
                    f"the store of campaign {campaign.name!r} did not answer within {timeout:g} s"
                ) from None
            if not isinstance(error, Exception):  # Ctrl-C may end the process, one of multiprocessing without `atexit`
                with suppress(Empty, StoreError):
                    self._wait(WriteRequest(campaign), AT_THE_END)
            raise
        return request.future.result()

    async def acall(self, campaign: "CachedLedger", commands: Sequence[Command]) -> list[Reply]:
        """The same in an event loop."""
        request = WriteRequest(campaign, commands)
        loop = asyncio.get_running_loop()
        answered = loop.create_future()

        def go_on() -> None:
            if not answered.done():
                answered.set_result(None)

        def wake(_: object) -> None:
            try:
                loop.call_soon_threadsafe(go_on)
            except RuntimeError:  # the loop was closed
                self._give_up(request)

        request.future.add_done_callback(wake)
        try:
            self._enter(request)
            await answered
        except BaseException:
            self._give_up(request)
            raise
        return request.future.result()

    def close(self, campaign: "CachedLedger") -> None:
        """Write what waits for a campaign, and let it go; a forked process has nothing to let go."""
        if os.getpid() == self._process:
            self._wait(WriteRequest(campaign, leaving=True), None)

    def drop(self, campaign: "CachedLedger") -> None:
        """Let a campaign go that nobody holds any more: it may be called whenever something is collected."""
        self._queue.put(WriteRequest(campaign, leaving=True))

    def rest(self, deadline: float) -> None:
        """Wait until there is nothing to write, or until then."""
        while self._open and os.getpid() == self._process and time.monotonic() < deadline:
            time.sleep(0.001)

    def _wait(self, request: WriteRequest, timeout: float | None) -> None:
        """Enter a request, and wait until it is answered; Empty where that takes too long.

        Not by the future: its lock could be left locked by Ctrl-C, and the thread that writes would wait for ever.
        """
        answered: SimpleQueue[object] = SimpleQueue()
        request.future.add_done_callback(answered.put)
        self._enter(request)
        answered.get(timeout=None if timeout is None else max(0.0, timeout))

    def _enter(self, request: WriteRequest) -> None:
        if os.getpid() != self._process:
            raise StoreError(FORKED)
        if request.commands and len(self._open) >= MOST_WAITING:
            raise QueueFull(f"{MOST_WAITING} commands wait to be written", 0.1)
        self._open.add(request)
        self._queue.put(request)
        if self._over:  # the thread may have looked for the last time
            self._refuse_rest()

    def _give_up(self, request: WriteRequest) -> None:
        """Nobody waits for this request any more: it is left out, or what it was given is taken back."""
        if not request.future.cancel():
            self._take_back(request)

    def _take_back(self, request: WriteRequest) -> None:
        if pulls := request.undelivered():
            request.campaign.undelivered.extend(pulls)
            self._enter(WriteRequest(request.campaign))

    def _work(self) -> None:
        while not self._over:
            self._serve_next()
        for requests in self._waiting.values():
            self._refuse(requests)
        self._refuse_rest()

    def _serve_next(self) -> None:
        """One transaction; while it waits for the first request, the thread keeps nothing of the last ones alive."""
        batch = self._take()
        if stay := [request for request in batch if not request.leaving]:
            self._serve(stay)
        self._answer(batch)

    def _take(self) -> list[WriteRequest]:
        """What waits, up to a transaction's worth: where there is more, campaigns take turns."""
        new = [] if self._waiting else [self._queue.get()]
        if self._last > 1:  # a transaction for half of them takes nearly as long as one for all
            deadline = time.monotonic() + COME_BACK
            while self._queue.qsize() + len(new) < self._last and time.monotonic() < deadline:
                time.sleep(COME_BACK / 10)
        while not self._queue.empty():
            new.append(self._queue.get())
        for request in new:
            if request.commands and request.campaign in self._leaving:
                self._refuse([request])
                continue
            if request.leaving:
                self._leaving.add(request.campaign)
            self._waiting.setdefault(request.campaign, deque()).append(request)
        batch: list[WriteRequest] = []
        size = 0
        while self._waiting and size < LARGEST:
            campaign = next(iter(self._waiting))
            requests = self._waiting.pop(campaign)
            if campaign.closed:
                self._refuse(requests)
                continue
            batch.append(requests.popleft())
            size += len(batch[-1].left)
            if requests:
                self._waiting[campaign] = requests  # after all others
        self._last = len(batch)
        return batch

    def _answer(self, batch: list[WriteRequest]) -> None:
        """Tell the callers; what is not done comes first the next time, and before its campaign is let go."""
        again = [request for request in batch if request.left]
        unfinished = {request.campaign for request in again}
        again += [request for request in batch if request.leaving and request.campaign in unfinished]
        for request in reversed(again):
            self._waiting.setdefault(request.campaign, deque()).appendleft(request)
        for request in batch:
            if request in again:
                continue
            if request.leaving:
                self._let_go(request.campaign)
            if not request.answer() or request.error is not None:
                self._take_back(request)
            self._open.discard(request)

    def _let_go(self, campaign: "CachedLedger") -> None:
        before = 0
        while campaign.undelivered and len(campaign.undelivered) != before:  # as long as some are cancelled
            before = len(campaign.undelivered)
            self._serve([WriteRequest(campaign)])
        self._over |= self._leave(campaign)
        self._leaving.discard(campaign)

    def _refuse(self, requests: Iterable[WriteRequest]) -> None:
        """Answer those who came when their campaign had been let go."""
        for request in requests:
            request.error = None if request.leaving else StoreError("the campaign was disconnected: open it anew")
            request.answer()
            self._open.discard(request)

    def _refuse_rest(self) -> None:
        while True:
            try:
                self._refuse([self._queue.get_nowait()])
            except Empty:
                return


_writers: WeakSet[Writer] = WeakSet()


@atexit.register
def _finish() -> None:
    """When the process ends, have the writers finish: with them would go the word that nobody received a pull."""
    deadline = time.monotonic() + AT_THE_END
    for writer in list(_writers):
        writer.rest(deadline)
