"""The tables of a ledger, how they are made, and how older ones are brought up to date.

`event` is the truth, append-only; the others are derived from it in the same transaction. Money is in whole units,
times are microseconds since 1970 (UTC). A change here needs a migration beside it.
"""

from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    insert,
)  # fmt: skip
from sqlalchemy.engine import Connection

REVISION = "0001"  # of the tables this version reads and writes

metadata = MetaData()
_Big = BigInteger().with_variant(Integer(), "sqlite")


def _of_campaign() -> Column[int]:
    return Column("campaign", Integer, ForeignKey("campaign.id"), primary_key=True)


campaign = Table(
    "campaign",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("seq", _Big, nullable=False),  # of the last event
    Column("at", _Big, nullable=False),
    Column("budget", _Big, nullable=False),
    Column("spent", _Big, nullable=False),
    Column("reserved", _Big, nullable=False),
    Column("reward", Float(53), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("ended", String(16)),
    Column("requests", _Big),  # NULL where there is no limit to them
    Column("used", _Big, nullable=False),  # requests
    Column("forecast", _Big),  # of requests; NULL where nobody made one
    Column("head", String(64), nullable=False),  # the hash of the last event
    Column("archived", Boolean, nullable=False),
    Column("window_start", _Big),  # NULL where there are no windows, like the next
    Column("window_end", _Big),
    Column("spent_before_window", _Big, nullable=False),  # spent on pulls of earlier windows
    Column("spent_on_fallback", _Big, nullable=False),  # spent on fallbacks
    Column("reserved_elsewhere", _Big, nullable=False),  # set aside for pulls of these kinds
    Column("used_before_window", _Big, nullable=False),  # requests, in earlier windows
)

arm = Table(
    "arm",
    metadata,
    _of_campaign(),
    Column("number", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("max_cost", _Big),
    Column("mean_cost", Float(53)),
    Column("enabled", Boolean, nullable=False),
    Column("pulls", _Big, nullable=False),
    Column("in_flight", _Big, nullable=False),
    Column("spent", _Big, nullable=False),
    Column("reserved", _Big, nullable=False),
    Column("reward", Float(53), nullable=False),
    Column("samples", _Big, nullable=False),
    Column("cost_reports", _Big, nullable=False),
    Column("max_cost_seen", _Big, nullable=False),
    Column("squares", Float(53), nullable=False),
    Column("cost_squares", Float(53), nullable=False),
    Column("products", Float(53), nullable=False),
    sqlite_with_rowid=False,
)

pull = Table(
    "pull",
    metadata,
    _of_campaign(),
    Column("number", _Big, primary_key=True),
    Column("arm", Integer, nullable=False),
    Column("reserved", _Big, nullable=False),
    Column("asked", _Big, nullable=False),
    Column("key", String(200)),
    Column("ttl", _Big),
    Column("expires", _Big),
    Column("propensity", Float(53)),
    Column("status", String(16), nullable=False),
    Column("cost", _Big),
    Column("reward", Float(53)),
    Column("told_cost", _Big),
    Column("told_reward", Float(53)),
    Column("sample_index", _Big),
    Column("late", Boolean, nullable=False),
    Column("overrun", Boolean, nullable=False),
    Column("amended", Boolean, nullable=False),
    Column("fallback", Boolean, nullable=False),
    sqlite_with_rowid=False,
)
# Most pulls have no key: in SQLite, where each commit writes whole pages, these stay out of the index.
_with_key = pull.c.key.is_not(None)
Index("one_pull_a_key", pull.c.campaign, pull.c.key, unique=True, sqlite_where=_with_key)

# In SQLite, in the order of writing: in that of campaigns, each of them would have a last page of its own to split.
event = Table(
    "event",
    metadata,
    _of_campaign(),
    Column("seq", _Big, primary_key=True),
    Column("at", _Big, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Column("transaction_id", String(40), nullable=False),  # of the transaction that wrote it
    Column("before", String(64), nullable=False),  # the hash of the event before it
)

snapshot = Table(
    "snapshot",
    metadata,
    _of_campaign(),
    Column("seq", _Big, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

# As Alembic makes it, which finds here where to go on.
_version = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))


def make(connection: Connection) -> None:
    """Make the tables in a database that has none of them; to load Alembic and walk all migrations takes longer."""
    metadata.create_all(connection, checkfirst=False)
    _version.create(connection)
    connection.execute(insert(_version), {"version_num": REVISION})


def migrate(connection: Connection) -> None:
    """Bring older tables to this version."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    folder = str(Path(__file__).parent / "migrations")
    context = MigrationContext.configure(connection)
    script = ScriptDirectory(folder, version_locations=[folder])
    newest_first = script.iterate_revisions("head", context.get_current_revision() or "base")
    with Operations.context(context):
        for revision in reversed(list(newest_first)):
            revision.module.upgrade()
    context.stamp(script, "head")
