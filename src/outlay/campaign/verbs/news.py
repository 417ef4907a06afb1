"""What this process did to a campaign, made known: who waits for a pull or watches the events hears of it at once."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import count
from weakref import WeakValueDictionary

from outlay.campaign import log
from outlay.campaign.ledger.events import Asked, Record


class Changes:
    """Says when the ledger may have changed, to whoever waits for it in this process.

    Changes are many and waiters few, so `announce` takes the lock only if somebody waits. None is missed: a waiter is
    in the list before it looks at the number of the last change, and that is set before the list is looked at.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._waiting: list[Future[None]] = []
        self.seen = 0  # another number after each change

    def announce(self) -> None:
        """Something was written."""
        self.seen = next(self._numbers)
        if self._waiting:
            with self._lock:
                waiting, self._waiting = self._waiting, []
            for future in waiting:
                future.set_result(None)

    def after(self, seen: int) -> Future[None]:
        """Done as soon as there was a change after this number was seen; `forget` it if it is no longer wanted."""
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append(future)
        if self.seen != seen and self.forget(future):
            future.set_result(None)
        return future

    def forget(self, future: Future[None]) -> bool:
        """Nobody waits for it any more; False where it was done meanwhile."""
        with self._lock:
            waits = future in self._waiting
            if waits:
                self._waiting.remove(future)
        return waits

    def __len__(self) -> int:
        return len(self._waiting)


class News:
    """`written`: there are events. `settled`: among them one that may have made room for other pulls."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.written, self.settled = Changes(), Changes()

    def hear(self, records: Sequence[Record]) -> None:
        """These events were committed."""
        log.written(self._name, records)
        self.written.announce()
        for record in records:
            if type(record.event) is not Asked:
                self.settled.announce()
                return


_shared: WeakValueDictionary[tuple[str, str], News] = WeakValueDictionary()
_lock = threading.Lock()


def news_of(store: str | None, name: str) -> News:
    """The news of a campaign: all who opened it in this process, at the same address, share them."""
    if store is None:
        return News(name)
    with _lock:
        return _shared.setdefault((store, name), News(name))
