"""Budgets by windows, fallbacks outside the budget, campaigns that are archived."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make room for them; campaigns of before have none."""
    op.add_column("campaign", sa.Column("archived", sa.Boolean, nullable=False, server_default=sa.false()))
    for name in ("window_start", "window_end"):
        op.add_column("campaign", sa.Column(name, BIG))
    for name in ("earlier", "outside", "apart", "used_before"):
        op.add_column("campaign", sa.Column(name, BIG, nullable=False, server_default="0"))
    op.add_column("decision", sa.Column("fallback", sa.Boolean, nullable=False, server_default=sa.false()))
