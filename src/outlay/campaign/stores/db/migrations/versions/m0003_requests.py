"""Requests beside money: how many there are, used and expected; what an arm costs on average, how its rewards vary."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make room for them. Pulls of before count as requests, too, where they were not voided."""
    op.add_column("campaign", sa.Column("requests", BIG))
    op.add_column("campaign", sa.Column("used", BIG, nullable=False, server_default="0"))
    op.add_column("campaign", sa.Column("forecast", BIG))
    for name in ("mean_cost", "squares", "cost_squares", "products"):
        op.add_column("arm", sa.Column(name, sa.Float(53)))
    event, campaign = (
        sa.table("event", sa.column("campaign"), sa.column("body")),
        sa.table("campaign", sa.column("id"), sa.column("used")),
    )

    def count(kind: str) -> sa.ScalarSelect[int]:
        about = event.c.campaign == campaign.c.id, event.c.body.startswith(f'{{"kind":"{kind}"', autoescape=True)
        return sa.select(sa.func.count()).select_from(event).where(*about).scalar_subquery()

    op.execute(sa.update(campaign).values({"used": count("asked") - count("voided")}))
