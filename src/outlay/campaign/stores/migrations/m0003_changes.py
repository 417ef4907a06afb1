"""Arms that change: when each was last seen to have done so, and how many of its samples are forgotten for that."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns, where the first revision has not just made the tables as they are today."""
    if "forgotten" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("arm")}:
        op.add_column("arm", sa.Column("changed", sa.BigInteger))
        op.add_column("arm", sa.Column("forgotten", sa.BigInteger, nullable=False, server_default="0"))
