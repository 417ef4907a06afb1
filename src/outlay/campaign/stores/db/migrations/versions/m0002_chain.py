"""Each event carries the hash of the one before, and a campaign that of the last; older events stay without."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make room for the hashes."""
    op.add_column("event", sa.Column("before", sa.String(64)))
    op.add_column("campaign", sa.Column("head", sa.String(64)))
