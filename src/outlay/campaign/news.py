"""What this process did to a campaign, made known: who waits for a pull or watches the events hears of it at once."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from weakref import WeakValueDictionary

from outlay.campaign import log
from outlay.campaign.ledger.commands import Ask, Command
from outlay.campaign.replies import Reply


class Changes:
    """Says when the ledger may have changed, to whoever waits for it in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen = 0
        self._waiting: list[Future[None]] = []

    @property
    def seen(self) -> int:
        """How many changes there were."""
        return self._seen

    def announce(self) -> None:
        """Something was written."""
        with self._lock:
            self._seen += 1
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            future.set_result(None)

    def after(self, seen: int) -> Future[None]:
        """Done as soon as there were more changes than this; `forget` it if it is no longer wanted."""
        future: Future[None] = Future()
        with self._lock:
            if self._seen == seen:
                self._waiting.append(future)
                return future
        future.set_result(None)
        return future

    def forget(self, future: Future[None]) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            if future in self._waiting:
                self._waiting.remove(future)

    def __len__(self) -> int:
        return len(self._waiting)


class News:
    """`written`: a command was answered. `settled`: one that may have made room for other pulls."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.written, self.settled = Changes(), Changes()

    def spread(self, commands: Sequence[Command], replies: Sequence[Reply]) -> None:
        """These commands had these replies; refusals are logged."""
        log.refused(self._name, replies)
        self.written.announce()
        if not all(isinstance(command, Ask) for command in commands):
            self.settled.announce()


_shared: WeakValueDictionary[tuple[str, str], News] = WeakValueDictionary()
_lock = threading.Lock()


def news_of(store: str | None, name: str) -> News:
    """The news of a campaign: all who opened it in this process, at the same address, share them."""
    if store is None:
        return News(name)
    with _lock:
        return _shared.setdefault((store, name), News(name))
