"""The stores that this process has open: one engine, one writing connection and one writer each, for all campaigns.

A batch is one transaction: lock its campaigns, catch up, decide, write, commit, then answer. Events and the rows
derived from them are written together or not at all; where COMMIT fails, everyone hears of it.
"""

import os
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from sqlalchemy.engine import Connection, Engine

from outlay.campaign.stores.db import rows, sqlite_file
from outlay.campaign.stores.db.address import parsed
from outlay.campaign.stores.db.database import (
    connect,
    in_plain_words,
    is_rival,
    is_sqlite,
    lost,
    of_one_job,
    refusals,
    where,
)
from outlay.campaign.stores.db.driver import Talk, talk
from outlay.campaign.stores.db.locking import Found, lock
from outlay.campaign.stores.db.turns import Turns
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.job import Job
from outlay.campaign.stores.writing.share import Share
from outlay.campaign.stores.writing.writer import Writer
from outlay.errors import StoreError

PATIENCE = 60.0  # seconds to go on trying while a server is away
HELD = 1.0  # seconds that one transaction decides: others wait for it, and a server ends one that is silent for long

Key = tuple[int, str, sqlite_file.Identity | None]  # the process, the address, and which file has it
_stores: dict[Key, "SharedStore"] = {}
_registry = threading.Lock()


def _begin_anew() -> None:
    """In a forked process: the lock may be held by a thread that is gone. What was open stays, and is not touched."""
    global _registry
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)


def held(store: object, new: bool) -> "SharedStore":
    """The store of this address, for one campaign more; `new`, it may be made."""
    while True:
        key = _key(store, new)  # which has checked the address
        with _registry:
            shared = _stores.get(key)
            if shared is not None:
                shared.campaigns += 1
                return shared
        engine = connect(store, new=new)
        if is_sqlite(engine):
            key = _key(store, new)
        with _registry:
            if key not in _stores:
                _stores[key] = SharedStore(engine, key)
                return _stores[key]
        engine.dispose()  # somebody else was faster


def queue_depth(store: str) -> int:
    """How many commands of this process wait to be written to the store of this address."""
    with _registry:
        shared = _stores.get(_key(store, new=True))
    return 0 if shared is None else shared.writer.depth


def _key(store: object, new: bool) -> Key:
    url = parsed(store, "Campaign" if new else "Campaign.open")
    if url.get_backend_name() != "sqlite":
        return os.getpid(), url.render_as_string(hide_password=False), None
    path = sqlite_file.checked_path(url, new)
    return os.getpid(), str(path), sqlite_file.identity(path)


class SharedStore:
    """A store that is open; it closes with the last campaign that is let go."""

    def __init__(self, engine: Engine, key: Key) -> None:
        self.engine, self._key = engine, key
        self.campaigns = 1  # that use it
        self._unanswered: str | None = None  # the name of a transaction whose COMMIT may have come to pass
        self._connection: Connection | None = None
        self._talking: Talk
        self._file = where(engine) if is_sqlite(engine) else None
        self._turns = None if self._file is None else Turns(Path(self._file))
        self._me, self._batches = uuid.uuid4().hex[:20], count()
        self.writer = Writer(self._serve, self._leave, where(engine))

    def _leave(self, book: Book) -> bool:
        """One campaign less; True where it was the last, and all is let go."""
        book.closed = True
        book.forget()
        with _registry:
            self.campaigns -= 1
            if self.campaigns:
                return False
            del _stores[self._key]
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()
        if self._turns is not None:
            self._turns.close()
        return True

    def _serve(self, jobs: list[Job]) -> None:
        """One transaction for all; but one for each who opened the same campaign again, and knows it for himself."""
        rounds: list[dict[str, Share]] = []
        for book, theirs in _by_book(jobs).items():
            share = Share(book, theirs)
            free = next((shares for shares in rounds if book.name not in shares), None)
            if free is None:
                rounds.append({book.name: share})
            else:
                free[book.name] = share
        for shares in rounds:
            # In the same order everywhere, so that no two processes wait for each other.
            self._serve_all(sorted(shares.values(), key=lambda share: (share.book.id or 0, share.book.name)))

    def _serve_all(self, shares: list[Share]) -> None:
        """One transaction; where something fails that is no fault of the store, one for each job."""
        try:
            self._within_patience(shares)
        except BaseException as error:  # everyone in the batch must hear of it; the thread goes on
            for share in shares:
                share.refuse(error)
            each = [(share, job) for share in shares for job in share.jobs]
            if len(each) > 1 and of_one_job(error):
                for share, job in each:
                    job.error = None
                    self._serve_all([Share(share.book, [job])])
            return
        for share in shares:
            if share.error is None:
                share.answer()
                share.book.tidy()

    def _within_patience(self, shares: list[Share]) -> None:
        """`_transact`, tried again while a server is away or others are in the way, never done twice."""
        deadline = time.monotonic() + PATIENCE
        pause = 0.05
        self._unanswered = None
        while True:
            opening = any(share.book.id is None for share in shares)
            try:
                self._transact(shares)
                return
            except refusals(self.engine) as error:
                self._forget(shares)
                rivalled = opening and is_rival(error)  # somebody opened the campaign at the same moment
                if is_sqlite(self.engine) or not (lost(error) or rivalled) or time.monotonic() > deadline:
                    with in_plain_words(self.engine):
                        raise
                time.sleep(pause)
                pause = min(2.0, pause * 2)
            except BaseException:
                self._forget(shares)
                raise

    def _transact(self, shares: list[Share]) -> None:
        if self._connection is None:
            self._connection = self.engine.connect()
            self._talking = talk(self._connection)
        talking = self._talking
        batch = f"{self._me}-{next(self._batches):x}"
        if self._turns is not None:  # several processes may share a file; a server has an order of its own
            self._turns.begin()
        try:
            found = lock(talking, [share.book.wanted for share in shares])
            if not self._is_kept(talking.connection, shares, found):
                self._unanswered = None
                for share, there in zip(shares, found, strict=True):
                    share.decide(talking.connection, there, batch, HELD / len(shares))
                self._write(talking, shares, batch)
            self._check_file()
            talking.commit()
            talking.hear()
        finally:
            if self._turns is not None:
                self._turns.end()
        if talking.connection.in_transaction():  # which has ended, also in SQLAlchemy's eyes
            talking.connection.commit()

    def _write(self, talking: Talk, shares: list[Share], batch: str) -> None:
        written = []
        for share in shares:
            if share.error is None and share.done is not None and share.done.records:
                share.book.keep_snapshot(talking.connection)
                written.append(rows.Written(share.book.number, share.book.known(), share.done.records, batch))
        if written:
            self._unanswered = batch
            rows.write(talking, written)

    def _check_file(self) -> None:
        """Refuse to go on with a file that has lost its name: what is written there is found by nobody."""
        if self._file is not None and sqlite_file.identity(self._file) != self._key[2]:
            raise StoreError(f"{self._file} was removed or replaced while it was open: open the campaign anew")

    def _is_kept(self, connection: Connection, shares: list[Share], found: Sequence[Found | None]) -> bool:
        """Whether the batch whose COMMIT was not answered is in the ledger: all of it is, or nothing."""
        if self._unanswered is None:
            return False
        for share, there in zip(shares, found, strict=True):
            if there is not None and share.done is not None and share.done.records:
                # The first: those that follow may have been wanted by others, who saw to them themselves.
                return rows.writer_of(connection, there.id, share.done.records[0].seq) == self._unanswered
        return False

    def _forget(self, shares: list[Share]) -> None:
        """Drop what is known: the ledger knows better."""
        for share in shares:
            share.book.forget()
        if self._connection is not None:
            if self._file is not None:  # or a cursor that an error holds on to would hold on to the file's lock
                with suppress(*refusals(self.engine)):  # it is closed all the same
                    self._connection.connection.rollback()
            self._connection.invalidate()
            self._connection.close()
            self._connection = None


def _by_book(jobs: list[Job]) -> dict[Book, list[Job]]:
    books: dict[Book, list[Job]] = {}
    for job in jobs:
        books.setdefault(job.book, []).append(job)
    return books
