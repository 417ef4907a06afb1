"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("seq", _big, nullable=False),
        sa.Column("at", _big, nullable=False),
        sa.Column("budget", _big, nullable=False),
        sa.Column("spent", _big, nullable=False),
        sa.Column("reserved", _big, nullable=False),
        sa.Column("reward", sa.Float(53), nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("ended", sa.String(16)),
    )
    op.create_table(
        "arm",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("max_cost", _big),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("pulls", _big, nullable=False),
        sa.Column("in_flight", _big, nullable=False),
        sa.Column("spent", _big, nullable=False),
        sa.Column("reserved", _big, nullable=False),
        sa.Column("reward", sa.Float(53), nullable=False),
        sa.Column("samples", _big, nullable=False),
        sa.Column("heard", _big, nullable=False),
        sa.Column("dearest", _big, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "decision",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), primary_key=True),
        sa.Column("number", _big, primary_key=True),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("reserved", _big, nullable=False),
        sa.Column("asked", _big, nullable=False),
        sa.Column("key", sa.String(200)),
        sa.Column("ttl", _big),
        sa.Column("expires", _big),
        sa.Column("propensity", sa.Float(53)),
        sa.Column("standing", sa.String(16), nullable=False),
        sa.Column("cost", _big),
        sa.Column("reward", sa.Float(53)),
        sa.Column("told_cost", _big),
        sa.Column("told_reward", sa.Float(53)),
        sa.Column("place", _big),
        sa.Column("late", sa.Boolean, nullable=False),
        sa.Column("overrun", sa.Boolean, nullable=False),
        sa.Column("amended", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("one_decision_a_key", "decision", ["campaign", "key"], unique=True)
    op.create_table(
        "event",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), primary_key=True),
        sa.Column("seq", _big, primary_key=True),
        sa.Column("at", _big, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("batch", sa.String(40), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshot",
        sa.Column("campaign", sa.Integer, sa.ForeignKey("campaign.id"), primary_key=True),
        sa.Column("seq", _big, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
