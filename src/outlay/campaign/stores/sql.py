"""A ledger in a database, as its users see it: commands go to the store's writer, and reading goes past it."""

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

from outlay.campaign.calendar import MICROS
from outlay.campaign.clock import Clock
from outlay.campaign.ledger.commands import Command, Open
from outlay.campaign.ledger.events import Record
from outlay.campaign.ledger.state import State
from outlay.campaign.ledger.windows import as_of
from outlay.campaign.records import Found, PullFilter, Reply, Status, status_of
from outlay.campaign.stores.db import rows
from outlay.campaign.stores.db.database import at_one_moment, in_plain_words
from outlay.campaign.stores.db.finding import page
from outlay.campaign.stores.listeners import Listener
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.shared import held
from outlay.policies.protocol import Policy

CHUNK = 2000  # events read at a time


class SqlLedger:
    """One campaign in a database; `opening` makes it where it is not there, and is None to insist that it is.

    A ledger that is dropped without `close` lets go of its store when it is collected.
    """

    def __init__(
        self, store: object, name: str, opening: Open | None, policy: Policy | None = None, clock: Clock | None = None
    ) -> None:
        self._store = held(store, new=opening is not None)
        self._book = Book(name, opening, policy, clock)
        self._dropped = weakref.finalize(self, self._store.writer.drop, self._book)
        self._dropped.atexit = False
        try:
            self.transact(())
        except BaseException:
            self.close()
            raise

    def transact(self, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """Each command's reply, or the error that it met, once it is kept."""
        return self._store.writer.call(self._book, commands, timeout)

    def submit(self, commands: Sequence[Command]) -> Future[list[Reply]]:
        """The same, later."""
        return self._store.writer.submit(self._book, commands)

    async def atransact(self, commands: Sequence[Command]) -> list[Reply]:
        """The same for asyncio."""
        return await self._store.writer.acall(self._book, commands)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have a function called with what is written from now on; call what is returned to end that."""
        self._book.listeners.append(listener)
        return lambda: self._book.listeners.remove(listener)

    def state(self) -> State:
        """Where the campaign stands, from its rows; without what its policy knows."""
        engine = self._store.engine
        with in_plain_words(engine), at_one_moment(engine) as connection:
            state = rows.state_of(connection, self._book.name)
        assert state is not None  # noqa: S101 (it was found or made at the start)
        return state

    def status(self) -> Status:
        """The same for users."""
        return status_of(as_of(self.state(), int(time.time() * MICROS)))

    def records(self, after: int = 0) -> Iterator[Record]:
        """The events after the first `after`, in order."""
        engine = self._store.engine
        while True:
            with in_plain_words(engine), at_one_moment(engine) as connection:
                chunk = list(rows.events(connection, self._book.number, after, CHUNK))
            yield from chunk
            if len(chunk) < CHUNK:
                return
            after = chunk[-1].seq

    def find(self, wanted: PullFilter) -> Iterator[Found]:
        """The decisions that are wanted, a page at a time."""
        engine, left, after = self._store.engine, wanted.limit, wanted.after
        while left != 0:
            most = CHUNK if left is None or wanted.tag is not None else min(CHUNK, left)
            with in_plain_words(engine), at_one_moment(engine) as connection:
                found, going_on = page(connection, self._book.number, wanted._replace(after=after), most)
            yield from found[:left]
            if going_on is None:
                return
            left, after = None if left is None else max(0, left - len(found)), going_on

    def close(self) -> None:
        """Write what waits, and let the store go; in a forked process it is not ours to let go."""
        if self._dropped.detach() is not None:
            self._store.writer.close(self._book)
