"""`outlay serve` and `outlay migrate`: campaigns over HTTP, and a store brought to this version."""

import os
from typing import Any

import click

from outlay.cli.campaign.shared import example, in_store
from outlay.service.settings import Settings

DEFAULT = Settings()


@click.command(
    epilog=example(
        "outlay serve",
        "outlay keys new --scope ask --scope tell workers",
        "outlay serve --host 0.0.0.0 --allowed-host budget.example.com --store postgresql://me:secret@server/spending",
    )
)
@in_store
@click.option("--host", default=DEFAULT.host, show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT.port, show_default=True, help="The port.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="A name of the service; repeatable.")
@click.option("--proxy", metavar="ADDRESS", help="Of a proxy that says for whom it calls, and whether by https.")
@click.option("--warn", "warn_at", type=float, multiple=True, help="Warn when this share of a budget is spent, as 0.8.")
@click.option("--webhook", envvar="OUTLAY_WEBHOOK", metavar="URL", help="Where warnings go, signed; else only the log.")
@click.option("--log-all", is_flag=True, help="Log every request, not only those that fail or change something.")
@click.option("--trace", is_flag=True, help="Trace requests by OpenTelemetry, which must be installed.")
def serve(store: str, **options: Any) -> None:
    """Serve campaigns over HTTP: an API under /v1, a dashboard at /, numbers at /metrics.

    Without keys it answers programs on this machine alone; `outlay keys new` makes one. Logs are lines of JSON on
    stderr. SIGTERM and Ctrl-C end it when what is under way is done.
    """
    from outlay.service import serve

    settings = Settings(store=store, webhook_secret=os.environ.get("OUTLAY_WEBHOOK_SECRET", ""), **options)
    serve(settings, lambda address: click.echo(f"outlay serves {address}"))


@click.command(epilog=example("outlay campaign backup before.db", "outlay migrate"))
@in_store
def migrate(store: str) -> None:
    """Bring a store that an older version made to this one; nobody may use it meanwhile.

    `outlay serve` never does this by itself.
    """
    from outlay.campaign.stores.engines import connect, is_older

    older = is_older(store, "migrate")
    connect(store, new=False, owner="migrate").dispose()
    click.echo("the store was brought to this version" if older else "the store is of this version already")
