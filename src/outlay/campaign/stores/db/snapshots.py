"""Snapshots as rows: the newest of a campaign is where opening it starts from."""

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.stores.db import tables

_TABLE = tables.snapshot


def newest_first(connection: Connection, campaign: int) -> Iterator[tuple[int, bytes]]:
    """The event after which each was taken, and the snapshot."""
    wanted = sa.select(_TABLE.c.seq, _TABLE.c.body).where(_TABLE.c.campaign == campaign).order_by(_TABLE.c.seq.desc())
    return ((seq, body) for seq, body in connection.execute(wanted))


def keep(connection: Connection, campaign: int, seq: int, body: bytes, last: int) -> None:
    """Write a snapshot, and drop those before the `last` one, which stays in case this one cannot be read.

    One after the same event, which another version took, makes room.
    """
    old = sa.or_(_TABLE.c.seq < last, _TABLE.c.seq == seq)
    connection.execute(sa.delete(_TABLE).where(_TABLE.c.campaign == campaign, old))
    connection.execute(sa.insert(_TABLE), {"campaign": campaign, "seq": seq, "body": body})


def taken(connection: Connection, campaign: int) -> set[int]:
    """The events after which there is a snapshot."""
    return set(connection.execute(sa.select(_TABLE.c.seq).where(_TABLE.c.campaign == campaign)).scalars())


def body_of(connection: Connection, campaign: int, seq: int) -> bytes:
    """The snapshot that was taken after an event."""
    wanted = sa.select(_TABLE.c.body).where(_TABLE.c.campaign == campaign, _TABLE.c.seq == seq)
    return bytes(connection.execute(wanted).scalar_one())
