"""What the verbs of `outlay campaign` share: the options that say which campaign, numbers as typed, JSON as printed."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, NoReturn

import click
import msgspec

from outlay.cli.shared import listing

if TYPE_CHECKING:
    from outlay.campaign import Campaign

Verb = Callable[..., None]
NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


in_store = click.option(
    "--store",
    envvar="OUTLAY_STORE",
    default="sqlite:///outlay.db",
    show_default=True,
    show_envvar=True,
    metavar="URL",
    help="The ledger's database: sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE.",
)


def on_campaign(verb: Verb) -> Verb:
    """The options --store and --name."""
    name = click.option("--name", default="default", show_default=True, help="The campaign's name in the store.")
    return in_store(name(verb))


def example(*lines: str) -> str:
    """The end of a verb's help."""
    return listing("Example:", *lines)


class Numbered(click.Command):
    """A verb with a number as its argument: one below 0 is no option, and outlay itself says what is wrong with it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed."""
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            number = next((word for word in args if NEGATIVE.fullmatch(word)), None)
            if number is None or not number.startswith(error.option_name):
                raise
            rest = [word for word in args if word is not number]
            return super().parse_args(ctx, [*rest, "--", number])


def amount(text: str) -> Decimal:
    """A decimal number as it was typed, never rounded to binary."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise click.BadParameter(f"{text!r} is not a finite decimal number")
    return number


def seconds(text: str) -> float | None:
    """A number of seconds, or None for `never`."""
    try:
        return None if text == "never" else float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number of seconds nor `never`") from None


@contextmanager
def opened(store: str, name: str) -> Iterator["Campaign"]:
    """A campaign that is there, let go afterwards."""
    from outlay.campaign import Campaign

    with Campaign.open(store, name) as campaign:
        yield campaign


def do(store: str, name: str, action: Callable[["Campaign"], object]) -> None:
    """One action on a campaign; then print how it stands."""
    with opened(store, name) as campaign:
        action(campaign)
        show(campaign.status())


def show(value: object) -> None:
    """Print one line of JSON."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))


def plain(value: object) -> Any:
    """What JSON can say: records as objects, times as ISO 8601, exact money as text."""
    if isinstance(value, msgspec.Struct):
        value = {field.encode_name: getattr(value, field.name) for field in msgspec.structs.fields(value)}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, datetime) else value


def complain(message: object) -> None:
    """One line on stderr."""
    click.echo(f"outlay: {' '.join(str(message).split())}", err=True)


def object_of(line: str | bytes, *keys: str) -> dict[str, Any]:
    """A JSON object with at least these keys, its numbers exact; ValueError, in a sentence, for anything else."""
    try:
        value = json.loads(line, parse_float=Decimal, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict) or not set(keys) <= value.keys():
        raise ValueError(f"it must be a JSON object with {', '.join(keys)}")
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")
