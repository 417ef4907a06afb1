"""What processes on one server leave for each other."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make room for it on a server; files have turns."""
    if op.get_context().dialect.name == "sqlite":
        return
    op.create_table(
        "errand",
        sa.Column("campaign", sa.Integer, primary_key=True),
        sa.Column("process", sa.String(20), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.clock_timestamp()),
        prefixes=["UNLOGGED"],
        postgresql_with={"fillfactor": 20},
    )
