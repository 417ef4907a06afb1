"""Rows as the records that they should be: SQLite keeps anything in any column, and a file may be damaged."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from sqlalchemy.engine import Connection

from outlay.campaign.ledger.agreement import check_time
from outlay.campaign.ledger.events import Opened, Record, from_json
from outlay.campaign.ledger.state import Ending
from outlay.campaign.stores.db.database import where
from outlay.errors import BadParameter, StoreError

S = TypeVar("S", bound=msgspec.Struct)


class CampaignRow(msgspec.Struct):
    """What the row of a campaign says that is not a sum."""

    id: int
    seq: int
    at: int
    budget: int
    paused: bool
    ended: Ending | None
    requests: int | None
    used: int
    forecast: int | None
    head: str
    archived: bool
    window_start: int | None
    window_end: int | None
    earlier: int
    outside: int
    apart: int
    used_before: int


def damaged(connection: Connection, what: str, why: object) -> StoreError:
    """What to raise where a database holds something that outlay cannot have written."""
    return StoreError(f"{where(connection.engine)}: {what} cannot be read, it is damaged: {str(why)[:200]}")


def typed(connection: Connection, kind: type[S], row: Mapping[Any, Any], what: str) -> S:
    """A row as a record of this kind, which has the names of its columns; others are left out."""
    try:
        return msgspec.convert({name: row[name] for name in kind.__struct_fields__}, kind)
    except msgspec.ValidationError as error:
        raise damaged(connection, what, error) from error


def record(connection: Connection, seq: Any, at: Any, body: Any, before: Any) -> Record:
    """An event in its place."""
    try:
        event = from_json(body)
        check_time(at)
        if not isinstance(seq, int) or not isinstance(before, str):
            raise TypeError("its number or its hash is none")
    except (msgspec.DecodeError, RecursionError, TypeError, UnicodeError, BadParameter) as error:
        # RecursionError where brackets are nested by the thousand
        title = f"{where(connection.engine)}: event {str(seq)[:20]}"
        raise StoreError(f"{title} cannot be read: a newer outlay wrote it, or it is damaged") from error
    return Record(seq, at, event, before)


def opening(connection: Connection, name: str, first: list[Record]) -> tuple[Opened, int]:
    """The opening of a campaign and its time, if that is its first event."""
    if first and isinstance(first[0].event, Opened):
        return first[0].event, first[0].at
    raise damaged(connection, f"campaign {name!r}", "its first event is missing")
