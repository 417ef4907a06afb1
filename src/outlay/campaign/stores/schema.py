"""The tables of a ledger, how they are made, and how older ones are brought up to date.

`event` is the truth, append-only; the others are derived from it in the same transaction. Money is in whole units,
times are microseconds since 1970 (UTC). A change here needs a migration beside it.
"""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection

REVISION = "0004"  # of the tables this version reads and writes

metadata = sa.MetaData()
_Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _of_campaign() -> sa.Column[int]:
    return sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), primary_key=True)


campaign = sa.Table(
    "campaign",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False, unique=True),
    sa.Column("seq", _Big, nullable=False),  # of the last event
    sa.Column("at", _Big, nullable=False),
    sa.Column("budget", _Big, nullable=False),
    sa.Column("spent", _Big, nullable=False),
    sa.Column("reserved", _Big, nullable=False),
    sa.Column("reward", sa.Float(53), nullable=False),
    sa.Column("paused", sa.Boolean, nullable=False),
    sa.Column("ended", sa.String(16)),
    sa.Column("requests", _Big),  # NULL where there is no limit to them
    sa.Column("used", _Big, nullable=False),  # requests
    sa.Column("forecast", _Big),  # of requests; NULL where nobody made one
    sa.Column("head", sa.String(64), nullable=False),  # the hash of the last event
    sa.Column("archived", sa.Boolean, nullable=False),
    sa.Column("window_start", _Big),  # NULL where there are no windows, like the next
    sa.Column("window_end", _Big),
    sa.Column("spent_before_window", _Big, nullable=False),  # spent on pulls of earlier windows
    sa.Column("spent_on_fallback", _Big, nullable=False),  # spent on fallbacks
    sa.Column("reserved_elsewhere", _Big, nullable=False),  # set aside for pulls of these kinds
    sa.Column("used_before_window", _Big, nullable=False),  # requests, in earlier windows
)

arm = sa.Table(
    "arm",
    metadata,
    _of_campaign(),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("max_cost", _Big),
    sa.Column("mean_cost", sa.Float(53)),
    sa.Column("enabled", sa.Boolean, nullable=False),
    sa.Column("pulls", _Big, nullable=False),
    sa.Column("in_flight", _Big, nullable=False),
    sa.Column("spent", _Big, nullable=False),
    sa.Column("reserved", _Big, nullable=False),
    sa.Column("reward", sa.Float(53), nullable=False),
    sa.Column("samples", _Big, nullable=False),
    sa.Column("cost_reports", _Big, nullable=False),
    sa.Column("max_cost_seen", _Big, nullable=False),
    sa.Column("squares", sa.Float(53), nullable=False),
    sa.Column("cost_squares", sa.Float(53), nullable=False),
    sa.Column("products", sa.Float(53), nullable=False),
    sa.Column("rewarded", _Big, nullable=False),
    sa.Column("awaited", _Big, nullable=False),
    sa.Column("overdue", _Big, nullable=False),
    sa.Column("changed", _Big),  # when it was last seen to have changed
    sa.Column("forgotten", _Big, nullable=False),  # samples
    sqlite_with_rowid=False,
)

pull = sa.Table(
    "pull",
    metadata,
    _of_campaign(),
    sa.Column("number", _Big, primary_key=True),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("reserved", _Big, nullable=False),
    sa.Column("asked", _Big, nullable=False),
    sa.Column("key", sa.String(200)),
    sa.Column("ttl", _Big),
    sa.Column("expires", _Big),
    sa.Column("propensity", sa.Float(53)),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("cost", _Big),
    sa.Column("reward", sa.Float(53)),
    sa.Column("told_cost", _Big),
    sa.Column("told_reward", sa.Float(53)),
    sa.Column("sample_index", _Big),
    sa.Column("late", sa.Boolean, nullable=False),
    sa.Column("overrun", sa.Boolean, nullable=False),
    sa.Column("amended", sa.Boolean, nullable=False),
    sa.Column("fallback", sa.Boolean, nullable=False),
    sa.Column("reward_due", _Big),
    sa.Column("overdue", sa.Boolean, nullable=False),
    sa.Column("context", sa.Text),  # JSON; NULL where the campaign has none
    sqlite_with_rowid=False,
)
# Most pulls have no key: in SQLite, where each commit writes whole pages, these stay out of the index.
_with_key = pull.c.key.is_not(None)
sa.Index("one_pull_a_key", pull.c.campaign, pull.c.key, unique=True, sqlite_where=_with_key)

# In SQLite, in the order of writing: in that of campaigns, each of them would have a last page of its own to split.
event = sa.Table(
    "event",
    metadata,
    _of_campaign(),
    sa.Column("seq", _Big, primary_key=True),
    sa.Column("at", _Big, nullable=False),
    sa.Column("body", sa.Text, nullable=False),  # JSON
    sa.Column("transaction_id", sa.String(40), nullable=False),  # of the transaction that wrote it
    sa.Column("before", sa.String(64), nullable=False),  # the hash of the event before it
)

snapshot = sa.Table(
    "snapshot",
    metadata,
    _of_campaign(),
    sa.Column("seq", _Big, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

# As Alembic makes it, which finds here where to go on.
_version = sa.Table("alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))


def make(connection: Connection) -> None:
    """Make the tables in a database that has none of them; to load Alembic and walk all migrations takes longer."""
    metadata.create_all(connection, checkfirst=False)
    _version.create(connection)
    connection.execute(sa.insert(_version), {"version_num": REVISION})


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
