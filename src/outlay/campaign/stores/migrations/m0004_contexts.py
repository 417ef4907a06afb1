"""What a pull was asked for: the features of its request. Before, no campaign looked at them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column, where the first revision has not just made the tables as they are today."""
    if "context" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("pull")}:
        op.add_column("pull", sa.Column("context", sa.Text))
