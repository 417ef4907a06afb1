"""A ledger that was set back while it was open: a backup put in place, a server that lost its last transactions.

What was acknowledged and is gone cannot be had back; what is written from then on must be a ledger.
"""

from typing import Any

import pytest
import sqlalchemy as sa

from outlay.campaign import Campaign
from outlay.campaign.stores import schema
from outlay.campaign.stores.engines import connect
from tests.campaign.busy import asked
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS

Content = dict[str, list[dict[str, Any]]]


def copied(store: str) -> Content:
    """All rows of a database."""
    engine = connect(store)
    with engine.begin() as connection:
        rows = {name: connection.execute(sa.select(table)).mappings() for name, table in schema.metadata.tables.items()}
        content = {name: [dict(row) for row in found] for name, found in rows.items()}
    engine.dispose()
    return content


def restore(store: str, content: Content) -> None:
    """Put these rows in the place of all that are there."""
    engine = connect(store)
    with engine.begin() as connection:
        for table in reversed(schema.metadata.sorted_tables):
            connection.execute(sa.delete(table))
        for table in schema.metadata.sorted_tables:
            if content[table.name]:
                connection.execute(sa.insert(table), content[table.name])
    engine.dispose()


def pairs(campaign: Campaign, count: int, cost: int = 1) -> None:
    for _ in range(count):
        asked(campaign).tell(cost, 0.5)


@pytest.mark.parametrize("store", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("since", [0, 2, 3, 7], ids=["less", "shorter", "as long", "longer"])
def test_who_has_it_open_goes_on_from_what_is_there(store: str, since: int, caplog: pytest.LogCaptureFixture) -> None:
    """Whether others have written since, and however much."""
    with Campaign(**TERMS, store=store) as campaign:
        pairs(campaign, 2)
        content = copied(store)
        pairs(campaign, 3)
        restore(store, content)
        with Campaign.open(store) as another:
            pairs(another, since, cost=2)
        pairs(campaign, 1)
        assert campaign.status().spent == 2 + 2 * since + 1
    assert len(checked(store)) == 1 + 2 * (2 + since + 1)
    said = f"was set back: its ledger had 11 events that are not all there any more, and now has {5 + 2 * since};"
    assert said in caplog.text
