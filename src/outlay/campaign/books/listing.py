"""Which campaigns a store holds."""

from outlay.campaign.answers.replies import Status, status_of
from outlay.campaign.stores.db import rows
from outlay.campaign.stores.db.reading import reading


def campaigns(store: str) -> list[Status]:
    """How every campaign of a store stands, by name."""
    with reading(store, "campaigns") as connection:
        states = [rows.state_of(connection, name) for name in rows.names(connection)]
    return [status_of(state) for state in states if state is not None]
