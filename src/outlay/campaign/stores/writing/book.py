"""One campaign as the writer of its store knows it: a state that follows the ledger, and what is left to be done.

What is known is a cache: each transaction starts by folding in the events that other processes have written since.
Where a transaction fails, what was known is dropped and read again.
"""

import logging
from collections.abc import Iterable, Sequence

from sqlalchemy.engine import Connection

from outlay.campaign.clock import Clock
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.commands import Command, Open
from outlay.campaign.ledger.events import Record
from outlay.campaign.ledger.fold import apply
from outlay.campaign.ledger.rulings.decide import step
from outlay.campaign.ledger.state import State
from outlay.campaign.stores.batch import Done, run
from outlay.campaign.stores.db import locking, rows, snapshots
from outlay.campaign.stores.db.database import where
from outlay.campaign.stores.listeners import Listener, tell
from outlay.campaign.stores.plain import plain
from outlay.campaign.waiting import log
from outlay.errors import NoCampaign, OutlayError, StoreError
from outlay.policies.protocol import Policy

KEPT = 10_000  # settled decisions at hand
EVERY = 4096  # events from one snapshot to the next, at least
BYTES_PER_EVENT = 2048  # that a snapshot may cost on average


class Book:
    """A campaign; only the writer's thread touches what it knows."""

    def __init__(self, name: str, opening: Open | None, policy: Policy | None, clock: Clock | None) -> None:
        self.name, self._policy = name, policy
        self._opening = None if opening is None else plain(opening)
        self._clock = clock or Clock()
        self.closed = False  # nobody may hand in commands any more
        self.unwanted: list[int] = []  # decisions that nobody received, to be voided with the next batch
        self.listeners: list[Listener] = []
        self.id: int | None = None
        self.shared = False  # whether somebody else had written to it, the last time
        self.state: State | None = None
        self._server_time: int | None = None  # what the server's clock said, where it has one
        self._snapshot, self._every = 0, EVERY
        self._news: list[Record] = []  # that the listeners have not heard of

    @property
    def seq(self) -> int | None:
        """The last event that is known, if one is."""
        return None if self.state is None else self.state.seq

    @property
    def wanted(self) -> locking.Wanted:
        """What there is to say where it is to be locked."""
        return locking.Wanted(self.name, self.id, self.seq, self.shared and self.state is not None)

    @property
    def number(self) -> int:
        """The campaign's number in its database."""
        assert self.id is not None  # noqa: S101 (it was found or made at the start)
        return self.id

    def find(self, connection: Connection, found: locking.Found | None, by: str) -> None:
        """Fold in what others wrote to the campaign, which is locked; open it, if it is new."""
        if found is None:
            self._open(connection, by)
            return
        another, self.id, self._server_time = self.id not in (None, found.id), found.id, found.clock
        self.shared = self.state is not None and self.state.seq < found.seq
        if self.shared and not found.records:
            found = found._replace(records=list(rows.events(connection, self.number, self.seq or 0)))
        if self.state is not None and (another or not found.continues(self.state.seq, self.state.head)):
            what = "was set back: its ledger had %d events that are not all there any more, and now has %d"
            log(logging.ERROR, self.name, f"{what}; it is read anew", self.state.seq, found.seq)
            self.forget()
        if self.state is None:
            self._recover(connection)
            self._fold(rows.events(connection, self.number, self.seq or 0))
            if self.state is not None and self.state.seq == found.seq:
                self.keep_snapshot(connection)  # also where nobody writes any more: it is folded once
        elif self.shared:
            self._news += found.records
            self._fold(found.records)
        if self.state is None or self.state.seq < found.seq:
            raise StoreError(f"{where(connection.engine)}: events of campaign {self.name!r} are missing")

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

    def recall(self, connection: Connection, commands: Sequence[Command]) -> None:
        """Hold the decisions again that were let go and that commands are about."""
        state = self.known()
        for decision in rows.recalled(connection, self.number, state, commands):
            state.hold(decision)

    def decide(self, commands: Sequence[Command], until: float) -> Done:
        """What the commands come to, those that can be decided until then; what they are about must be held."""
        state = self.known()
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
            snapshots.keep(connection, self.number, state.seq, body, self._snapshot)
            self._every = max(EVERY, len(body) // BYTES_PER_EVENT)
        self._snapshot = state.seq

    def known(self) -> State:
        """The state."""
        assert self.state is not None  # noqa: S101 (it was found or made in this transaction)
        return self.state

    def tidy(self) -> None:
        """Let go of settled decisions when they are many, and tell the listeners what has been kept."""
        state, news = self.state, self._news
        if state is not None and len(state.decisions) > len(state.pending) + KEPT:
            state.forget_settled()
        self._news = []
        tell(self.name, self.listeners, news)

    def forget(self) -> None:
        """Drop what is known: the ledger knows better."""
        self.state, self._snapshot, self._every, self._news = None, 0, EVERY, []

    def _open(self, connection: Connection, by: str) -> None:
        if self._opening is None:
            raise NoCampaign(f"{where(connection.engine)} has no campaign {self.name!r}")
        now = self._clock.now(locking.clock(connection))
        self.state, records, _ = step(None, self._opening, now, self._policy)
        self.id = rows.make(connection, self.state)
        rows.write_now(connection, rows.Written(self.id, self.state, records, by))

    def _recover(self, connection: Connection) -> None:
        """Start from the newest snapshot that can be used, if there is one."""
        for seq, body in snapshots.newest_first(connection, self.number):
            self.state = snapshot.load(body, self._policy)
            if self.state is not None:
                self._snapshot, self._every = seq, max(EVERY, len(body) // BYTES_PER_EVENT)
                return
