"""Tables made and brought up to date: a new database gets this version's at once, an older one by its migrations."""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.stores.db import tables

REVISION = "0001"  # of the tables this version reads and writes
MIGRATIONS = str(Path(__file__).parent.parent / "migrations")

# As Alembic makes it, which finds here where to go on.
_version = sa.Table(
    "alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True)
)  # fmt: skip


def make(connection: Connection) -> None:
    """Make the tables in a database that has none of them; to load Alembic and walk all migrations takes longer."""
    tables.metadata.create_all(connection, checkfirst=False)
    _version.create(connection)
    connection.execute(sa.insert(_version), {"version_num": REVISION})


def migrate(connection: Connection) -> None:
    """Bring older tables to this version."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    context = MigrationContext.configure(connection)
    script = ScriptDirectory(MIGRATIONS, version_locations=[MIGRATIONS])
    newest_first = script.iterate_revisions("head", context.get_current_revision() or "base")
    with Operations.context(context):
        for revision in reversed(list(newest_first)):
            revision.module.upgrade()
    context.stamp(script, "head")
