"""`outlay keys`: who may use the service, and for what."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from outlay.cli.campaign.shared import example, in_store, show
from outlay.cli.shared import Summaries

if TYPE_CHECKING:
    from outlay.service.keys.key import Key

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
    from outlay.service.keys.book import KeyBook

    token, key = KeyBook(store).new(name, scopes, campaigns, days)
    show({"key": token, **_shown(key)})


@keys.command("list", epilog=example("outlay keys list | jq 'select(.revoked == null)'"))
@in_store
def list_(store: str) -> None:
    """Print all keys, the oldest first: their names, scopes, and when they were last used."""
    from outlay.service.keys.book import KeyBook

    for key in KeyBook(store).all():
        show(_shown(key))


@keys.command(epilog=example("outlay keys revoke 1f6a09c2"))
@in_store
@click.argument("key", metavar="ID")
def revoke(store: str, key: str) -> None:
    """Let the key ID be used no more, within a second."""
    from outlay.service.keys.book import KeyBook

    KeyBook(store).revoke(key)


@keys.command(epilog=example("outlay keys audit | jq 'select(.status >= 400)'"))
@in_store
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
def audit(store: str, limit: int) -> None:
    """Print what was done with admin keys, the newest first."""
    from outlay.service.keys.book import KeyBook

    for act in KeyBook(store).acts(limit):
        show({**act._asdict(), "at": _time(act.at)})


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
