"""What a PostgreSQL server is asked: news come once, statements are planned once, connections may change."""

import re
from typing import Any

from outlay.campaign import Campaign
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS


def test_what_others_wrote_is_heard_once_and_in_order(postgres_url: str) -> None:
    """Whether they were at work the last time, when it comes with the lock, or were not."""
    heard: list[int] = []
    with Campaign(**TERMS, store=postgres_url) as one, Campaign.open(postgres_url) as two:
        one._ledger.listen(lambda news: heard.extend(record.seq for record in news))
        for campaign in [two, two, one, two, one, one, one, two, one, two, two, two, one]:
            assert campaign.ask() is not None
        assert heard == list(range(2, 15))
        assert one.status() == two.status()


def test_no_plan_reads_a_whole_table(postgres_url: str) -> None:
    """Statements are planned for any values while tables are small, where it looks cheap to read all of them."""
    with Campaign(**TERMS, store=postgres_url) as one, Campaign.open(postgres_url) as two:
        for campaign in [one, two] * 3:
            assert campaign.ask() is not None
        connection: Any = one._ledger._database._connection  # type: ignore[attr-defined]
        driver = connection.connection.driver_connection
        driver.execute("SET plan_cache_mode = force_generic_plan")
        found = driver.execute("SELECT name, statement, parameter_types::text[] FROM pg_prepared_statements").fetchall()
        reading = [(name, kinds) for name, text, kinds in found if re.search("FROM [ce]|^UPDATE", text)]
        assert len(reading) == 3  # to lock, to hear of others, to note where the campaign stands
        for name, kinds in reading:
            nothing = f"({', '.join(['NULL'] * len(kinds))})"
            plan = driver.execute(f"EXPLAIN EXECUTE {name}{nothing}").fetchall()
            assert "Index" in str(plan)
            assert "Seq Scan" not in str(plan)


def test_a_pool_of_connections_between_us_and_the_server(postgres_url: str) -> None:
    """Each transaction may have another connection, which does not know what was planned on the last."""
    with Campaign(**TERMS, store=postgres_url) as campaign:
        for n in range(4):
            assert campaign.ask(str(n)) is not None
            connection: Any = campaign._ledger._database._connection  # type: ignore[attr-defined]
            driver = connection.connection.driver_connection
            (known,) = driver.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
            assert known == (7 if n == 0 else 0)
            driver.execute("DEALLOCATE ALL")
    assert len(checked(postgres_url)) == 5
