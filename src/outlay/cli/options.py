"""What the verbs share: options, numbers as typed, JSON as printed, parts of a help text, failures."""

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

import click
import msgspec

from outlay.errors import BadParameter
from outlay.text import counted

if TYPE_CHECKING:
    from rich.console import Console

Verb = Callable[..., None]
NEGATIVE = re.compile(r"-(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
OWNERS = ("simulate", "compare", "advise", "bounds", "problem_bounds", "report", "Campaign")  # that refuse for verbs


class Failure(click.ClickException):
    """An error shown as one line, without a traceback."""

    def show(self, file: IO[str] | None = None) -> None:  # noqa: ARG002
        """Print the line to stderr."""
        complain(self.message)


class AskedWrongly(Failure):
    """A usage error, which the user can correct."""

    exit_code = 2


class Interrupted(Failure):
    """Ctrl-C, with the exit code that shells give it."""

    exit_code = 130


class Summaries(click.Group):
    """A group whose help shows what each command does in a whole sentence, where click cuts it to one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        with formatter.section("Commands"):
            verbs = [(name, self.commands[name].help or "") for name in self.list_commands(ctx)]
            formatter.write_dl([(name, text.split("\n\n", 1)[0]) for name, text in verbs])


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


in_store = click.option(
    "--store",
    envvar="OUTLAY_STORE",
    default="sqlite:///outlay.db",
    show_default=True,
    show_envvar=True,
    metavar="URL",
    help="The ledger's database: sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE.",
)
into_folder = click.option(
    "--out", type=click.Path(path_type=Path), default="outlay-report", show_default=True, help="Folder for the report."
)
in_threads = click.option("--workers", type=int, help="Number of threads; all cores by default.")
by_name = click.option("--name", default="default", show_default=True, help="The campaign's name in the store.")


def on_campaign(verb: Verb) -> Verb:
    """The options --store and --name, which become the campaign that the verb is given, and that is let go after it."""

    @wraps(verb)
    def run(store: str, name: str, **given: Any) -> None:
        from outlay.campaign import Campaign

        with Campaign.open(store, name) as campaign:
            verb(campaign=campaign, **given)

    return in_store(by_name(run))


def changing(verb: Verb) -> Verb:
    """The same for a verb that changes the campaign: how it stands then is printed."""

    @wraps(verb)
    def run(campaign: Any, **given: Any) -> None:
        verb(campaign=campaign, **given)
        show(campaign.status())

    return on_campaign(run)


def amount(text: str) -> Decimal:
    """A decimal number as it was typed, never rounded to binary."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise click.BadParameter(f"{text!r} is not a finite decimal number")
    return number


def show(value: object) -> None:
    """Print one line of JSON."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))


def plain(value: object) -> Any:
    """What JSON can say: records as objects, times as ISO 8601, exact money as text, nan and infinity as null."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, datetime) else value


def object_of(line: str | bytes, *keys: str) -> dict[str, Any]:
    """A JSON object with at least these keys, its numbers exact; ValueError, in a sentence, for anything else."""

    def refuse(text: str) -> NoReturn:
        raise ValueError(f"{text} is not a finite number")

    try:
        value = json.loads(line, parse_float=Decimal, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict) or not set(keys) <= value.keys():
        raise ValueError(f"it must be a JSON object with {', '.join(keys)}")
    return value


def console() -> "Console":
    """The terminal, or a wide page where a program reads what is printed."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 160)


def complain(message: object) -> None:
    """One line on stderr."""
    click.echo(f"outlay: {' '.join(str(message).split())}", err=True)


def say_written(page: Path, files: Sequence[Path]) -> None:
    """Name the page to open and files outside its folder, and count the rest: a sweep has a hundred files."""
    beside = sum(path.is_relative_to(page.parent) for path in files) - 1
    click.echo(f"wrote {page}" + f" and {counted(beside, 'more file')} in {page.parent}" * (beside > 0))
    for path in files:
        if not path.is_relative_to(page.parent):
            click.echo(f"wrote {path}")


def listing(title: str, *lines: str) -> str:
    """A part of a help text that is printed line by line."""
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])


def example(*lines: str) -> str:
    """The end of a verb's help."""
    return listing("Example:", *lines)


def in_options(error: BadParameter, verb: click.Command | None) -> str:
    """What is wrong, by the name that the user typed where it is an option or an argument of the verb, or of its verbs.

    A parameter of something else, such as a policy's, keeps the name of its owner.
    """
    text = str(error)
    if verb is None or error.owner not in OWNERS:
        return text
    leaves = verb.commands.values() if isinstance(verb, click.Group) else [verb]
    for parameter in (parameter for leaf in leaves for parameter in leaf.params):
        option = f"--{error.name.replace('_', '-')}"
        if option in parameter.opts:
            return text.replace(f"{error.name} of {error.owner}", option, 1)
        if isinstance(parameter, click.Argument) and parameter.name == error.name:
            return text.replace(f"{error.name} of {error.owner}", error.name.upper(), 1)
    return text
