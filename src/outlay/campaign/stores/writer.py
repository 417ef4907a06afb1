"""Group commit: one thread writes, and takes all that has come in while it wrote as its next transaction.

There is no timer. A single caller is served at once; under load a batch forms while the disk is busy with the last.
"""

import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from outlay.campaign.ledger.commands import Command
from outlay.campaign.replies import Reply
from outlay.campaign.stores.batch import settled_first
from outlay.campaign.stores.protocol import FORKED
from outlay.errors import NotNow, StoreError

MOST_WAITING = 10_000  # groups of commands that may wait; more are refused, and may be tried again
LARGEST = 256  # commands in one transaction, a last group that is larger aside

Group = tuple[Sequence[Command], Future[list[Reply]]]


class Writer:
    """A thread that hands groups of commands to `transact`, many at a time, and gives each caller its replies."""

    def __init__(self, transact: Callable[[list[Command]], list[Reply]], name: str) -> None:
        self._transact = transact
        self._queue: queue.Queue[Group | None] = queue.Queue(MOST_WAITING)
        self._process = os.getpid()
        self._gate = threading.Lock()  # nothing comes in behind the mark that closing leaves
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=f"outlay {name}", daemon=True)
        self._thread.start()

    def submit(self, commands: Sequence[Command]) -> Future[list[Reply]]:
        """The replies to be: each a value or an error; the future fails where nothing could be written."""
        if os.getpid() != self._process:
            raise StoreError(FORKED)
        future: Future[list[Reply]] = Future()
        with self._gate:
            if self._closed:
                raise StoreError("the campaign was disconnected: open it anew")
            try:
                self._queue.put_nowait((commands, future))
            except queue.Full:
                raise NotNow(f"{MOST_WAITING} commands wait to be written", 0.1) from None
        return future

    def close(self) -> bool:
        """Write what waits, and end the thread; False in a forked process, which has no such thread."""
        if os.getpid() != self._process:
            return False
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()
        return True

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            groups, more = self._drain(first)
            self._serve([group for group in groups if group[1].set_running_or_notify_cancel()])
            if not more:
                return

    def _drain(self, first: Group) -> tuple[list[Group], bool]:
        """What waits, up to a transaction's worth, and whether there may be more to come."""
        groups, size = [first], len(first[0])
        while size < LARGEST:
            try:
                group = self._queue.get_nowait()
            except queue.Empty:
                break
            if group is None:
                return groups, False
            groups.append(group)
            size += len(group[0])
        return groups, True

    def _serve(self, groups: list[Group]) -> None:
        """One transaction for those who still wait; none can give up once it has begun."""
        order = settled_first([commands for commands, _ in groups])
        try:
            replies = self._transact([command for i in order for command in groups[i][0]])
        except BaseException as error:  # everyone in the batch must hear of it; the thread goes on
            for _, future in groups:
                future.set_exception(error)
            return
        start = 0
        for i in order:
            commands, future = groups[i]
            future.set_result(replies[start : start + len(commands)])
            start += len(commands)
