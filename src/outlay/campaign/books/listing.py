"""Which campaigns a store holds."""

import time

from outlay.campaign.calendar import MICROS
from outlay.campaign.ledger.windows import as_of
from outlay.campaign.records import Status, status_of
from outlay.campaign.stores.db import rows
from outlay.campaign.stores.db.reading import reading
from outlay.errors import BadParameter


def campaigns(store: str, archived: bool = False) -> list[Status]:
    """How every campaign of a store stands, by name; those that were `archived`, or the others."""
    if not isinstance(archived, bool):
        raise BadParameter("campaigns", "archived", "True or False", archived)
    with reading(store, "campaigns") as connection:
        states = [rows.state_of(connection, name) for name in rows.names(connection)]
    now = int(time.time() * MICROS)
    return [status_of(as_of(state, now)) for state in states if state is not None and state.archived == archived]
