"""`outlay campaign`, what it tells: how things stand and came to, in a terminal or as JSON; and the ledger itself."""

import csv
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outlay.cli.campaign_verbs import param_option
from outlay.cli.compare import complete_policies
from outlay.cli.options import by_name, console, example, in_store, on_campaign, plain, show
from outlay.text import harmless

if TYPE_CHECKING:
    from outlay.campaign import Campaign

FAILED = 1  # exit code


@click.command(epilog=example("outlay campaign verify || mail -s 'the ledger is damaged' me"))
@in_store
@by_name
@click.option("--expected-head", metavar="HASH", help="Of an event, from a receipt or an export: it must be there.")
@click.pass_context
def verify(ctx: click.Context, store: str, name: str, expected_head: str | None) -> None:
    """Fold and decide every event again, and compare with every row and every choice.

    Prints {"name", "events", "pulls", "problems", "notes", "choices_checked", "head"}; exits with 1 where there
    are problems.
    """
    from outlay.campaign import verify

    verdict = verify(store, name, expected_head=expected_head)
    show(verdict)
    ctx.exit(0 if verdict.ok else FAILED)


@click.command(epilog=example("outlay campaign export ledger.ndjson", "outlay campaign export - | zstd > ledger.zst"))
@in_store
@by_name
@click.argument("file", type=click.Path(allow_dash=True))
def export(store: str, name: str, file: str) -> None:
    """Write the ledger to a new FILE, lines of JSON that `import` reads; - is stdout."""
    from outlay.campaign import export_ledger

    if file == "-":
        export_ledger(store, sys.stdout.buffer, name)
    else:
        show({"wrote": file, "events": export_ledger(store, file, name)})


@click.command("import", epilog=example("outlay campaign import ledger.ndjson --store postgresql://me@server/spending"))
@in_store
@click.option("--name", help="The campaign's name in the store; as it was if not given.")
@click.argument("file", type=click.Path(allow_dash=True))
@click.pass_context
def import_(ctx: click.Context, store: str, name: str | None, file: str) -> None:
    """Make a campaign from FILE, which `export` wrote, and verify it; - is stdin. All of it is taken, or nothing."""
    from outlay.campaign import import_ledger

    verdict = import_ledger(store, sys.stdin.buffer if file == "-" else file, name)
    show(verdict)
    ctx.exit(0 if verdict.ok else FAILED)


@click.command(epilog=example("outlay campaign backup spend-$(date +%F).db --store sqlite:///spend.db"))
@in_store
@click.argument("file", type=click.Path(path_type=Path))
def backup(store: str, file: Path) -> None:
    """Copy a SQLite store with all its campaigns to a new FILE, while it is in use."""
    from outlay.campaign import backup

    backup(store, file)
    show({"wrote": str(file)})


@click.command(epilog=example("outlay campaign status", "outlay campaign status | jq .left"))
@on_campaign
@click.option("--json", "as_json", is_flag=True, help="Print JSON also on a terminal.")
def status(campaign: "Campaign", as_json: bool) -> None:
    """Print how the campaign stands: its phase, budget, spent, reserved, left, reward, and each arm.

    On a terminal that is a table, anywhere else one line of JSON.
    """
    found = campaign.status()
    if as_json or not sys.stdout.isatty():
        show(found)
        return
    from outlay.cli.campaign_picture import standing

    terminal = console()
    terminal.print(standing(found, terminal.width))


@click.command(
    epilog=example("outlay campaign history --after 1000", "outlay campaign history --format csv > events.csv")
)
@on_campaign
@click.option("--after", type=int, default=0, help="Only events after this number.")
@click.option(
    "--format", "kind", type=click.Choice(["json", "csv"]), default="json", show_default=True, help="How to print them."
)
def history(campaign: "Campaign", after: int, kind: str) -> None:
    """Print the events in order, one per line: seq, at, kind, pull, arm, cost, reward, more."""
    from outlay.campaign import Entry

    table = csv.writer(sys.stdout, lineterminator="\n")
    if kind == "csv":
        table.writerow(Entry.__struct_fields__)
    for entry in campaign.history(after):
        if kind == "csv":
            *cells, more = plain(entry).values()
            table.writerow([*map(harmless, cells), json.dumps(more, ensure_ascii=False)])
        else:
            show(entry)


@click.command(epilog=example("outlay campaign pulls --status open", "outlay campaign pulls --tag nightly | jq .id"))
@on_campaign
@click.option(
    "--status", type=click.Choice(["open", "paid", "told", "cancelled", "expired"]), help="Only those that stand so."
)
@click.option("--tag", help="Only those that were asked for with this tag.")
@click.option("--key", help="Only those that were asked for with this key.")
@click.option("--after", type=int, default=0, help="Only those after the pull of this number.")
@click.option("--limit", type=int, help="At most so many.")
@click.option("--csv", "as_csv", is_flag=True, help="Print all of them as a log that `outlay advise` reads.")
def pulls(campaign: "Campaign", as_csv: bool, **wanted: Any) -> None:
    """Print the pulls in order, one per line: how each stands, what it counts for, its key, tags and metadata."""
    if as_csv:
        if any(value not in (None, 0) for value in wanted.values()):
            raise click.UsageError("--csv prints all pulls")
        columns, rows = campaign.log()
        table = csv.writer(sys.stdout, lineterminator="\n")
        table.writerow(map(harmless, columns))
        table.writerows(map(harmless, row) for row in rows)
        return
    for pull in campaign.pulls(**wanted):
        show(pull)


@click.command(epilog=example("outlay campaign segments tenant"))
@on_campaign
@click.argument("by")
def segments(campaign: "Campaign", by: str) -> None:
    """Print pulls, spend and reward for each category that the context has under the name BY, one per line."""
    for segment in campaign.segments(by):
        show(segment)


@click.command(
    epilog=example(
        "outlay campaign shadow LinearRation", "outlay campaign shadow LinearRation --param alpha=0.5 | jq .gain"
    )
)
@on_campaign
@click.argument("policy", required=False, shell_complete=complete_policies)
@param_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON also on a terminal.")
def shadow(campaign: "Campaign", policy: str | None, parameters: tuple[tuple[str, Any], ...], as_json: bool) -> None:
    """Say what another POLICY would have earned with the requests so far; without, the default for such a campaign.

    On a terminal that is a few sentences, anywhere else one line of JSON: {"policy", "other", "requests", "same",
    "by_chance", "by_model", "unserved", "basis", "reward", "cost", "other_reward", "other_cost", "gain", "unknown",
    "words"}. It takes up to twice as long as `verify`.
    """
    if policy is None and parameters:
        raise click.UsageError("--param needs a POLICY")
    found = campaign.shadow(None if policy is None else {"name": policy, "parameters": dict(parameters)})
    if as_json or not sys.stdout.isatty():
        show(found)
    else:
        click.echo(found.words)


@click.command("list", epilog=example("outlay campaign list --store sqlite:///spend.db"))
@in_store
@click.option("--archived", is_flag=True, help="Those that were archived, instead of the others.")
def list_(store: str, archived: bool) -> None:
    """Print how every campaign of the store stands, one per line."""
    from outlay.campaign import campaigns

    for standing in campaigns(store, archived):
        show(standing)


@click.command(epilog=example("outlay campaign watch", "outlay campaign watch --once | head -20"))
@on_campaign
@click.option("--once", is_flag=True, help="Print one frame and end, as when the output is no terminal.")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=1.0, show_default=True, metavar="SECONDS", help="When to redraw."
)
def watch(campaign: "Campaign", once: bool, every: float) -> None:
    """Watch the campaign: money left over time, arms with rates and intervals, pulls under way, last events.

    Ctrl-C ends it. An interval holds the arm's rate with a probability of 95 %.
    """
    from rich.console import Console
    from rich.live import Live

    from outlay.campaign.monitor import CampaignMonitor
    from outlay.cli.campaign_picture import picture

    terminal, watching = Console(highlight=False), CampaignMonitor(campaign)
    if once or not terminal.is_terminal:
        terminal.print(picture(watching.look(), terminal.width))
        return
    last = picture(watching.look(), *terminal.size)
    live = Live(last, console=terminal, screen=True, auto_refresh=False)
    try:
        live.start()  # within: Ctrl-C in the middle of it must leave the screen as it was, too
        while True:
            live.update(last, refresh=True)
            time.sleep(every)
            last = picture(watching.look(), *terminal.size)
    except KeyboardInterrupt:
        pass  # the way to end it
    finally:
        live.stop()
    terminal.print(last)  # the last frame stays
