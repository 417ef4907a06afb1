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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from sqlalchemy.engine import Connection, Engine

from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.decide import step
from outlay.campaign.ledger.events import ABOUT_A_PULL, Ask, Cancel, Command, Open, Record, Told
from outlay.campaign.ledger.pool import Pool, check_pool
from outlay.campaign.ledger.state import State
from outlay.campaign.ledger.windows import MICROS, as_of
from outlay.campaign.records import Found, PullFilter, Reply, Status, status_of
from outlay.campaign.stores import engines, queries, sqlite
from outlay.campaign.stores.base import Clock, Done, Listener, announce, run
from outlay.campaign.stores.queries import CHUNK, LockedCampaign, LockRequest, Written, statement_batch
from outlay.campaign.stores.writer import Writer, WriteRequest
from outlay.campaign.waiting import log
from outlay.errors import NoCampaign, OutlayError, StoreError
from outlay.policies.protocol import Policy

RETRY_FOR = 60.0  # seconds to go on trying while a server is away
# One transaction decides no longer than this: others wait for it, and a server ends one that is silent for long.
MAX_SECONDS_PER_TRANSACTION = 1.0
CACHED_PULLS = 10_000  # settled pulls that are kept in memory
SNAPSHOT_INTERVAL = 4096  # events from one snapshot to the next, at least
BYTES_PER_EVENT = 2048  # that a snapshot may cost on average
REASON_UNDELIVERED = "nobody received it"  # of the pull of a caller who gave up


class SqlLedger:
    """One campaign in a database; `opening` makes it where it is not there, and is None to insist that it is.

    A ledger that is dropped without `close` is closed when it is garbage-collected.
    """

    def __init__(
        self, store: object, name: str, opening: Open | None, policy: Policy | None = None, clock: Clock | None = None
    ) -> None:
        self._database = open_database(store, new=opening is not None)
        self._cached = CachedLedger(name, opening, policy, clock)
        if opening is not None and opening.terms.pool is not None:
            self._check_pool(opening, opening.terms.pool)
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

    async def atransact(self, commands: Sequence[Command]) -> list[Reply]:
        """The same for asyncio."""
        return await self._database.writer.acall(self._cached, commands)

    def listen(self, listener: Listener) -> None:
        """Have a function called with what is written from now on."""
        self._cached.listeners.append(listener)

    def state(self) -> State:
        """Where the campaign stands, from its rows; without what its policy knows."""
        with engines.read_snapshot(self._database.engine) as connection:
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
            with engines.read_snapshot(engine) as connection:
                chunk = list(queries.events(connection, self._cached.campaign_id, after, CHUNK))
            yield from chunk
            if len(chunk) < CHUNK:
                return
            after = chunk[-1].seq

    def find(self, wanted: PullFilter) -> Iterator[Found]:
        """The pulls that are wanted, a page at a time."""
        engine, left, after = self._database.engine, wanted.limit, wanted.after
        while left != 0:
            most = CHUNK if left is None or wanted.tag is not None else min(CHUNK, left)
            with engines.read_snapshot(engine) as connection:
                found, going_on = queries.find(connection, self._cached.campaign_id, wanted._replace(after=after), most)
            yield from found[:left]
            if going_on is None:
                return
            left, after = None if left is None else max(0, left - len(found)), going_on

    def _check_pool(self, opening: Open, pool: str) -> None:
        """Refuse a pool that is not there, or could not hold the cap."""
        try:
            with engines.read_snapshot(self._database.engine) as connection:
                state = queries.state_of(connection, pool)
                if state is None:
                    raise NoCampaign(f"{engines.where(connection.engine)} has no campaign {pool!r} to be a pool")
            check_pool(state, opening)
        except BaseException:
            self._database.writer.close(self._cached)
            raise

    def close(self) -> None:
        """Write what waits, and close the campaign; in a forked process, do nothing."""
        if self._dropped.detach() is not None:
            self._database.writer.close(self._cached)


Key = tuple[int, str, sqlite.Identity | None]  # the process, the address, and which file has it
_databases: dict[Key, "Database"] = {}  # that this process has open
_registry = threading.Lock()


def _replace_registry_lock() -> None:
    """In a forked process: the lock may be held by a thread that does not exist there."""
    global _registry
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_replace_registry_lock)


def open_database(store: object, new: bool) -> "Database":
    """The store of this address, with one more campaign counted; where `new`, it may be made."""
    while True:
        key = _key(store, new)  # which has checked the address
        with _registry:
            if key in _databases:
                _databases[key].campaigns += 1
                return _databases[key]
        engine = engines.connect(store, new=new)
        if engines.is_sqlite(engine):
            key = _key(store, new)
        with _registry:
            if key not in _databases:
                _databases[key] = Database(engine, key)
                return _databases[key]
        engine.dispose()  # another thread has opened it meanwhile


def queue_depth(store: str) -> int:
    """How many commands of this process wait to be written to the store of this address."""
    with _registry:
        database = _databases.get(_key(store, new=True))
    return 0 if database is None else database.writer.depth


def _key(store: object, new: bool) -> Key:
    url = engines.parsed(store, "Campaign" if new else "Campaign.open")
    if url.get_backend_name() != "sqlite":
        return os.getpid(), url.render_as_string(hide_password=False), None
    path = sqlite.checked_path(url, new)
    return os.getpid(), str(path), sqlite.identity(path)


class Database:
    """An open store; it closes with its last campaign."""

    def __init__(self, engine: Engine, key: Key) -> None:
        self.engine, self._key = engine, key
        self.campaigns = 1  # that use it
        self._uncertain_commit: str | None = None  # the transaction whose COMMIT was sent, and perhaps not answered
        self._connection: Connection | None = None
        self._file = engines.where(engine) if engines.is_sqlite(engine) else None
        self._turns = None if self._file is None else sqlite.FileTurns(Path(self._file))
        self._pools: dict[str, CachedLedger] = {}
        self._writer_id, self._transaction_numbers = uuid.uuid4().hex[:20], count()
        self.writer = Writer(self._group_by_campaign, self._close_campaign, engines.where(engine))

    def _close_campaign(self, cached: "CachedLedger") -> bool:
        """Close a campaign, and the store with the last one: then True."""
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

    def _group_by_campaign(self, waiting: list[WriteRequest]) -> None:
        """Write all requests in one transaction; where a campaign is open more than once here, in as many passes.

        With a campaign that has a pool goes that pool, which is then another one's batch of nobody's requests.
        """
        by_campaign: dict[CachedLedger, list[WriteRequest]] = {}
        for request in waiting:
            by_campaign.setdefault(request.campaign, []).append(request)
        passes: list[dict[str, CampaignBatch]] = []
        for cached, requests in by_campaign.items():
            pool = None if cached.pool is None else self._pools.setdefault(cached.pool, CachedLedger(cached.pool))
            slot = next((batches for batches in passes if _fits(cached, pool, batches)), None)
            if slot is None:
                passes.append(slot := {})
            if pool is not None:
                slot.setdefault(pool.name, CampaignBatch(pool, []))
            slot[cached.name] = CampaignBatch(cached, requests, None if pool is None else slot[pool.name])
        for batches in passes:
            # In the same order everywhere, so that no two processes wait for each other.
            self._commit_or_split(sorted(batches.values(), key=lambda one: (one.cached.campaign_id, one.cached.name)))

    def _commit_or_split(self, batches: list["CampaignBatch"]) -> None:
        """One transaction; where it fails for what is in it, and not for the store, one for each request."""
        try:
            self._commit_with_retry(batches)
        except BaseException as error:  # everyone in the batch must hear of it; the thread goes on
            for batch in batches:
                batch.refuse(error)
            each = [request for batch in batches for request in batch.requests]
            if len(each) > 1 and engines.blames_one_request(error):
                for request in each:
                    request.error = None
                    self._group_by_campaign([request])
            return
        for batch in batches:
            if batch.error is None:
                batch.answer()

    def _commit_with_retry(self, batches: list["CampaignBatch"]) -> None:
        """Try again while a server is away or other transactions are in the way.

        After a lost COMMIT, look for our transaction id in the ledger: where it is there, all of the batch was
        committed, and nothing is written again; where it is not, nothing was.
        """
        deadline = time.monotonic() + RETRY_FOR
        pause = 0.05
        self._uncertain_commit = None
        while True:
            opening = any(not batch.cached.campaign_id for batch in batches)
            try:
                self._commit_once(batches)
                return
            except engines.database_errors(self.engine) as error:
                self._forget(batches)
                # A duplicate row: another process has opened the campaign at the same moment.
                retryable = engines.is_retryable(error) or (opening and engines.is_duplicate_row(error))
                if engines.is_sqlite(self.engine) or not retryable or time.monotonic() > deadline:
                    with engines.translated_errors(self.engine):
                        raise
                time.sleep(pause)
                pause = min(2.0, pause * 2)
            except BaseException:
                self._forget(batches)
                raise

    def _commit_once(self, batches: list["CampaignBatch"]) -> None:
        if self._connection is None:
            self._connection = self.engine.connect()
        statements = statement_batch(self._connection)
        transaction_id = f"{self._writer_id}-{next(self._transaction_numbers):x}"
        if self._turns is not None:  # several processes may share a file; a server has an order of its own
            self._turns.begin()
        try:
            found = queries.lock(statements, [batch.cached.lock_request for batch in batches])
            if not self._was_committed(batches, found):
                self._uncertain_commit = None
                written = []
                seconds = MAX_SECONDS_PER_TRANSACTION / len(batches)
                for batch, there in zip(batches, found, strict=True):
                    batch.catch_up(self._connection, there, transaction_id)
                for batch in batches:
                    batch.run_commands(self._connection, seconds)
                for batch in batches:
                    if batch.error is None and batch.done is not None and batch.done.records:
                        batch.cached.keep_snapshot(self._connection)
                        state, records = batch.cached.known(), batch.done.records
                        written.append(Written(batch.cached.campaign_id, state, records, transaction_id))
                if written:
                    self._uncertain_commit = transaction_id
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

    def _was_committed(self, batches: list["CampaignBatch"], found: Sequence[LockedCampaign | None]) -> bool:
        """Whether the transaction whose COMMIT was not answered is in the ledger."""
        if self._uncertain_commit is None or self._connection is None:
            return False
        for batch, there in zip(batches, found, strict=True):
            if there is not None and batch.done is not None and batch.done.records:
                seq = batch.done.records[0].seq
                return queries.transaction_of(self._connection, there.id, seq) == self._uncertain_commit
        return False

    def _forget(self, batches: list["CampaignBatch"]) -> None:
        for batch in batches:
            batch.cached.forget()
        if self._connection is not None:
            if self._file is not None:  # else a cursor that the error refers to would keep the file locked
                with suppress(*engines.database_errors(self.engine)):  # it is closed all the same
                    self._connection.connection.rollback()
            self._connection.invalidate()
            self._connection.close()
            self._connection = None


def _fits(cached: "CachedLedger", pool: "CachedLedger | None", batches: dict[str, "CampaignBatch"]) -> bool:
    """Whether what is known of a campaign and of its pool is all that a transaction changes of them."""
    if pool is not None and pool.name in batches and batches[pool.name].cached is not pool:
        return False
    return cached.name not in batches


class CampaignBatch:
    """The requests for one campaign in a transaction, and their outcome; `pool` is the batch of its pool."""

    def __init__(
        self, cached: "CachedLedger", requests: list[WriteRequest], pool: "CampaignBatch | None" = None
    ) -> None:
        self.cached, self.pool = cached, pool
        # Asks after tells, so that they know more; requests that were served in part come last.
        self.requests = sorted(requests, key=lambda one: (bool(one.replies), isinstance(next(iter(one.left), 0), Ask)))
        self.cancelled = list(cached.undelivered)
        self.done: Done | None = None
        self.taken: list[tuple[WriteRequest, Sequence[Command]]] = []  # with what is decided of each
        self.error: BaseException | None = None

    def catch_up(self, connection: Connection, found: LockedCampaign | None, transaction_id: str) -> None:
        """Have what others wrote folded in; what is wrong with this campaign only its callers hear of."""
        self.error, self.done = None, None
        try:
            self.cached.catch_up(connection, found, transaction_id)
            self.done = Done(self.cached.state, [], [])
        except OutlayError as error:
            self.refuse(error)

    def run_commands(self, connection: Connection, seconds: float) -> None:
        """Decide the commands of those who still wait."""
        if self.error is None and self.pool is not None and self.pool.error is not None:
            self.refuse(self.pool.error)
        if self.error is not None:
            return
        until = time.monotonic() + seconds
        self.taken = [(request, request.left) for request in self.requests]
        commands: list[Command] = [Cancel(number, REASON_UNDELIVERED) for number in self.cancelled]
        for _, part in self.taken:
            commands += part
        there = None if self.pool is None else self.pool.cached
        before = 0 if there is None else there.seq
        try:
            self.done = self.cached.run_commands(connection, commands, until, self.pool)
        except OutlayError as error:
            if there is not None and there.seq != before:
                raise StoreError(f"campaign {self.cached.name!r} and its pool differ") from error
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
    """The cached state of a campaign, which follows the ledger. Only the writer's thread touches it."""

    def __init__(
        self, name: str, opening: Open | None = None, policy: Policy | None = None, clock: Clock | None = None
    ) -> None:
        self.name, self._opening, self._policy = name, opening, policy
        self.pool = None if opening is None else opening.terms.pool  # the name of its pool, as far as that is known
        self._clock = clock or Clock()
        self.closed = False  # it was let go
        self.undelivered: list[int] = []  # pulls that nobody received, to be cancelled with the next batch
        self.listeners: list[Listener] = []
        self.campaign_id = 0  # in its database; 0 until it is found or made there
        self.shared = False  # whether somebody else had written to it, the last time
        self.state: State | None = None
        self._server_time: int | None = None  # what the server's clock said, where it has one
        self._snapshot, self._every = 0, SNAPSHOT_INTERVAL
        self._news: list[Record] = []  # that the listeners have not heard of

    @property
    def lock_request(self) -> LockRequest:
        """What there is to say where it is to be locked."""
        return LockRequest(self.name, self.campaign_id, self.seq or None, self.shared and self.seq > 0)

    @property
    def seq(self) -> int:
        """The last event that is known; 0 where none is."""
        return 0 if self.state is None else self.state.seq

    def known(self) -> State:
        """The state."""
        assert self.state is not None  # noqa: S101 (it was found or made in this transaction)
        return self.state

    def catch_up(self, connection: Connection, found: LockedCampaign | None, transaction_id: str) -> None:
        """Fold in what others wrote to the campaign, which is locked; open it, if it is new."""
        if found is None:
            self._open(connection, transaction_id)
            return
        another = self.campaign_id not in (0, found.id)
        self.campaign_id, self._server_time = found.id, found.clock
        self.shared = 0 < self.seq < found.seq
        if self.shared and not found.records:
            found = found._replace(records=list(queries.events(connection, self.campaign_id, self.seq)))
        if self.state is not None and (another or not found.continues(self.state.seq, self.state.head)):
            what = "was set back: its ledger had %d events that are not all there any more, and now has %d"
            log(logging.ERROR, self.name, f"{what}; it is read anew", self.state.seq, found.seq)
            self.forget()
        if self.state is None:
            self._load_snapshot(connection)
            self._fold(connection, queries.events(connection, self.campaign_id, self.seq))
            if self.seq == found.seq:
                self.keep_snapshot(connection)  # also where nobody writes any more: it is folded once
        elif self.shared:
            self._news += found.records
            self._fold(connection, found.records)
        if self.seq < found.seq:
            raise StoreError(f"{engines.where(connection.engine)}: events of campaign {self.name!r} are missing")
        self.pool = self.known().terms.pool

    def run_commands(
        self, connection: Connection, commands: Sequence[Command], until: float, pool: CampaignBatch | None = None
    ) -> Done:
        """What the commands come to, those that can be decided until then; and in the pool, if there is one."""
        state = self.known()
        if commands and self.pool != (None if pool is None else pool.cached.name):
            raise StoreError(f"campaign {self.name!r} has another pool than when it was opened: open it anew")
        queries.load_pulls_for(connection, self.campaign_id, state, commands)
        if pool is None or pool.done is None or not commands:
            done = run(state, commands, self._clock.now(self._server_time, state.at), None, until)
        else:
            theirs = Pool(pool.cached.known(), self.name)
            named = (state.pull_named(each.pull) for each in commands if isinstance(each, ABOUT_A_PULL))
            keys = [Cancel(theirs.key(pull.number)) for pull in named if pull is not None]
            queries.load_pulls_for(connection, pool.cached.campaign_id, theirs.state, keys)
            now = self._clock.now(self._server_time, max(state.at, theirs.state.at))
            done = run(state, commands, now, None, until, theirs)
            pool.done.records.extend(theirs.records)
            pool.cached._news += theirs.records
        self._news += done.records
        return done

    def keep_snapshot(self, connection: Connection) -> None:
        """Write what is known now and then, so that opening the campaign reads the last few events."""
        state = self.known()
        if state.seq - self._snapshot < self._every:
            return
        body = snapshot.dump(state)
        if body is not None:
            queries.keep_snapshot(connection, self.campaign_id, state.seq, body, self._snapshot)
            self._every = max(SNAPSHOT_INTERVAL, len(body) // BYTES_PER_EVENT)
        self._snapshot = state.seq

    def tidy(self) -> None:
        """Forget settled pulls when they are many, and tell the listeners what has been written."""
        state, news = self.state, self._news
        if state is not None and len(state.pulls) > len(state.pending) + len(state.awaiting) + CACHED_PULLS:
            state.forget_settled()
        self._news = []
        announce(self.name, self.listeners, news)

    def forget(self) -> None:
        """Drop the cached state: it is read from the ledger again."""
        self.state, self._snapshot, self._every, self._news = None, 0, SNAPSHOT_INTERVAL, []

    def _open(self, connection: Connection, transaction_id: str) -> None:
        if self._opening is None:
            raise NoCampaign(f"{engines.where(connection.engine)} has no campaign {self.name!r}")
        now = self._clock.now(queries.clock(connection))
        self.state, records, _ = step(None, self._opening, now, self._policy)
        self.campaign_id = queries.make(connection, self.state)
        queries.write_now(connection, Written(self.campaign_id, self.state, records, transaction_id))

    def _load_snapshot(self, connection: Connection) -> None:
        for seq, body in queries.snapshots(connection, self.campaign_id):
            self.state = snapshot.load(body, self._policy)
            if self.state is not None:
                self._snapshot, self._every = seq, max(SNAPSHOT_INTERVAL, len(body) // BYTES_PER_EVENT)
                return

    def _fold(self, connection: Connection, records: Iterable[Record]) -> None:
        for record in records:
            event, state = record.event, self.state
            stays = isinstance(event, Told) and event.reward_due  # until then
            if state and (stays or (state.terms.context is not None and record.about() is not None)):
                queries.load_pulls(connection, self.campaign_id, state, [record])
            try:
                self.state = apply(self.state, record, self._policy)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                if isinstance(error, OutlayError):
                    raise
                title = f"event {record.seq} of campaign {self.name!r}"
                why = f"it is damaged, or the policy fails at it ({type(error).__name__}: {error})"
                raise StoreError(f"{title} cannot be folded: {why}") from error
