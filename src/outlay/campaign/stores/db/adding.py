"""A campaign from elsewhere, written event by event: all of it in one transaction, or nothing."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.ledger.events import Record
from outlay.campaign.ledger.state import State
from outlay.campaign.stores.db import rows, tables
from outlay.campaign.stores.db.database import connect, in_plain_words, where
from outlay.errors import CampaignConflict


@contextmanager
def adding(store: str, name: str) -> Iterator["Addition"]:
    """A campaign of this name to be written to a store, which is made if need be; it is kept where nothing raises."""
    engine = connect(store, owner="import_ledger")
    try:
        with in_plain_words(engine), engine.begin() as connection:
            yield Addition(connection, name)
    finally:
        engine.dispose()


class Addition:
    """A campaign that is being written; `CampaignConflict` where there is one of its name."""

    def __init__(self, connection: Connection, name: str) -> None:
        table = tables.campaign
        if connection.execute(sa.select(table.c.id).where(table.c.name == name)).first() is not None:
            raise CampaignConflict(f"{where(connection.engine)} has a campaign {name!r} already")
        self._connection = connection
        self._batch = f"import-{uuid.uuid4().hex[:20]}"
        self._number: int | None = None

    def recall(self, state: State, records: Iterable[Record]) -> None:
        """Have the state hold the decisions again that it let go and that events name."""
        if self._number is not None:
            rows.recall(self._connection, self._number, state, records)

    def write(self, state: State, records: list[Record]) -> None:
        """Write events, and the rows of the state that they led to."""
        if self._number is None:
            self._number = rows.make(self._connection, state)
        rows.write_now(self._connection, rows.Written(self._number, state, records, self._batch))
