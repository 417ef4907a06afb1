"""To have a campaign to oneself until COMMIT, and to hear at the same time what others have written to it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles

from outlay.campaign.ledger.events import Record
from outlay.campaign.stores.db import tables
from outlay.campaign.stores.db.driver import Rows, Talk
from outlay.campaign.stores.db.rows import LINE
from outlay.campaign.stores.db.typed import damaged, record


class Found(NamedTuple):
    """A campaign that nobody else may change until COMMIT, and its events after those that are known, if some are."""

    id: int
    seq: int
    clock: int | None  # the server's, where there is one
    head: str  # the hash of its last event
    records: list[Record]

    def continues(self, seq: int, head: str) -> bool:
        """Whether what is known of it, up to an event with this hash, is what is there."""
        before = self.head if self.seq == seq else self.records[0].before if self.records else ""
        return self.seq >= seq and before == head


class Wanted(NamedTuple):
    """A campaign that is to be locked."""

    name: str
    number: int | None  # in its database, where that is known
    known: int | None  # the last event that is known, if one is
    shared: bool  # whether somebody else wrote to it since the last time


def lock(talking: Talk, wanted: Sequence[Wanted]) -> list[Found | None]:
    """Lock campaigns, in this order; None for one that is not there.

    Events are read when the lock is held: from a file where there are some, and from a server, which answers all of it
    at once, where a campaign is shared. Otherwise who finds that there are some asks for them.
    """
    file = talking.dialect.name == "sqlite"
    talking.begin()
    said = []
    for one in wanted:
        locked = talking.say(LOCK, (one.name,))
        said.append((locked, say_later(talking, one) if one.shared and not file else None))
    talking.hear()
    found: list[Found | None] = []
    for one, (locked, later) in zip(wanted, said, strict=True):
        row = next(iter(locked()), None)
        if file and row is not None and one.known is not None and _seq(talking, one, row) > one.known:
            later = say_later(talking, one)
        found.append(None if row is None else found_as(talking, one, row, later() if later else ()))
    return found


def say_later(talking: Talk, one: Wanted) -> Callable[[], Rows]:
    """Ask for the events after those that are known."""
    return talking.say(_LATER, (one.number, one.known))


def found_as(talking: Talk, one: Wanted, row: Sequence[object], lines: Rows) -> Found:
    """A campaign as the statement that locks it and the one that asks for later events tell it."""
    number, _, clock, head = row
    records = [record(talking.connection, *line) for line in lines]
    return Found(number, _seq(talking, one, row), clock, head, records)  # type: ignore[arg-type]


def _seq(talking: Talk, one: Wanted, row: Sequence[object]) -> int:
    if not isinstance(row[1], int):
        raise damaged(talking.connection, f"campaign {one.name!r}", "the number of its last event is none")
    return row[1]


def clock(connection: Connection) -> int | None:
    """What the server's clock says, where there is one."""
    return connection.execute(sa.select(_Clock())).scalar()


class _Clock(sa.sql.functions.GenericFunction[int]):
    """The server's clock in microseconds, one for all its workers; NULL where there is no server."""

    type = sa.BigInteger()
    inherit_cache = True


@compiles(_Clock)
def _no_clock(element: _Clock, compiler: object, **_: object) -> str:  # noqa: ARG001
    return "NULL"


@compiles(_Clock, "postgresql")
def _its_clock(element: _Clock, compiler: object, **_: object) -> str:  # noqa: ARG001
    return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


LOCK = (
    sa.select(tables.campaign.c.id, tables.campaign.c.seq, _Clock().label("clock"), tables.campaign.c.head)
    .where(tables.campaign.c.name == sa.bindparam("name_"))
    .with_for_update()
)
_LATER = (
    sa.select(*LINE)
    .where(tables.event.c.campaign == sa.bindparam("number"), tables.event.c.seq > sa.bindparam("after"))
    .order_by(tables.event.c.seq)
)
