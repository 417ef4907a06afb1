"""A ledger in a database. A batch of commands is one transaction: lock, catch up, decide, write, commit, then answer.

All campaigns that this process has open in a store share one engine, one writing connection and one writer. Events and
the rows derived from them are written together or not at all; where COMMIT fails, everyone hears of it. What is known
of a campaign is a cache: each transaction starts by folding in the events that other processes have written since, and
where one fails, what was known is dropped and read again.
"""

import logging
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from pathlib import Path

from sqlalchemy.engine import Connection, Engine

from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.decide import step
from outlay.campaign.ledger.events import Ask, Cancel, Command, Open, Record
from outlay.campaign.ledger.state import State
from outlay.campaign.ledger.windows import MICROS, as_of
from outlay.campaign.records import Found, PullFilter, Reply, Status, status_of
from outlay.campaign.stores import queries, sqlite
from outlay.campaign.stores.base import Clock, Done, Listener, announce, plain, run
from outlay.campaign.stores.engines import (
    connect,
    is_rival,
    is_sqlite,
    lost,
    of_one_request,
    parsed,
    read_snapshot,
    refusals,
    translated_errors,
    where,
)
from outlay.campaign.stores.queries import LockedCampaign, LockRequest, Written, statement_batch
from outlay.campaign.stores.writer import Writer, WriteRequest
from outlay.campaign.waiting import log
from outlay.errors import NoCampaign, OutlayError, StoreError
from outlay.policies.protocol import Policy

CHUNK = 2000  # events read at a time
RETRY_FOR = 60.0  # seconds to go on trying while a server is away
HELD = 1.0  # seconds that one transaction decides: others wait for it, and a server ends one that is silent for long
KEPT = 10_000  # settled pulls at hand
EVERY = 4096  # events from one snapshot to the next, at least
BYTES_PER_EVENT = 2048  # that a snapshot may cost on average
UNRECEIVED = "nobody received it"  # why a pull is cancelled whose asker gave up


class SqlLedger:
    """One campaign in a database; `opening` makes it where it is not there, and is None to insist that it is.

    A ledger that is dropped without `close` lets go of its store when it is collected.
    """

    def __init__(
        self, store: object, name: str, opening: Open | None, policy: Policy | None = None, clock: Clock | None = None
    ) -> None:
        self._database = open_database(store, new=opening is not None)
        self._cached = CachedLedger(name, opening, policy, clock)
        self._dropped = weakref.finalize(self, self._database.writer.drop, self._cached)
        self._dropped.atexit = False
        try:
            self.transact(())
        except BaseException:
            self.close()
            raise

    def transact(self, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """Each command's reply, or the error that it met, once it is kept."""
        return self._database.writer.call(self._cached, commands, timeout)

    def submit(self, commands: Sequence[Command]) -> Future[list[Reply]]:
        """The same, later."""
        return self._database.writer.submit(self._cached, commands)

    async def atransact(self, commands: Sequence[Command]) -> list[Reply]:
        """The same for asyncio."""
        return await self._database.writer.acall(self._cached, commands)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have a function called with what is written from now on; call what is returned to end that."""
        self._cached.listeners.append(listener)
        return lambda: self._cached.listeners.remove(listener)

    def state(self) -> State:
        """Where the campaign stands, from its rows; without what its policy knows."""
        with read_snapshot(self._database.engine) as connection:
            state = queries.state_of(connection, self._cached.name)
        assert state is not None  # noqa: S101 (it was found or made at the start)
        return state

    def status(self) -> Status:
        """The same for users."""
        return status_of(as_of(self.state(), int(time.time() * MICROS)))

    def records(self, after: int = 0) -> Iterator[Record]:
        """The events after the first `after`, in order."""
        engine = self._database.engine
        while True:
            with read_snapshot(engine) as connection:
                chunk = list(queries.events(connection, self._cached.number, after, CHUNK))
            yield from chunk
            if len(chunk) < CHUNK:
                return
            after = chunk[-1].seq

    def find(self, wanted: PullFilter) -> Iterator[Found]:
        """The pulls that are wanted, a page at a time."""
        engine, left, after = self._database.engine, wanted.limit, wanted.after
        while left != 0:
            most = CHUNK if left is None or wanted.tag is not None else min(CHUNK, left)
            with read_snapshot(engine) as connection:
                found, going_on = queries.find(connection, self._cached.number, wanted._replace(after=after), most)
            yield from found[:left]
            if going_on is None:
                return
            left, after = None if left is None else max(0, left - len(found)), going_on

    def close(self) -> None:
        """Write what waits, and let the store go; in a forked process it is not ours to let go."""
        if self._dropped.detach() is not None:
            self._database.writer.close(self._cached)


Key = tuple[int, str, sqlite.Identity | None]  # the process, the address, and which file has it
_databases: dict[Key, "Database"] = {}  # that this process has open
_registry = threading.Lock()


def _begin_anew() -> None:
    """In a forked process: the lock may be held by a thread that is gone. What was open stays, and is not touched."""
    global _registry
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_begin_anew)


def open_database(store: object, new: bool) -> "Database":
    """The store of this address, for one campaign more; `new`, it may be made."""
    while True:
        key = _key(store, new)  # which has checked the address
        with _registry:
            if key in _databases:
                _databases[key].campaigns += 1
                return _databases[key]
        engine = connect(store, new=new)
        if is_sqlite(engine):
            key = _key(store, new)
        with _registry:
            if key not in _databases:
                _databases[key] = Database(engine, key)
                return _databases[key]
        engine.dispose()  # somebody else was faster


def queue_depth(store: str) -> int:
    """How many commands of this process wait to be written to the store of this address."""
    with _registry:
        database = _databases.get(_key(store, new=True))
    return 0 if database is None else database.writer.depth


def _key(store: object, new: bool) -> Key:
    url = parsed(store, "Campaign" if new else "Campaign.open")
    if url.get_backend_name() != "sqlite":
        return os.getpid(), url.render_as_string(hide_password=False), None
    path = sqlite.checked_path(url, new)
    return os.getpid(), str(path), sqlite.identity(path)


class Database:
    """A store that is open; it closes with the last campaign that is let go."""

    def __init__(self, engine: Engine, key: Key) -> None:
        self.engine, self._key = engine, key
        self.campaigns = 1  # that use it
        self._unanswered: str | None = None  # the name of a transaction whose COMMIT may have come to pass
        self._connection: Connection | None = None
        self._file = where(engine) if is_sqlite(engine) else None
        self._turns = None if self._file is None else sqlite.FileTurns(Path(self._file))
        self._me, self._batches = uuid.uuid4().hex[:20], count()
        self.writer: Writer[CachedLedger] = Writer(self._serve, self._leave, where(engine))

    def _leave(self, cached: "CachedLedger") -> bool:
        """One campaign less; True where it was the last, and all is let go."""
        cached.closed = True
        cached.forget()
        with _registry:
            self.campaigns -= 1
            if self.campaigns:
                return False
            del _databases[self._key]
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()
        if self._turns is not None:
            self._turns.close()
        return True

    def _serve(self, requests: list[WriteRequest["CachedLedger"]]) -> None:
        """One transaction for all; but one for each who opened the same campaign again, and knows it for himself."""
        of_each: dict[CachedLedger, list[WriteRequest[CachedLedger]]] = {}
        for request in requests:
            of_each.setdefault(request.campaign, []).append(request)
        rounds: list[dict[str, CampaignBatch]] = []
        for cached, theirs in of_each.items():
            free = next((batches for batches in rounds if cached.name not in batches), None)
            if free is None:
                rounds.append(free := {})
            free[cached.name] = CampaignBatch(cached, theirs)
        for batches in rounds:
            # In the same order everywhere, so that no two processes wait for each other.
            self._serve_all(sorted(batches.values(), key=lambda one: (one.cached.id or 0, one.cached.name)))

    def _serve_all(self, batches: list["CampaignBatch"]) -> None:
        """One transaction; where something fails that is no fault of the store, one for each request."""
        try:
            self._transact_patiently(batches)
        except BaseException as error:  # everyone in the batch must hear of it; the thread goes on
            for batch in batches:
                batch.refuse(error)
            each = [(batch.cached, request) for batch in batches for request in batch.requests]
            if len(each) > 1 and of_one_request(error):
                for cached, request in each:
                    request.error = None
                    self._serve_all([CampaignBatch(cached, [request])])
            return
        for batch in batches:
            if batch.error is None:
                batch.answer()

    def _transact_patiently(self, batches: list["CampaignBatch"]) -> None:
        """`_transact`, tried again while a server is away or others are in the way, never done twice."""
        deadline = time.monotonic() + RETRY_FOR
        pause = 0.05
        self._unanswered = None
        while True:
            opening = any(batch.cached.id is None for batch in batches)
            try:
                self._transact(batches)
                return
            except refusals(self.engine) as error:
                self._forget(batches)
                rivalled = opening and is_rival(error)  # somebody opened the campaign at the same moment
                if is_sqlite(self.engine) or not (lost(error) or rivalled) or time.monotonic() > deadline:
                    with translated_errors(self.engine):
                        raise
                time.sleep(pause)
                pause = min(2.0, pause * 2)
            except BaseException:
                self._forget(batches)
                raise

    def _transact(self, batches: list["CampaignBatch"]) -> None:
        if self._connection is None:
            self._connection = self.engine.connect()
        statements = statement_batch(self._connection)
        name = f"{self._me}-{next(self._batches):x}"
        if self._turns is not None:  # several processes may share a file; a server has an order of its own
            self._turns.begin()
        try:
            found = queries.lock(statements, [batch.cached.lock_request for batch in batches])
            if not self._is_kept(batches, found):
                self._unanswered = None
                written = []
                for batch, there in zip(batches, found, strict=True):
                    batch.decide(self._connection, there, name, HELD / len(batches))
                    if batch.error is None and batch.done is not None and batch.done.records:
                        batch.cached.keep_snapshot(self._connection)
                        written.append(Written(batch.cached.number, batch.cached.known(), batch.done.records, name))
                if written:
                    self._unanswered = name
                    queries.write(statements, written)
            if self._file is not None and sqlite.identity(self._file) != self._key[2]:  # nobody would find it
                raise StoreError(f"{self._file} was removed or replaced while it was open: open the campaign anew")
            statements.commit()
            statements.flush()
        finally:
            if self._turns is not None:
                self._turns.end()
        if self._connection.in_transaction():  # which has ended, also in SQLAlchemy's eyes
            self._connection.commit()

    def _is_kept(self, batches: list["CampaignBatch"], found: Sequence[LockedCampaign | None]) -> bool:
        """Whether the batch whose COMMIT was not answered is in the ledger: all of it is, or nothing."""
        if self._unanswered is None or self._connection is None:
            return False
        for batch, there in zip(batches, found, strict=True):
            if there is not None and batch.done is not None and batch.done.records:
                return queries.writer_of(self._connection, there.id, batch.done.records[0].seq) == self._unanswered
        return False

    def _forget(self, batches: list["CampaignBatch"]) -> None:
        """Drop what is known: the ledger knows better."""
        for batch in batches:
            batch.cached.forget()
        if self._connection is not None:
            if self._file is not None:  # or a cursor that an error holds on to would hold on to the file's lock
                with suppress(*refusals(self.engine)):  # it is closed all the same
                    self._connection.connection.rollback()
            self._connection.invalidate()
            self._connection.close()
            self._connection = None


class CampaignBatch:
    """What a transaction brings for one campaign: the requests of its callers, and what they come to."""

    def __init__(self, cached: "CachedLedger", requests: list[WriteRequest["CachedLedger"]]) -> None:
        self.cached = cached
        # Asks last, when most is known; and after all, who was served in part.
        self.requests = sorted(requests, key=lambda one: (bool(one.replies), isinstance(next(iter(one.left), 0), Ask)))
        self.cancelled = list(cached.undelivered)
        self.done: Done | None = None
        self.taken: list[tuple[WriteRequest[CachedLedger], Sequence[Command]]] = []  # with what is decided of each
        self.error: BaseException | None = None

    def decide(self, connection: Connection, found: LockedCampaign | None, by: str, seconds: float) -> None:
        """Decide for those who still wait; what is wrong with this campaign is its callers' affair alone."""
        self.error, self.done = None, None
        until = time.monotonic() + seconds
        try:
            self.cached.catch_up(connection, found, by)
            self.taken = [(request, request.left) for request in self.requests]
            commands: list[Command] = [Cancel(number, UNRECEIVED) for number in self.cancelled]
            for _, part in self.taken:
                commands += part
            self.done = self.cached.decide(connection, commands, until)
        except OutlayError as error:
            self.refuse(error)

    def answer(self) -> None:
        """Give each request its replies, now that they are kept, and tell the listeners."""
        assert self.done is not None  # noqa: S101 (it was decided)
        replies, start = self.done.replies, len(self.cancelled)
        del self.cached.undelivered[: min(start, len(replies))]
        for request, part in self.taken:
            request.replies += replies[start : start + len(part)]
            start += len(part)
        self.cached.tidy()

    def refuse(self, error: BaseException) -> None:
        """Tell each request why nothing came of it."""
        self.error = error
        self.cached.forget()
        for request in self.requests:
            request.error = error


class CachedLedger:
    """What is known of a campaign: a state that follows the ledger. Only the writer's thread touches it."""

    def __init__(self, name: str, opening: Open | None, policy: Policy | None, clock: Clock | None) -> None:
        self.name, self._policy = name, policy
        self._opening = None if opening is None else plain(opening)
        self._clock = clock or Clock()
        self.closed = False
        self.undelivered: list[int] = []  # pulls that nobody received, to be cancelled with the next batch
        self.listeners: list[Listener] = []
        self.id: int | None = None
        self.shared = False  # whether somebody else had written to it, the last time
        self.state: State | None = None
        self._server_time: int | None = None  # what the server's clock said, where it has one
        self._snapshot, self._every = 0, EVERY
        self._news: list[Record] = []  # that the listeners have not heard of

    @property
    def lock_request(self) -> LockRequest:
        """What there is to say where it is to be locked."""
        return LockRequest(self.name, self.id, self.seq or None, self.shared and self.seq > 0)

    @property
    def seq(self) -> int:
        """The last event that is known; 0 where none is."""
        return 0 if self.state is None else self.state.seq

    @property
    def number(self) -> int:
        """The campaign's number in its database."""
        assert self.id is not None  # noqa: S101 (it was found or made at the start)
        return self.id

    def known(self) -> State:
        """The state."""
        assert self.state is not None  # noqa: S101 (it was found or made in this transaction)
        return self.state

    def catch_up(self, connection: Connection, found: LockedCampaign | None, by: str) -> None:
        """Fold in what others wrote to the campaign, which is locked; open it, if it is new."""
        if found is None:
            self._open(connection, by)
            return
        another, self.id, self._server_time = self.id not in (None, found.id), found.id, found.clock
        self.shared = 0 < self.seq < found.seq
        if self.shared and not found.records:
            found = found._replace(records=list(queries.events(connection, self.number, self.seq)))
        if self.state is not None and (another or not found.continues(self.state.seq, self.state.head)):
            what = "was set back: its ledger had %d events that are not all there any more, and now has %d"
            log(logging.ERROR, self.name, f"{what}; it is read anew", self.state.seq, found.seq)
            self.forget()
        if self.state is None:
            self._load_snapshot(connection)
            self._fold(queries.events(connection, self.number, self.seq))
            if self.seq == found.seq:
                self.keep_snapshot(connection)  # also where nobody writes any more: it is folded once
        elif self.shared:
            self._news += found.records
            self._fold(found.records)
        if self.seq < found.seq:
            raise StoreError(f"{where(connection.engine)}: events of campaign {self.name!r} are missing")

    def decide(self, connection: Connection, commands: Sequence[Command], until: float) -> Done:
        """What the commands come to, those that can be decided until then."""
        state = self.known()
        queries.load_pulls_for(connection, self.number, state, commands)
        done = run(state, commands, self._clock.now(self._server_time, state.at), None, until)
        self._news += done.records
        return done

    def keep_snapshot(self, connection: Connection) -> None:
        """Write what is known now and then, so that opening the campaign reads the last few events."""
        state = self.known()
        if state.seq - self._snapshot < self._every:
            return
        body = snapshot.dump(state)
        if body is not None:
            queries.keep_snapshot(connection, self.number, state.seq, body, self._snapshot)
            self._every = max(EVERY, len(body) // BYTES_PER_EVENT)
        self._snapshot = state.seq

    def tidy(self) -> None:
        """Let go of settled pulls when they are many, and tell the listeners what has been kept."""
        state, news = self.state, self._news
        if state is not None and len(state.pulls) > len(state.pending) + KEPT:
            state.forget_settled()
        self._news = []
        announce(self.name, self.listeners, news)

    def forget(self) -> None:
        """Drop what is known: the ledger knows better."""
        self.state, self._snapshot, self._every, self._news = None, 0, EVERY, []

    def _open(self, connection: Connection, by: str) -> None:
        if self._opening is None:
            raise NoCampaign(f"{where(connection.engine)} has no campaign {self.name!r}")
        now = self._clock.now(queries.clock(connection))
        self.state, records, _ = step(None, self._opening, now, self._policy)
        self.id = queries.make(connection, self.state)
        queries.write_now(connection, Written(self.id, self.state, records, by))

    def _load_snapshot(self, connection: Connection) -> None:
        """Start from the newest snapshot that can be used, if there is one."""
        for seq, body in queries.snapshots(connection, self.number):
            self.state = snapshot.load(body, self._policy)
            if self.state is not None:
                self._snapshot, self._every = seq, max(EVERY, len(body) // BYTES_PER_EVENT)
                return

    def _fold(self, records: Iterable[Record]) -> None:
        for record in records:
            try:
                self.state = apply(self.state, record, self._policy)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                if isinstance(error, OutlayError):
                    raise
                title = f"event {record.seq} of campaign {self.name!r}"
                why = f"it is damaged, or the policy fails at it ({type(error).__name__}: {error})"
                raise StoreError(f"{title} cannot be folded: {why}") from error
