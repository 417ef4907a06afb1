"""Rewards that come after the cost: when they are due, how many each arm waits for. Before, every pull had its own."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns, where the first revision has not just made the tables as they are today."""
    if "reward_due" in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("pull")}:
        return
    for name in ("rewarded", "awaited", "overdue"):
        op.add_column("arm", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    op.execute("UPDATE arm SET rewarded = pulls")
    op.add_column("pull", sa.Column("reward_due", sa.BigInteger))
    op.add_column("pull", sa.Column("overdue", sa.Boolean, nullable=False, server_default=sa.false()))
