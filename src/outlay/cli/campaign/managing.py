"""`outlay campaign budget | requests | expect | arm | warm | pause | resume | close | archive | restore`."""

import csv
import hashlib
import io
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, BinaryIO

import click

from outlay.cli.campaign.shared import Numbered, amount, do, example, object_of, on_campaign, opened, show

COLUMNS = ("arm", "cost", "reward")


@click.command(cls=Numbered, epilog=example("outlay campaign budget 80"))
@on_campaign
@click.argument("money", metavar="AMOUNT", type=amount)
def budget(store: str, name: str, money: Decimal) -> None:
    """Change the budget to AMOUNT; a larger one reopens a campaign that was exhausted."""
    do(store, name, lambda campaign: campaign.set_budget(money))


@click.command(cls=Numbered, epilog=example("outlay campaign requests 12000"))
@on_campaign
@click.argument("number", metavar="NUMBER", type=int)
def requests(store: str, name: str, number: int) -> None:
    """Change how many pulls may be made in all; more of them reopen a campaign that was exhausted."""
    do(store, name, lambda campaign: campaign.set_requests(number))


@click.command(cls=Numbered, epilog=example("outlay campaign expect 4000"))
@on_campaign
@click.argument("number", metavar="NUMBER", type=int)
def expect(store: str, name: str, number: int) -> None:
    """Say how many requests are still to come: the policy paces itself by that, and nothing is refused for it."""
    do(store, name, lambda campaign: campaign.expect_requests(number))


@click.group()
def arm() -> None:
    """Add another arm, or stop and resume the use of one."""


@arm.command(epilog=example("outlay campaign arm add medium --max-cost 0.2"))
@on_campaign
@click.argument("arm")
@click.option("--max-cost", type=amount, help="The most that a pull can cost.")
@click.option("--cost", type=float, help="What a pull costs on average, if that is known.")
def add(store: str, name: str, arm: str, max_cost: Decimal | None, cost: float | None) -> None:
    """Add another ARM."""
    do(store, name, lambda campaign: campaign.add_arm(arm, max_cost, cost))


@arm.command(epilog=example("outlay campaign arm disable large"))
@on_campaign
@click.argument("arm")
def disable(store: str, name: str, arm: str) -> None:
    """Stop using ARM; pulls under way can still be told."""
    do(store, name, lambda campaign: campaign.disable_arm(arm))


@arm.command(epilog=example("outlay campaign arm enable large"))
@on_campaign
@click.argument("arm")
def enable(store: str, name: str, arm: str) -> None:
    """Use a disabled ARM again."""
    do(store, name, lambda campaign: campaign.enable_arm(arm))


@click.command(epilog=example("outlay campaign warm last-month.csv", "jq -c . log.json | outlay campaign warm -"))
@on_campaign
@click.argument("file", type=click.File("rb"))
@click.option("--key", help="A name for this log, which is learned once; made from its content if not given.")
def warm(store: str, name: str, file: BinaryIO, key: str | None) -> None:
    """Let the policy learn from a log, at no cost: FILE has columns arm, cost and reward.

    It is CSV with a header, or lines of JSON; - is stdin. Other columns are ignored.
    """
    content = file.read()
    samples = list(_samples(content, getattr(file, "name", "<stdin>")))
    with opened(store, name) as campaign:
        key = hashlib.sha256(content).hexdigest() if key is None else key
        show({"samples": campaign.warm_start(samples, key), "key": key})


@click.command(epilog=example("outlay campaign pause"))
@on_campaign
def pause(store: str, name: str) -> None:
    """Name no arm until `resume`; tells are still accepted."""
    do(store, name, lambda campaign: campaign.pause())


@click.command(epilog=example("outlay campaign resume"))
@on_campaign
def resume(store: str, name: str) -> None:
    """Name arms again."""
    do(store, name, lambda campaign: campaign.resume())


@click.command(epilog=example("outlay campaign close"))
@on_campaign
def close(store: str, name: str) -> None:
    """End the campaign for good; pulls under way can still be told."""
    do(store, name, lambda campaign: campaign.close())


@click.command(epilog=example("outlay campaign archive", "outlay campaign list --archived"))
@on_campaign
def archive(store: str, name: str) -> None:
    """Put the campaign away: it is listed no more and names no arm; pulls under way can still be told."""
    do(store, name, lambda campaign: campaign.archive())


@click.command(epilog=example("outlay campaign restore"))
@on_campaign
def restore(store: str, name: str) -> None:
    """Bring back a campaign that was archived, as it was."""
    do(store, name, lambda campaign: campaign.restore())


def _samples(content: bytes, title: str) -> Iterator[tuple[str, Decimal, float]]:
    """The rows of a log; BadFile, with the line, where it is none."""
    from outlay.errors import BadFile

    try:
        lines = io.StringIO(content.decode("utf-8-sig"), newline="").readlines()
    except UnicodeDecodeError:
        raise BadFile(f"{title} is not UTF-8") from None
    for number, read in _rows(lines, title):
        try:
            row = read()
            yield str(row["arm"]), Decimal(str(row["cost"])), float(str(row["reward"]))
        except InvalidOperation:
            raise BadFile(f"{title}, line {number}: its cost is no number") from None
        except ValueError as error:
            raise BadFile(f"{title}, line {number}: {error}") from None


def _rows(lines: list[str], title: str) -> Iterator[tuple[int, Callable[[], dict[str, Any]]]]:
    """The rows of a log, each with the number of its line, and still to be read."""
    from outlay.errors import BadFile

    if lines and lines[0].lstrip().startswith("{"):
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, partial(object_of, line, *COLUMNS)
        return
    table = csv.DictReader(lines)
    try:
        if not set(COLUMNS) <= set(table.fieldnames or ()):
            raise BadFile(f"{title} must have columns {', '.join(COLUMNS)}, or be lines of JSON")
        for row in table:
            yield table.line_num, partial(dict, row)
    except csv.Error as error:
        raise BadFile(f"{title}, line {table.line_num + 1}: {error}") from None
