"""Which decisions a database holds that somebody wants to see, a page at a time."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.ledger.agreement import all_spellings
from outlay.campaign.ledger.events import Asked
from outlay.campaign.ledger.state import Decision
from outlay.campaign.records import Found, PullFilter
from outlay.campaign.stores.db import tables
from outlay.campaign.stores.db.typed import damaged, record, typed


def page(connection: Connection, campaign: int, wanted: PullFilter, most: int) -> tuple[list[Found], int | None]:
    """The first wanted decisions among `most` that the database offers, and the number after which to go on, if any.

    Tags are only in the events: the database leaves out those that have none, and we look at the others.
    """
    decision, event = tables.decision, tables.event
    query = (
        sa.select(decision, event.c.body)
        .join(event, sa.and_(event.c.campaign == decision.c.campaign, event.c.seq == decision.c.number))
        .where(decision.c.campaign == campaign, decision.c.number > wanted.after)
    )
    if wanted.status is not None:
        query = query.where(decision.c.standing == wanted.status)
    if wanted.key is not None:
        query = query.where(decision.c.key.in_(all_spellings(wanted.key)))
    if wanted.tag is not None:
        query = query.where(event.c.body.contains('"tags":["', autoescape=True))
    rows = connection.execute(query.order_by(decision.c.number).limit(most)).mappings().all()
    found: list[Found] = []
    for row in rows:
        asked = record(connection, row["number"], row["asked"], row["body"], "").event
        one = typed(connection, Decision, row, "the row of a decision")
        if not isinstance(asked, Asked):
            raise damaged(connection, f"decision {one.number}", "the event of this number made none")
        if wanted.fits(one, asked):
            found.append((one, asked))
    return found, rows[-1]["number"] if len(rows) == most else None
