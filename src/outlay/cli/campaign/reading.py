"""`outlay campaign status | pulls | history | list`: how things stand, and how they came to."""

import csv
import json
import sys
from typing import Any

import click

from outlay.cli.campaign.shared import example, in_store, on_campaign, opened, plain, show
from outlay.text import harmless


def on_terminal() -> bool:
    """Whether somebody reads what is printed, and no program."""
    return sys.stdout.isatty()


@click.command(epilog=example("outlay campaign status", "outlay campaign status | jq .left"))
@on_campaign
@click.option("--json", "as_json", is_flag=True, help="Print JSON also on a terminal.")
def status(store: str, name: str, as_json: bool) -> None:
    """Print how the campaign stands: its phase, budget, spent, reserved, left, reward, and each arm.

    On a terminal that is a table, anywhere else one line of JSON.
    """
    with opened(store, name) as campaign:
        found = campaign.status()
    if as_json or not on_terminal():
        show(found)
        return
    from rich.console import Console

    from outlay.cli.campaign.standing import standing

    console = Console(highlight=False)
    console.print(standing(found, console.width))


@click.command(
    epilog=example("outlay campaign history --after 1000", "outlay campaign history --format csv > events.csv")
)
@on_campaign
@click.option("--after", type=int, default=0, help="Only events after this number.")
@click.option(
    "--format", "kind", type=click.Choice(["json", "csv"]), default="json", show_default=True, help="How to print them."
)
def history(store: str, name: str, after: int, kind: str) -> None:
    """Print the events in order, one per line: seq, at, kind, pull, arm, cost, reward, more."""
    from outlay.campaign import Entry

    table = csv.writer(sys.stdout, lineterminator="\n")
    if kind == "csv":
        table.writerow(Entry.__struct_fields__)
    with opened(store, name) as campaign:
        for entry in campaign.history(after):
            if kind == "csv":
                row = plain(entry)
                table.writerow([*map(harmless, list(row.values())[:-1]), json.dumps(row["more"], ensure_ascii=False)])
            else:
                show(entry)


@click.command(epilog=example("outlay campaign pulls --status open", "outlay campaign pulls --tag nightly | jq .pull"))
@on_campaign
@click.option("--status", type=click.Choice(["open", "told", "cancelled", "expired"]), help="Only those that stand so.")
@click.option("--tag", help="Only those that were asked for with this tag.")
@click.option("--key", help="Only those that were asked for with this key.")
@click.option("--after", type=int, default=0, help="Only those after the pull of this number.")
@click.option("--limit", type=int, help="At most so many.")
def pulls(store: str, name: str, **wanted: Any) -> None:
    """Print the pulls in order, one per line: how each stands, what it counts for, its key, tags and metadata."""
    with opened(store, name) as campaign:
        for pull in campaign.pulls(**wanted):
            show(pull)


@click.command("list", epilog=example("outlay campaign list --store sqlite:///spend.db"))
@in_store
@click.option("--archived", is_flag=True, help="Those that were archived, instead of the others.")
def list_(store: str, archived: bool) -> None:
    """Print how every campaign of the store stands, one per line."""
    from outlay.campaign import campaigns

    for standing in campaigns(store, archived):
        show(standing)
