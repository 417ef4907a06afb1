"""`outlay campaign`: spend a budget from a shell. JSON in, JSON out, one object per line."""

import csv
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, BinaryIO, get_args

import click

from outlay.campaign.ledger.events import DEFAULT, Expiry, Mode, Window
from outlay.cli.compare import complete_policies
from outlay.cli.options import (
    Numbered,
    Summaries,
    amount,
    by_name,
    changing,
    complain,
    example,
    in_store,
    listing,
    object_of,
    on_campaign,
    show,
)
from outlay.errors import BadFile, BadParameter, NoCampaign, NotNow, OutlayError

if TYPE_CHECKING:
    from outlay.campaign import Campaign

ENDED, NOT_NOW = 3, 4  # exit codes
UNSAID = click.core.ParameterSource.DEFAULT
COLUMNS = ("arm", "cost", "reward")


class CampaignVerbs(Summaries):
    """A group that lists its verbs in the order of their use, and says which is the first."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; where there is no campaign yet, say how to open one."""
        try:
            return super().invoke(ctx)
        except NoCampaign as error:
            raise NoCampaign(f"{error}: `outlay campaign new` makes one") from error


CODES = listing(
    "Exit codes:",
    "0  done",
    "1  refused: the ledger says otherwise, or cannot be read or written",
    "2  asked wrongly",
    "3  ask: the campaign has ended (prints null)",
    '4  ask: not now, try again in a while (prints {"retry_after": seconds})',
)
LOOP = example(
    "outlay campaign new --arm small --arm large=0.5 --budget 50",
    "while true; do",
    "    pull=$(outlay campaign ask)",
    "    case $? in",
    "        0) ;;",
    """        4) sleep "$(jq .retry_after <<< "$pull")"; continue ;;""",
    "        *) break ;;",
    "    esac",
    """    arm=$(jq -r .arm <<< "$pull")""",
    "    …use it, and note its cost and reward…",
    """    outlay campaign tell "$(jq .id <<< "$pull")" --cost "$cost" --reward "$reward\"""",
    "done",
)


@click.group(cls=CampaignVerbs, epilog=f"{CODES}\n\n{LOOP}")
def campaign() -> None:
    """Spend a real budget: ask which arm to use, tell what it cost and earned.

    Every verb prints JSON, one object per line, and takes --store (or OUTLAY_STORE) and --name; on a terminal, status
    and watch draw tables. Money is read as decimal numbers, exactly.
    """


def seconds(text: str) -> float | str | None:
    """A number of seconds, a time such as 15m, or None for `never`."""
    try:
        return None if text == "never" else float(text)
    except ValueError:
        return text


def number_or_unknown(text: str) -> float | str:
    """A number, or the word `unknown`."""
    try:
        return text if text == "unknown" else float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor `unknown`") from None


def most_of(ceilings: Sequence[str]) -> Decimal | dict[str, Decimal] | None:
    """AMOUNT, or NAME=AMOUNT any number of times."""
    if len(ceilings) == 1 and "=" not in ceilings[0]:
        return amount(ceilings[0])
    named = dict(map(arm_and_most, ceilings))
    if len(named) < len(ceilings) or None in named.values():
        raise click.UsageError("--most must be AMOUNT, or NAME=AMOUNT of each arm once")
    return {name: most for name, most in named.items() if most is not None} or None


def arm_and_most(text: str) -> tuple[str, Decimal | None]:
    """NAME or NAME=MAX; a name with = in it is written with another = at its end."""
    name, equals, most = text.rpartition("=")
    return (name, amount(most) if most else None) if equals else (text, None)


def arm_and_mean(text: str) -> tuple[str, float]:
    """NAME=MEAN."""
    name, equals, mean = text.rpartition("=")
    try:
        return name, float(mean if equals else "none")
    except ValueError:
        raise click.UsageError(f"--cost must be NAME=MEAN, a number; got {text!r}") from None


def key_and_value(text: str) -> tuple[str, object]:
    """KEY=JSON; what is no JSON is taken as a word."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--param must be KEY=JSON; got {text!r}")
    return key, _json_or_word(value)


def _json_or_word(text: str) -> object:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return text


param_option = click.option(
    "--param",
    "parameters",
    type=key_and_value,
    multiple=True,
    metavar="KEY=JSON",
    help="A parameter of the policy; repeatable.",
)


def kind_of(text: str) -> tuple[str, Any]:
    """NAME or NAME=KIND, where KIND is JSON or a word; a number alone is the length of a vector."""
    if text.isdecimal():
        return "", int(text)
    name, equals, kind = text.partition("=")
    return name, _json_or_word(kind) if equals else "number"


def value_of(text: str) -> tuple[str, str]:
    """NAME=VALUE; a list as JSON is a vector."""
    name, equals, value = ("", "=", text) if text.startswith("[") else text.partition("=")
    if not equals:
        raise click.UsageError(f"--context must be NAME=VALUE, or a list of numbers as JSON; got {text!r}")
    return name, value


def read_as(kinds: object, name: str, value: str) -> Any:
    """A value of a context: a word where its kind has words, else JSON."""
    kind = kinds.get(name) if isinstance(kinds, dict) else None
    is_word = isinstance(kind, tuple) or (str(kind).startswith("hashed") and not value.startswith("["))
    return value if is_word else _json_or_word(value)


def told(parts: Sequence[tuple[str, Any]]) -> Any:
    """What several --context say together; None where there is none."""
    named = dict(parts)
    if len(named) < len(parts) or (len(parts) > 1 and "" in named):
        raise click.UsageError("--context must say each name once, or one vector alone")
    return named.get("", named) if named else None


def name_of(pull: str) -> int | str:
    """A pull's number, or the key of its ask."""
    return int(pull) if re.fullmatch("-?[0-9]{1,20}", pull) else pull


def json_of(text: str) -> object:
    """What JSON says."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise click.UsageError(f"--metadata must be a JSON object; got {text!r}") from None


@click.command(
    epilog=example(
        "outlay campaign new --arm small --arm large=0.5 --budget 50",
        "outlay campaign new --arm a --arm b --budget 1000 --mode hard --reservation 2",
        "outlay campaign new --arm small --arm large --budget 500 --requests 10000 --cost small=0.01 --cost large=0.2",
        "outlay campaign new --arm a --arm b --budget 9 --context length=number:500 --context url=hashed:8",
        "outlay campaign new --arm a --arm b --budget 9 --policy UCBB2 --param cost_bound=1 --param reward_bound=1",
    )
)
@in_store
@by_name
@click.option(
    "--arm", "arms", type=arm_and_most, multiple=True, required=True, metavar="NAME[=MAX]", help="An arm; repeatable."
)
@click.option("--budget", type=amount, required=True, help="What may be spent.")
@click.option("--requests", type=int, help="How many pulls may be made in all.")
@click.option(
    "--cost",
    "costs",
    type=arm_and_mean,
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
@param_option
@click.option(
    "--mode",
    type=click.Choice(get_args(Mode)),
    help="Stop once the budget is crossed (the default), or never cross it.",
)
@click.option("--unit", help=f"The smallest amount, such as 0.01; {DEFAULT.unit} if not given.")
@click.option("--ttl", type=seconds, help=f"When an untold pull expires, or never; {DEFAULT.ttl} if not given.")
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
@click.option("--reward-within", type=seconds, metavar="TIME", help="How long a reward may take after the cost, as 1h.")
@click.option(
    "--missing-reward",
    type=number_or_unknown,
    metavar="NUMBER",
    help="What counts as the reward that did not come by then; `unknown` (the default) for nothing.",
)
@click.option("--currency", help="In which costs are, such as USD.")
@click.option("--pool", metavar="NAME", help="The campaign with a cap on the sum of all that have it as their pool.")
@click.option(
    "--context",
    type=kind_of,
    multiple=True,
    metavar="NAME[=KIND]",
    help="What is told of each request: a number, number:SCALE, a JSON list of categories, hashed:N, or the length of a"
    " vector; repeatable.",
)
@click.option("--no-refunds", is_flag=True, help="Refuse negative costs.")
@click.pass_context
def new(
    ctx: click.Context,
    /,
    store: str,
    name: str,
    arms: tuple[tuple[str, Decimal | None], ...],
    costs: tuple[tuple[str, float], ...],
    policy: str | None,
    parameters: tuple[tuple[str, object], ...],
    context: tuple[tuple[str, Any], ...],
    no_refunds: bool,
    **terms: Any,
) -> None:
    """Open a campaign, and print how it stands.

    An arm is a name, or NAME=MAX with the most that a pull can cost. Repeating the same terms changes
    nothing; different terms for an existing campaign are refused.
    """
    from outlay.campaign import Campaign

    terms = {key: value for key, value in terms.items() if ctx.get_parameter_source(key) != UNSAID}
    if no_refunds:
        terms["negative_costs"] = False
    chosen = None if policy is None else {"name": policy, "parameters": dict(parameters)}
    if policy is None and parameters:
        raise click.UsageError("--param needs --policy")
    if len(dict(arms)) < len(arms):
        raise click.UsageError("two arms have the same name")
    if len(dict(costs)) < len(costs):
        raise click.UsageError("--cost says twice what an arm costs")
    terms |= {"costs": dict(costs) or None, "context": told(context)}
    with Campaign(dict(arms), policy=chosen, store=store, name=name, **terms) as campaign:
        show(campaign.status())


@click.command(
    epilog=example(
        "outlay campaign ask",
        'outlay campaign ask --key "job $JOB_ID" --ttl 600',
        "outlay campaign ask --context length=1200 --context tenant=acme",
        "outlay campaign ask --n 5 --tag nightly",
    )
)
@on_campaign
@click.option("--n", type=int, help="How many pulls, one per line; fewer if fewer can be named.")
@click.option("--key", help="A name for this ask: with it, asking again gives the same pull.")
@click.option("--ttl", type=seconds, metavar="TIME", help="When the pull expires, instead of the campaign's time.")
@click.option(
    "--most",
    multiple=True,
    metavar="[NAME=]AMOUNT",
    help="What this call can cost at most, on any arm or on that one; repeatable.",
)
@click.option("--arm", "arms", multiple=True, metavar="NAME", help="An arm that can serve this call; repeatable.")
@click.option(
    "--context", type=value_of, multiple=True, metavar="NAME=VALUE", help="What is known of the request; repeatable."
)
@click.option("--wait", type=float, metavar="SECONDS", help="How long to wait for a pull, and then name the fallback.")
@click.option("--tag", "tags", multiple=True, help="A word to find the pull by, see `pulls`; repeatable.")
@click.option("--metadata", type=json_of, metavar="JSON", help="A small JSON object that is kept with the pull.")
@click.pass_context
def ask(
    ctx: click.Context,
    /,
    campaign: "Campaign",
    n: int | None,
    most: tuple[str, ...],
    arms: tuple[str, ...],
    context: tuple[tuple[str, str], ...],
    wait: float | None,
    **wanted: Any,
) -> None:
    """Name the arm to use next, and set money aside for it.

    Prints {"id", "arm", "reserved", "expires", "propensity", "status", "fallback"}. At the end it prints
    null and exits with 3; if no pull can be named at the moment, it prints {"retry_after": seconds} and exits with 4.
    """
    pulls: Sequence[object]
    wanted |= {"most": most_of(most), "arms": arms or None}
    wanted["context"] = told([(name, read_as(campaign.context, name, value)) for name, value in context])
    if n is not None and wait is not None:
        raise click.UsageError("--wait is for a single pull: leave --n out")
    try:
        if n is None:
            pulls = [campaign.ask(**wanted, wait=False if wait is None else wait)]
        else:
            pulls = campaign.ask_many(n, **wanted) or [None]
    except NotNow as error:
        complain(error)
        show({"retry_after": error.retry_after})
        ctx.exit(NOT_NOW)
    for pull in pulls:
        show(pull)
    if pulls == [None]:
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
@click.option(
    "--reward", type=float, help="What it earned; 0 for a pull that failed. If not given, `reward` tells it later."
)
@click.pass_context
def tell(ctx: click.Context, campaign: "Campaign", pull: str, cost: Decimal | None, reward: float | None) -> None:
    """Record what PULL cost and earned; if PULL is -, lines of JSON on stdin name the pulls, as `ask` prints them.

    PULL is its number, or the key of its ask.

    Prints {"pull", "arm", "cost", "reward", "duplicate", "late", "overrun", "rounded", "head"}. Repeating a tell
    changes nothing. A line that is refused is reported on stderr, and the others count; the exit code is then 1, or 2
    if a line was malformed.
    """
    if pull == "-" and cost is None and reward is None:
        ctx.exit(_tell_lines(campaign, sys.stdin.buffer))
    if pull == "-" or cost is None:
        raise click.UsageError("give PULL with --cost, or - and lines of JSON on stdin")
    show(campaign.tell(name_of(pull), cost, reward))


def _tell_lines(campaign: "Campaign", lines: Iterable[bytes]) -> int:
    """Tell what each line says; return the exit code."""
    worst = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            said = object_of(line, "cost")
            if "reward" not in said and len(said) > 2:
                raise ValueError(f"without a reward it may have pull and cost alone; got {', '.join(said)}")
            reward = float(said["reward"]) if isinstance(said.get("reward"), Decimal) else said.get("reward")
            show(campaign.tell(said["pull"] if "pull" in said else said.get("id", ""), said["cost"], reward))
        except (OutlayError, ValueError) as error:
            complain(f"line {number}: {error}")
            refused = isinstance(error, OutlayError) and not isinstance(error, BadParameter)
            worst = max(worst, 1 if refused else 2)
    return worst


@click.command(cls=Numbered, epilog=example("outlay campaign reward 17 1", 'outlay campaign reward "job $JOB_ID" 0.5'))
@on_campaign
@click.argument("pull")
@click.argument("value", type=float)
def reward(campaign: "Campaign", pull: str, value: float) -> None:
    """Record what PULL earned, after its cost was told; PULL is its number, or the key of its ask.

    Prints what `tell` prints. The same reward again changes nothing; `amend` corrects one.
    """
    show(campaign.reward(name_of(pull), value))


@click.command(cls=Numbered, epilog=example('outlay campaign cancel 17 --reason "the job was dropped"'))
@changing
@click.argument("pull", type=name_of)
@click.option("--reason", default="", help="A note for the ledger.")
def cancel(campaign: "Campaign", pull: int | str, reason: str) -> None:
    """Say that PULL was never made: nothing is charged and nothing learned."""
    campaign.cancel(pull, reason)


@click.command(cls=Numbered, epilog=example("outlay campaign charge 17"))
@changing
@click.argument("pull", type=name_of)
def charge(campaign: "Campaign", pull: int | str) -> None:
    """Give PULL up, and charge what was set aside for it until it is told after all."""
    campaign.charge(pull)


@click.command(cls=Numbered, epilog=example("outlay campaign extend 17 --ttl 7200"))
@changing
@click.argument("pull", type=name_of)
@click.option("--ttl", type=seconds, required=True, metavar="TIME", help="How long the pull may take, from now.")
def extend(campaign: "Campaign", pull: int | str, ttl: float | str) -> None:
    """Give PULL, which is under way, more time."""
    campaign.extend(pull, ttl)


@click.command(
    cls=Numbered, epilog=example('outlay campaign amend 17 --cost 0.0040 --reward 1 --reason "the invoice says so"')
)
@changing
@click.argument("pull", type=name_of)
@click.option("--cost", type=amount, help="What the pull cost; as it was told if not given.")
@click.option("--reward", type=float, help="What it earned; as it was told if not given.")
@click.option("--reason", default="", help="A note for the ledger.")
def amend(campaign: "Campaign", pull: int | str, cost: Decimal | None, reward: float | None, reason: str) -> None:
    """Correct what was told about PULL, on the record."""
    campaign.amend(pull, cost, reward, reason)


@click.command(cls=Numbered, epilog=example("outlay campaign budget 80"))
@changing
@click.argument("money", metavar="AMOUNT", type=amount)
def budget(campaign: "Campaign", money: Decimal) -> None:
    """Change the budget to AMOUNT; a larger one reopens a campaign that was exhausted."""
    campaign.set_budget(money)


@click.command(cls=Numbered, epilog=example("outlay campaign requests 12000"))
@changing
@click.argument("number", metavar="NUMBER", type=int)
def requests(campaign: "Campaign", number: int) -> None:
    """Change how many pulls may be made in all; more of them reopen a campaign that was exhausted."""
    campaign.set_requests(number)


@click.command(cls=Numbered, epilog=example("outlay campaign expect 4000"))
@changing
@click.argument("number", metavar="NUMBER", type=int)
def expect(campaign: "Campaign", number: int) -> None:
    """Say how many requests are still to come: the policy paces itself by that, and nothing is refused for it."""
    campaign.expect_requests(number)


@click.group()
def arm() -> None:
    """Add another arm, or stop and resume the use of one."""


@arm.command(epilog=example("outlay campaign arm add medium --max-cost 0.2"))
@changing
@click.argument("arm")
@click.option("--max-cost", type=amount, help="The most that a pull can cost.")
@click.option("--cost", type=float, help="What a pull costs on average, if that is known.")
def add(campaign: "Campaign", arm: str, max_cost: Decimal | None, cost: float | None) -> None:
    """Add another ARM."""
    campaign.add_arm(arm, max_cost, cost)


@arm.command(epilog=example("outlay campaign arm disable large"))
@changing
@click.argument("arm")
def disable(campaign: "Campaign", arm: str) -> None:
    """Stop using ARM; pulls under way can still be told."""
    campaign.disable_arm(arm)


@arm.command(epilog=example("outlay campaign arm enable large"))
@changing
@click.argument("arm")
def enable(campaign: "Campaign", arm: str) -> None:
    """Use a disabled ARM again."""
    campaign.enable_arm(arm)


@click.command(epilog=example("outlay campaign warm last-month.csv", "jq -c . log.json | outlay campaign warm -"))
@on_campaign
@click.argument("file", type=click.File("rb"))
@click.option("--key", help="A name for this log, which is learned once; made from its content if not given.")
def warm(campaign: "Campaign", file: BinaryIO, key: str | None) -> None:
    """Let the policy learn from a log, at no cost: FILE has columns arm, cost and reward.

    It is CSV with a header, or lines of JSON; - is stdin. Other columns are ignored.
    """
    content = file.read()
    samples = list(_samples(content, getattr(file, "name", "<stdin>")))
    key = hashlib.sha256(content).hexdigest() if key is None else key
    show({"samples": campaign.warm_start(samples, key), "key": key})


def _without_arguments(verb: str, does: str, *then: str) -> click.Command:
    run = changing(lambda campaign: getattr(campaign, verb)())
    return click.command(verb, help=does, epilog=example(f"outlay campaign {verb}", *then))(run)


pause = _without_arguments("pause", "Name no arm until `resume`; tells are still accepted.")
resume = _without_arguments("resume", "Name arms again.")
close = _without_arguments("close", "End the campaign for good; pulls under way can still be told.")
archive = _without_arguments(
    "archive",
    "Put the campaign away: it is listed no more and names no arm; pulls under way can still be told.",
    "outlay campaign list --archived",
)
restore = _without_arguments("restore", "Bring back a campaign that was archived, as it was.")


def _samples(content: bytes, title: str) -> Iterator[tuple[str, Decimal, float]]:
    """The rows of a log; BadFile, with the line, where it is none."""
    try:
        lines = io.StringIO(content.decode("utf-8-sig"), newline="").readlines()
    except UnicodeDecodeError:
        raise BadFile(f"{title} is not UTF-8") from None
    table, number = csv.DictReader(lines), 0
    try:
        if lines and lines[0].lstrip().startswith("{"):
            for number, line in enumerate(lines, 1):  # noqa: B007 (where one is refused)
                if line.strip():
                    yield _sample(object_of(line, *COLUMNS))
            return
        if not set(COLUMNS) <= set(table.fieldnames or ()):
            raise BadFile(f"{title} must have columns {', '.join(COLUMNS)}, or be lines of JSON")
        for row in table:
            number = table.line_num
            yield _sample(row)
    except csv.Error as error:
        raise BadFile(f"{title}, line {table.line_num + 1}: {error}") from None
    except InvalidOperation:
        raise BadFile(f"{title}, line {number}: its cost is no number") from None
    except BadFile:
        raise
    except ValueError as error:
        raise BadFile(f"{title}, line {number}: {error}") from None


def _sample(row: Mapping[str, Any]) -> tuple[str, Decimal, float]:
    return str(row["arm"]), Decimal(str(row["cost"])), float(str(row["reward"]))
