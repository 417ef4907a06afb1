"""`outlay serve | migrate | keys | demo-service`: campaigns over HTTP, who may use them, and a load to try it with."""

import os
import random
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import asdict

from outlay.cli.options import Summaries, example, in_store, show
from outlay.errors import OutlayError
from outlay.service import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from outlay.campaign import Campaign
    from outlay.integrations.gateway import Gateway
    from outlay.service.auth import Key

DEFAULT = ServiceSettings()


@click.command(
    epilog=example(
        "outlay serve",
        "outlay keys new --scope ask --scope tell workers",
        "outlay serve --proxy gateway.toml",
        "outlay serve --host 0.0.0.0 --allowed-host budget.example.com --store postgresql://me:secret@server/spending",
    )
)
@in_store
@click.option("--host", default=DEFAULT.host, show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT.port, show_default=True, help="The port.")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="A name of the service; repeatable.")
@click.option("--proxy", metavar="FILE", help="Serve language models at /v1/chat/completions, too, as FILE.toml says.")
@click.option("--trusted-proxy", metavar="ADDRESS", help="Of a proxy that says for whom it calls, and if by https.")
@click.option("--warn", "warn_at", type=float, multiple=True, help="Warn when this share of a budget is spent, as 0.8.")
@click.option("--webhook", envvar="OUTLAY_WEBHOOK", metavar="URL", help="Where warnings go, signed; else only the log.")
@click.option("--log-all", is_flag=True, help="Log every request, not only those that fail or change something.")
@click.option("--trace", is_flag=True, help="Trace requests by OpenTelemetry, which must be installed.")
def serve(store: str, proxy: str | None, **options: Any) -> None:
    """Serve campaigns over HTTP: an API under /v1, a dashboard at /, numbers at /metrics.

    Without keys it answers programs on this machine alone; `outlay keys new` makes one. Logs are lines of JSON on
    stderr. SIGTERM and Ctrl-C end it when what is under way is done.
    """
    from outlay.service import serve

    settings = ServiceSettings(store=store, webhook_secret=os.environ.get("OUTLAY_WEBHOOK_SECRET", ""), **options)
    serve(settings, lambda address: click.echo(f"outlay serves {address}"), beside=_gateway(proxy, settings))


def _gateway(path: str | None, settings: ServiceSettings) -> "Callable[[], Gateway] | None":
    if path is None:
        return None
    if not path.endswith(".toml"):
        what = "a TOML file, such as gateway.toml; the address of a proxy in front is --trusted-proxy"
        raise click.UsageError(f"--proxy must be {what}; got {path!r}")
    from outlay.integrations.gateway import Gateway
    from outlay.integrations.gateway_file import load

    file = load(path)
    return lambda: Gateway(file, settings)


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


SCOPES = ("ask", "tell", "read", "admin")


@click.group(cls=Summaries)
def keys() -> None:
    """Make, list and revoke the keys of the service; once there is one, every request needs one."""


@keys.command(epilog=example("outlay keys new --scope ask --scope tell --campaign spring --days 90 workers"))
@in_store
@click.argument("name")
@click.option("--scope", "scopes", type=click.Choice(SCOPES), multiple=True, required=True, help="What it may do.")
@click.option("--campaign", "campaigns", multiple=True, help="What it may see; all campaigns if not given.")
@click.option("--days", type=float, help="When it expires; never if not given.")
def new(store: str, name: str, scopes: tuple[str, ...], campaigns: tuple[str, ...], days: float | None) -> None:
    """Make a key called NAME, and print it: it is shown this once, and only its hash is kept."""
    from outlay.service.auth import KeyStore

    token, key = KeyStore(store).new(name, scopes, campaigns, days)
    show({"key": token, **_shown(key)})


@keys.command("list", epilog=example("outlay keys list | jq 'select(.revoked == null)'"))
@in_store
def list_(store: str) -> None:
    """Print all keys, the oldest first: their names, scopes, and when they were last used."""
    from outlay.service.auth import KeyStore

    for key in KeyStore(store).all():
        show(_shown(key))


@keys.command(epilog=example("outlay keys revoke 1f6a09c2"))
@in_store
@click.argument("key", metavar="ID")
def revoke(store: str, key: str) -> None:
    """Let the key ID be used no more, within a second."""
    from outlay.service.auth import KeyStore

    KeyStore(store).revoke(key)


@keys.command(epilog=example("outlay keys audit | jq 'select(.status >= 400)'"))
@in_store
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
def audit(store: str, limit: int) -> None:
    """Print what was done with admin keys, the newest first."""
    from outlay.service.auth import KeyStore

    for entry in KeyStore(store).entries(limit):
        show({**asdict(entry), "at": entry.at.isoformat(timespec="seconds")})


def _shown(key: "Key") -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "campaigns": sorted(key.campaigns),
        **{field: _time(getattr(key, field)) for field in ("created", "expires", "revoked", "used")},
    }


def _time(micros: int | None) -> str | None:
    return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC).isoformat(timespec="seconds")


class DemoModel(NamedTuple):
    """A language model as the demo pretends it: what a call costs at most, on average, and how often it is right."""

    most: float
    cost: float
    right: float
    seconds: float


CALLS = 200  # that a dollar is to serve, in the first campaign
MODELS = {
    "tiny": DemoModel(0.002, 0.0004, 0.35, 0.05),
    "small": DemoModel(0.01, 0.002, 0.62, 0.1),
    "medium": DemoModel(0.05, 0.012, 0.78, 0.2),
    "large": DemoModel(0.3, 0.08, 0.9, 0.4),
}


@click.command("demo-service")
@click.option("--port", type=click.IntRange(0, 65535), default=8700, show_default=True, help="The port.")
@click.option("--seconds", type=float, help="End after so many seconds; Ctrl-C ends it otherwise.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), default=100, show_default=True, help="Dollars.")
def demo_service(port: int, seconds: float | None, budget: float) -> None:
    """Serve a store in a temporary folder, and route pretended language-model calls through it.

    Open the address that it prints: for each dollar 200 calls are to be shared out among four models of different
    prices and skill, by eight workers; four more try thirty prompts with a quarter of the money.
    """
    from outlay.campaign import Campaign
    from outlay.service import serve

    chance = random.Random(7)  # noqa: S311 (no secret)
    prompts = {}
    for number in range(1, 31):  # the longer, the dearer, and some are better than others
        size = chance.uniform(0.5, 2.0)
        prompts[f"prompt {number:02}"] = DemoModel(0.02 * size, 0.005 * size, chance.uniform(0.2, 0.8), 0.2)
    stop, workers = threading.Event(), list[threading.Thread]()
    with TemporaryDirectory(prefix="outlay-demo-") as folder, ExitStack() as campaigns:
        store = f"sqlite:///{Path(folder) / 'demo.db'}"
        for name, models, money, requests, threads in (
            ("router", MODELS, budget, max(1, round(CALLS * budget)), 8),
            ("prompts", prompts, budget / 4, None, 4),
        ):
            arms = {arm: model.most for arm, model in models.items()}
            campaign = campaigns.enter_context(Campaign(arms, money, store=store, name=name, ttl=60, requests=requests))
            workers += [threading.Thread(target=_work, args=(campaign, models, stop, i)) for i in range(threads)]

        def ready(address: str) -> None:
            click.echo(f"open {address}/#/c/router; Ctrl-C ends it, and nothing is kept")
            for worker in workers:
                worker.start()

        try:
            serve(ServiceSettings(store=store, port=port), ready, seconds)
        finally:
            stop.set()
            for worker in workers:
                if worker.is_alive():
                    worker.join()


def _work(campaign: "Campaign", models: dict[str, DemoModel], stop: threading.Event, seed: int) -> None:
    """Ask, pretend to call, tell; now and then a call fails, or is forgotten."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    while not stop.is_set():
        try:
            pull = campaign.ask(wait=True, timeout=1.0)
        except OutlayError:
            continue  # not now: somebody paused it, or all is set aside
        if pull is None:
            time.sleep(0.5)  # until somebody gives it more budget
            continue
        model = models[pull.arm]
        stop.wait(chance.expovariate(1 / model.seconds))
        if chance.random() < 0.002:
            continue  # a worker that died: the pull expires
        cost = min(model.most * 1.1, model.cost * chance.lognormvariate(-0.18, 0.6))
        campaign.tell(pull, round(cost, 9), chance.random() < model.right)
