"""A ledger in a database: each transaction locks the campaign, catches up, decides, writes, commits, then answers.

Several processes can work on one campaign. What they know of it is a cache: a transaction starts by folding in the
events that others have written since. Events and the rows derived from them are written together or not at all; where
COMMIT fails, what was known is dropped and read again.
"""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import count

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.clock import Clock
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.commands import Command, Open
from outlay.campaign.ledger.decide import step
from outlay.campaign.ledger.events import Record
from outlay.campaign.ledger.fold import apply
from outlay.campaign.ledger.state import State
from outlay.campaign.pulls import Found, Wanted
from outlay.campaign.replies import Reply, Status, status_of
from outlay.campaign.stores import rows, snapshots
from outlay.campaign.stores.batch import Done, run
from outlay.campaign.stores.database import at_one_moment, connect, in_plain_words, is_sqlite, lost, where
from outlay.campaign.stores.finding import page
from outlay.campaign.stores.listeners import Listener, tell
from outlay.campaign.stores.writer import Writer
from outlay.errors import NoCampaign
from outlay.policies.protocol import Policy

PATIENCE = 60.0  # seconds to go on trying while a server is away
KEPT = 10_000  # settled decisions at hand
EVERY = 4096  # events from one snapshot to the next, at least
BYTES_PER_EVENT = 2048  # that a snapshot may cost on average
CHUNK = 2000  # events read at a time


class SqlLedger:
    """One campaign in a database; `opening` makes it where it is not there, and is None to insist that it is."""

    def __init__(
        self, store: object, name: str, opening: Open | None, policy: Policy | None = None, clock: Clock | None = None
    ) -> None:
        self._engine = connect(store, new=opening is not None)
        self._name, self._opening, self._policy = name, opening, policy
        self._clock = clock or Clock()
        self._listeners: list[Listener] = []
        self._connection: Connection | None = None
        self._id: int | None = None
        self._server_time: int | None = None  # what the server's clock said, where it has one
        self._state: State | None = None
        self._snapshot, self._every = 0, EVERY
        self._me, self._batches = uuid.uuid4().hex[:20], count()
        try:
            self._within_patience([])
        except BaseException:
            self._engine.dispose()
            raise
        self._writer = Writer(self._within_patience, name)

    def transact(self, commands: Sequence[Command]) -> list[Reply]:
        """Each command's reply, or the error that it met, once it is kept."""
        return self.submit(commands).result()

    def submit(self, commands: Sequence[Command]) -> Future[list[Reply]]:
        """The same, later."""
        return self._writer.submit(commands)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have a function called with what is written from now on; call what is returned to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def state(self) -> State:
        """Where the campaign stands, from its rows; without what its policy knows."""
        with in_plain_words(self._engine), at_one_moment(self._engine) as connection:
            state = rows.state_of(connection, self._name)
        assert state is not None  # noqa: S101 (it was found or made at the start)
        return state

    def status(self) -> Status:
        """The same for users."""
        return status_of(self.state())

    def records(self, after: int = 0) -> Iterator[Record]:
        """The events after the first `after`, in order."""
        while True:
            with in_plain_words(self._engine), at_one_moment(self._engine) as connection:
                chunk = list(rows.events(connection, self._number(), after, CHUNK))
            yield from chunk
            if len(chunk) < CHUNK:
                return
            after = chunk[-1].seq

    def find(self, wanted: Wanted) -> Iterator[Found]:
        """The decisions that are wanted, a page at a time."""
        left, after = wanted.limit, wanted.after
        while left != 0:
            with in_plain_words(self._engine), at_one_moment(self._engine) as connection:
                found, going_on = page(connection, self._number(), wanted._replace(after=after), CHUNK)
            yield from found[:left]
            if going_on is None:
                return
            left, after = None if left is None else max(0, left - len(found)), going_on

    def close(self) -> None:
        """Write what waits, and let the database go; in a forked process it is not ours to let go."""
        if not self._writer.close():
            return
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    def _known(self) -> State:
        assert self._state is not None  # noqa: S101 (it was found or made in this transaction)
        return self._state

    def _number(self) -> int:
        assert self._id is not None  # noqa: S101 (it was found or made at the start)
        return self._id

    def _within_patience(self, commands: list[Command]) -> list[Reply]:
        """`_transact`, tried again while a server is away or others are in the way, never done twice."""
        deadline = time.monotonic() + PATIENCE
        pause = 0.05
        attempt: tuple[str, Done] | None = None
        while True:
            try:
                connection = self._connection = self._connection or self._engine.connect()
                with connection.begin():
                    self._find(connection)
                    if attempt is not None and self._is_kept(connection, *attempt):
                        return attempt[1].replies
                    attempt = None
                    batch = f"{self._me}-{next(self._batches):x}"
                    done = self._decide(connection, commands)
                    attempt = batch, done
                    if done.records:
                        self._write(connection, batch, done.records)
                if self._state is not None and len(self._state.decisions) > len(self._state.pending) + KEPT:
                    self._state.forget_settled()
                tell(self._name, self._listeners, done.records)
                return done.replies
            except sa.exc.SQLAlchemyError as error:
                self._forget()
                rivalled = isinstance(error, sa.exc.IntegrityError) and self._id is None  # somebody opened it just now
                if is_sqlite(self._engine) or not (lost(error) or rivalled) or time.monotonic() > deadline:
                    with in_plain_words(self._engine):
                        raise
                time.sleep(pause)
                pause = min(2.0, pause * 2)
            except BaseException:
                self._forget()
                raise

    def _find(self, connection: Connection) -> None:
        """Lock the campaign and fold in what others wrote; open it, if it is new."""
        row = rows.lock(connection, self._name)
        if row is None:
            self._open(connection)
            return
        self._id, self._server_time = row.id, row.clock
        if self._state is None:
            self._recover(connection)
        if self._state is None or self._state.seq < row.seq:
            for record in rows.events(connection, row.id, self._state.seq if self._state else 0):
                self._state = apply(self._state, record, self._policy)

    def _open(self, connection: Connection) -> None:
        if self._opening is None:
            raise NoCampaign(f"{where(self._engine)} has no campaign {self._name!r}")
        now = self._clock.now(rows.clock(connection))
        self._state, records, _ = step(None, self._opening, now, self._policy)
        self._id = rows.make(connection, self._state)
        rows.write(connection, self._id, self._state, records, f"{self._me}-open")

    def _decide(self, connection: Connection, commands: list[Command]) -> Done:
        state = self._known()
        for decision in rows.recalled(connection, self._number(), state, commands):
            state.hold(decision)
        return run(state, commands, self._clock.now(self._server_time, state.at))

    def _write(self, connection: Connection, batch: str, records: list[Record]) -> None:
        state = self._known()
        rows.write(connection, self._number(), state, records, batch)
        if state.seq - self._snapshot >= self._every:
            self._take_snapshot(connection, state)

    def _take_snapshot(self, connection: Connection, state: State) -> None:
        body = snapshot.dump(state)
        if body is None:
            self._snapshot = state.seq
            return
        snapshots.keep(connection, self._number(), state.seq, body, self._snapshot)
        self._snapshot, self._every = state.seq, max(EVERY, len(body) // BYTES_PER_EVENT)

    def _recover(self, connection: Connection) -> None:
        """Start from the newest snapshot that can be used, if there is one."""
        for seq, body in snapshots.newest_first(connection, self._number()):
            self._state = snapshot.load(body, self._policy)
            if self._state is not None:
                self._snapshot, self._every = seq, max(EVERY, len(body) // BYTES_PER_EVENT)
                return

    def _is_kept(self, connection: Connection, batch: str, done: Done) -> bool:
        """Whether a batch whose COMMIT was not answered is in the ledger."""
        return bool(done.records) and rows.writer_of(connection, self._number(), done.records[-1].seq) == batch

    def _forget(self) -> None:
        """Drop what is known: the ledger knows better."""
        self._state, self._snapshot, self._every = None, 0, EVERY
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None
