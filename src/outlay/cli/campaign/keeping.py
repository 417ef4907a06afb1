"""`outlay campaign verify | export | import | backup`: the ledger itself."""

import sys
from pathlib import Path

import click

from outlay.cli.campaign.shared import example, in_store, on_campaign, show

FAILED = 1  # exit code


@click.command(epilog=example("outlay campaign verify || mail -s 'the ledger is damaged' me"))
@on_campaign
@click.option("--expected-head", metavar="HASH", help="Of an event, from a receipt or an export: it must be there.")
@click.pass_context
def verify(ctx: click.Context, store: str, name: str, expected_head: str | None) -> None:
    """Fold and decide every event again, and compare with every row and every choice.

    Prints {"name", "events", "decisions", "problems", "notes", "choices_checked", "head"}; exits with 1 where there
    are problems.
    """
    from outlay.campaign import verify

    verdict = verify(store, name, expected_head=expected_head)
    show(verdict)
    ctx.exit(0 if verdict.ok else FAILED)


@click.command(epilog=example("outlay campaign export ledger.ndjson", "outlay campaign export - | zstd > ledger.zst"))
@on_campaign
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
