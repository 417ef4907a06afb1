"""The first tables. A new database gets those of today at once, and is marked as if it had walked all revisions."""

from alembic import op

from outlay.campaign.stores.schema import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    metadata.create_all(op.get_bind(), checkfirst=False)
