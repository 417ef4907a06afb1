"""The tables of a database: those of the code, however they were made, and of use to whom they are granted to."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from outlay.campaign import Campaign, verify
from outlay.campaign.stores import schema
from outlay.campaign.stores.engines import parsed


@pytest.mark.parametrize("way", [schema.make, schema.migrate])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_new_database_and_migrations_have_the_tables_of_the_code(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, way: Callable[[sa.Connection], None]
) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    engine = sa.create_engine(parsed(store))
    with engine.begin() as connection:
        way(connection)
    options = {"compare_type": True, "compare_server_default": True}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []
        assert context.get_current_revision() == schema.REVISION
        found = sa.inspect(connection)
        assert [found.get_pk_constraint(table)["constrained_columns"] for table in ("event", "alembic_version")] == [
            ["campaign", "seq"],
            ["version_num"],
        ]
    if kind == "sqlite":
        wanted = "SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID%'"
        with closing(sqlite3.connect(tmp_path / "a.db")) as file:
            assert {name for (name,) in file.execute(wanted)} == {"arm", "pull"}
    engine.dispose()


def test_a_role_that_works_on_tables_of_another(postgres_url: str) -> None:
    engine = sa.create_engine(postgres_url)
    role = f"clerk_{engine.url.database}"
    with engine.begin() as connection:
        schema.make(connection)
        connection.execute(sa.text(f'CREATE ROLE "{role}" LOGIN'))
        connection.execute(sa.text(f'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO "{role}"'))
        connection.execute(sa.text(f'GRANT DELETE ON snapshot TO "{role}"'))
        connection.execute(sa.text(f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "{role}"'))
    terms: dict[str, Any] = {"arms": ["a"], "budget": 10}
    with Campaign(**terms, store=str(engine.url.set(username=role).render_as_string())) as campaign:
        assert campaign.ask() is not None
    assert verify(postgres_url).ok
    with engine.begin() as connection:
        connection.execute(sa.text(f'DROP OWNED BY "{role}"'))
        connection.execute(sa.text(f'DROP ROLE "{role}"'))
    engine.dispose()
