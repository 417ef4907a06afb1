"""`outlay campaign cancel | charge | extend | amend`: pulls that do not end as they should."""

from decimal import Decimal

import click

from outlay.cli.campaign.shared import Numbered, amount, do, example, on_campaign


@click.command(cls=Numbered, epilog=example('outlay campaign cancel 17 --reason "the job was dropped"'))
@on_campaign
@click.argument("pull", type=int)
@click.option("--reason", default="", help="A note for the ledger.")
def cancel(store: str, name: str, pull: int, reason: str) -> None:
    """Say that PULL was never made: nothing is charged and nothing learned."""
    do(store, name, lambda campaign: campaign.cancel(pull, reason))


@click.command(cls=Numbered, epilog=example("outlay campaign charge 17"))
@on_campaign
@click.argument("pull", type=int)
def charge(store: str, name: str, pull: int) -> None:
    """Give PULL up, and charge what was set aside for it until it is told after all."""
    do(store, name, lambda campaign: campaign.charge(pull))


@click.command(cls=Numbered, epilog=example("outlay campaign extend 17 --ttl 7200"))
@on_campaign
@click.argument("pull", type=int)
@click.option("--ttl", type=float, required=True, metavar="SECONDS", help="How long the pull may take, from now.")
def extend(store: str, name: str, pull: int, ttl: float) -> None:
    """Give PULL, which is under way, more time."""
    do(store, name, lambda campaign: campaign.extend(pull, ttl))


@click.command(
    cls=Numbered, epilog=example('outlay campaign amend 17 --cost 0.0040 --reward 1 --reason "the invoice says so"')
)
@on_campaign
@click.argument("pull", type=int)
@click.option("--cost", type=amount, help="What the pull cost; as it was told if not given.")
@click.option("--reward", type=float, help="What it earned; as it was told if not given.")
@click.option("--reason", default="", help="A note for the ledger.")
def amend(store: str, name: str, pull: int, cost: Decimal | None, reward: float | None, reason: str) -> None:
    """Correct what was told about PULL, on the record."""
    do(store, name, lambda campaign: campaign.amend(pull, cost, reward, reason))
