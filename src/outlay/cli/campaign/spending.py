"""`outlay campaign new | ask | tell`: the work itself."""

import json
import sys
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, get_args

import click

from outlay.campaign.ledger.events import DEFAULT, Expiry, Mode, Window
from outlay.cli.campaign.shared import (
    Numbered,
    amount,
    complain,
    example,
    object_of,
    on_campaign,
    opened,
    seconds,
    show,
)
from outlay.cli.compare import complete_policies

if TYPE_CHECKING:
    from outlay.campaign import Campaign, Pull

ENDED, NOT_NOW = 3, 4  # exit codes


@click.command(
    epilog=example(
        "outlay campaign new --arm small --arm large=0.5 --budget 50",
        "outlay campaign new --arm a --arm b --budget 1000 --mode hard --reservation 2",
        "outlay campaign new --arm small --arm large --budget 500 --requests 10000 --cost small=0.01 --cost large=0.2",
        "outlay campaign new --arm a --arm b --budget 9 --policy UCBB2 --param cost_bound=1 --param reward_bound=1",
    )
)
@on_campaign
@click.option("--arm", "arms", multiple=True, required=True, metavar="NAME[=MAX]", help="An arm; repeatable.")
@click.option("--budget", type=amount, required=True, help="What may be spent.")
@click.option("--requests", type=int, help="How many pulls may be made in all.")
@click.option(
    "--cost",
    "costs",
    multiple=True,
    metavar="NAME=MEAN",
    help="What an arm costs on average: of every arm, or of none.",
)
@click.option(
    "--policy",
    metavar="NAME",
    shell_complete=complete_policies,
    help="The policy, such as UCBB2; the default if not given.",
)
@click.option("--param", "parameters", multiple=True, metavar="KEY=JSON", help="A parameter of the policy; repeatable.")
@click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    help="Stop once the budget is crossed (the default), or never cross it.",
)
@click.option("--unit", help=f"The smallest amount, such as 0.01; {DEFAULT.unit} if not given.")
@click.option("--ttl", type=seconds, help=f"When an untold pull expires, or never; {DEFAULT.ttl:g} if not given.")
@click.option("--seed", type=int, help=f"Of the policy's random numbers; {DEFAULT.seed} if not given.")
@click.option(
    "--expiry",
    type=click.Choice(get_args(Expiry)),
    help="Charge (the default) or release what was set aside for an expired pull.",
)
@click.option("--reservation", type=amount, help="What to set aside for an arm about which nothing is known.")
@click.option(
    "--default-reward",
    type=float,
    help=f"The reward that an expired pull counts for; {DEFAULT.default_reward:g} if not given.",
)
@click.option("--max-in-flight", type=int, help="The most pulls under way at once.")
@click.option("--first-pulls", type=int, help="The most pulls under way at once of an arm whose cost is not known.")
@click.option("--propensity-draws", type=int, help="Draws that estimate how likely a random choice was.")
@click.option(
    "--window",
    type=click.Choice(get_args(Window)),
    help="Budget and requests are for a day, week or month, and begin anew with the next.",
)
@click.option("--timezone", help=f"Where days begin, such as Europe/Berlin; {DEFAULT.timezone} if not given.")
@click.option("--fallback", metavar="ARM", help="The arm to name, outside the budget, once that is spent.")
@click.option("--no-refunds", is_flag=True, help="Refuse negative costs.")
def new(
    store: str,
    name: str,
    arms: tuple[str, ...],
    costs: tuple[str, ...],
    policy: str | None,
    parameters: tuple[str, ...],
    no_refunds: bool,
    **terms: Any,
) -> None:
    """Open a campaign, and print how it stands.

    An arm is a name, or NAME=MAX with the most that a pull can cost. Repeating the same terms changes
    nothing; different terms for an existing campaign are refused.
    """
    from outlay.campaign import Campaign

    given = click.get_current_context().get_parameter_source
    unsaid = click.core.ParameterSource.DEFAULT
    terms = {key: value for key, value in terms.items() if given(key) != unsaid}
    if no_refunds:
        terms["negative_costs"] = False
    chosen = None if policy is None else {"name": policy, "parameters": dict(map(_parameter, parameters))}
    if policy is None and parameters:
        raise click.UsageError("--param needs --policy")
    named = [_arm(text) for text in arms]
    if len(dict(named)) < len(named):
        raise click.UsageError("two arms have the same name")
    means = dict(map(_mean, costs))
    if len(means) < len(costs):
        raise click.UsageError("--cost says twice what an arm costs")
    with Campaign(dict(named), policy=chosen, store=store, name=name, costs=means or None, **terms) as campaign:
        show(campaign.status())


@click.command(
    epilog=example(
        "outlay campaign ask",
        'outlay campaign ask --key "job $JOB_ID" --ttl 600',
        "outlay campaign ask --n 5 --tag nightly",
    )
)
@on_campaign
@click.option("--n", type=int, help="How many pulls, one per line; fewer if fewer can be named.")
@click.option("--key", help="A name for this ask: with it, asking again gives the same pull.")
@click.option("--ttl", type=float, metavar="SECONDS", help="When the pull expires, instead of the campaign's time.")
@click.option("--tag", "tags", multiple=True, help="A word to find the pull by, see `pulls`; repeatable.")
@click.option("--metadata", metavar="JSON", help="A small JSON object that is kept with the pull.")
@click.pass_context
def ask(
    ctx: click.Context,
    store: str,
    name: str,
    n: int | None,
    key: str | None,
    ttl: float | None,
    tags: tuple[str, ...],
    metadata: str | None,
) -> None:
    """Name the arm to use next, and set money aside for it.

    Prints {"pull", "arm", "reserved", "expires", "propensity", "status", "fallback"}. At the end it prints
    null and exits with 3; if no pull can be named at the moment, it prints {"retry_after": seconds} and exits with 4.
    """
    from outlay.errors import NotNow

    notes: dict[str, Any] = {"tags": tags, "metadata": None if metadata is None else _metadata(metadata)}
    try:
        with opened(store, name) as campaign:
            pulls: list[Pull | None] = (
                [campaign.ask(key, ttl, **notes)] if n is None else [*campaign.ask_many(n, key, ttl, **notes)]
            )
    except NotNow as error:
        complain(error)
        show({"retry_after": error.retry_after})
        ctx.exit(NOT_NOW)
    for pull in pulls or [None]:
        show(pull)
    if pulls in ([], [None]):
        ctx.exit(ENDED)


@click.command(
    cls=Numbered,
    epilog=example(
        "outlay campaign tell 17 --cost 0.0042 --reward 1",
        """echo '{"pull": 17, "cost": 0.0042, "reward": 1}' | outlay campaign tell -""",
    ),
)
@on_campaign
@click.argument("pull")
@click.option("--cost", type=amount, help="What the pull cost.")
@click.option("--reward", type=float, help="What it earned; 0 for a pull that failed.")
@click.pass_context
def tell(ctx: click.Context, store: str, name: str, pull: str, cost: Decimal | None, reward: float | None) -> None:
    """Record what PULL cost and earned; if PULL is -, lines of JSON on stdin name the pulls.

    Prints {"pull", "arm", "cost", "reward", "duplicate", "late", "overrun", "rounded", "head"}. Repeating a tell
    changes nothing. A line that is refused is reported on stderr, and the others count; the exit code is then 1, or 2
    if a line was malformed.
    """
    if (pull == "-") != (cost is None and reward is None) or (cost is None) != (reward is None):
        raise click.UsageError("give PULL with --cost and --reward, or - and lines of JSON on stdin")
    with opened(store, name) as campaign:
        if cost is not None and reward is not None:
            show(campaign.tell(_number(pull), cost, reward))
        else:
            ctx.exit(_tell_lines(campaign, sys.stdin.buffer))


def _tell_lines(campaign: "Campaign", lines: Iterable[bytes]) -> int:
    """Tell what each line says; return the exit code."""
    from outlay.errors import BadParameter, OutlayError

    worst = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = object_of(line, "pull", "cost", "reward")
            reward = float(said["reward"]) if isinstance(said["reward"], Decimal) else said["reward"]
            show(campaign.tell(said["pull"], said["cost"], reward))
        except (OutlayError, ValueError) as error:
            complain(f"line {number}: {error}")
            bad = isinstance(error, BadParameter) or not isinstance(error, OutlayError)
            worst = max(worst, 2 if bad else 1)
    return worst


def _metadata(text: str) -> object:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise click.UsageError(f"--metadata must be a JSON object; got {text!r}") from None


def _number(pull: str) -> int:
    try:
        return int(pull)
    except ValueError:
        raise click.UsageError(f"PULL must be a number, or - for lines on stdin; got {pull!r}") from None


def _arm(text: str) -> tuple[str, Decimal | None]:
    """NAME or NAME=MAX; a name with = in it is written with another = at its end."""
    name, equals, most = text.rpartition("=")
    if not equals:
        return text, None
    return name, amount(most) if most else None


def _mean(text: str) -> tuple[str, float]:
    """NAME=MEAN."""
    name, equals, mean = text.rpartition("=")
    try:
        return name, float(mean if equals else "none")
    except ValueError:
        raise click.UsageError(f"--cost must be NAME=MEAN, a number; got {text!r}") from None


def _parameter(text: str) -> tuple[str, object]:
    """KEY=JSON; what is no JSON is taken as a word."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--param must be KEY=JSON; got {text!r}")
    try:
        return key, json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        return key, value
