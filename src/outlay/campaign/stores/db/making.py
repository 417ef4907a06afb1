"""Tables made and brought up to date: a new database gets this version's at once, an older one by its migrations."""

import logging
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.schema import CreateIndex, CreateTable

from outlay.campaign.stores.db import tables

REVISION = "0004"  # of the tables this version reads and writes

# As Alembic makes it, which finds here where to go on.
_version = sa.Table(
    "alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True)
)  # fmt: skip


def make(connection: Connection) -> None:
    """Make the tables in a database that has none of them; to load Alembic and walk all migrations takes longer."""
    kind: Any = type(connection.dialect)
    for statement in _statements(kind):
        connection.exec_driver_sql(statement)
    connection.execute(sa.insert(_version), {"version_num": REVISION})


@cache
def _statements(dialect: Any) -> tuple[str, ...]:
    """What makes all tables, in the words of a database."""
    made = [_version, *tables.metadata.sorted_tables]
    indexes = [index for table in made for index in table.indexes]
    steps: list[sa.DDLElement] = [*map(CreateTable, made), *map(CreateIndex, indexes)]
    return tuple(str(step.compile(dialect=dialect())) for step in steps)


def migrate(connection: Connection) -> None:
    """Bring older tables to this version."""
    from alembic import command
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    settings.set_main_option("path_separator", "os")
    settings.attributes["connection"] = connection
    its_log = logging.getLogger("alembic.runtime.migration")
    level = its_log.level
    its_log.setLevel(max(logging.WARNING, level))  # that tables are made is no news to users
    try:
        command.upgrade(settings, "head")
    finally:
        its_log.setLevel(level)
