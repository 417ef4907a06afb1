"""A campaign as a database holds it, row by row and event by event: what `verify` and `export_ledger` read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.ledger.events import Record
from outlay.campaign.ledger.state import State
from outlay.campaign.stores.db import rows, snapshots, tables
from outlay.campaign.stores.db.database import where
from outlay.errors import NoCampaign

CHUNK = 2000  # events read at a time

Line = tuple[int, int, str, str]  # number, time and text of an event, and the hash of the one before
Row = Mapping[str, object]


class Stored:
    """One campaign on a connection whose transaction sees one moment; NoCampaign where there is none of this name."""

    def __init__(self, connection: Connection, name: str) -> None:
        table = tables.campaign
        row = connection.execute(sa.select(table).where(table.c.name == name)).mappings().one_or_none()
        if row is None:
            raise NoCampaign(f"{where(connection.engine)} has no campaign {name!r}")
        self.row: Row = {str(column): value for column, value in row.items()}
        self.number: int = row["id"]
        self._connection = connection

    def lines(self) -> Iterator[Line]:
        """Every event, in order, as they are needed."""
        table = tables.event
        wanted = sa.select(table.c.seq, table.c.at, table.c.body, table.c.before).where(table.c.campaign == self.number)
        for row in self._connection.execute(wanted.order_by(table.c.seq), execution_options={"yield_per": CHUNK}):
            yield row.seq, row.at, row.body, row.before

    def arms(self) -> dict[int, Row]:
        """The row of every arm, by its number."""
        table = tables.arm
        return self._by_number(sa.select(table).where(table.c.campaign == self.number).order_by(table.c.number))

    def decisions(self, numbers: Sequence[int]) -> dict[int, Row]:
        """The rows of some decisions, by number; those that are missing are left out."""
        table = tables.decision
        return self._by_number(
            sa.select(table).where(table.c.campaign == self.number, table.c.number.in_(list(numbers)))
        )

    def count_decisions(self) -> int:
        """How many rows of decisions there are."""
        table = tables.decision
        wanted = sa.select(sa.func.count()).select_from(table).where(table.c.campaign == self.number)
        return int(self._connection.execute(wanted).scalar_one())

    def snapshots(self) -> set[int]:
        """The events after which there is a snapshot."""
        return snapshots.taken(self._connection, self.number)

    def snapshot(self, seq: int) -> bytes:
        """The snapshot that was taken after an event."""
        return snapshots.body_of(self._connection, self.number, seq)

    def recall(self, state: State, records: Iterable[Record]) -> None:
        """Have the state hold the decisions again that it let go and that events name."""
        rows.recall(self._connection, self.number, state, records)

    def _by_number(self, wanted: sa.Select[tuple[object, ...]]) -> dict[int, Row]:
        found = self._connection.execute(wanted).mappings()
        return {row["number"]: {str(column): value for column, value in row.items()} for row in found}
