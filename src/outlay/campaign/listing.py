"""Which campaigns a store holds."""

import sqlalchemy as sa

from outlay.campaign.replies import Status, status_of
from outlay.campaign.stores import rows, tables
from outlay.campaign.stores.database import reading


def campaigns(store: str) -> list[Status]:
    """How every campaign of a store stands, by name."""
    with reading(store) as connection:
        names = connection.execute(sa.select(tables.campaign.c.name).order_by(tables.campaign.c.name)).scalars().all()
        states = [rows.standing(connection, name) for name in names]
    return [status_of(state) for state in states if state is not None]
