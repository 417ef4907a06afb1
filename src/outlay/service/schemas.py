"""What requests may say and answers hold, as types: both are checked against these, and OpenAPI says them."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from outlay.campaign.ledger.events import DEFAULT, Expiry, Mode, Window
from outlay.campaign.reasons import Reasons
from outlay.campaign.records import ArmStatus, CampaignSummary, Entry, Pull, PullStatus, Receipt, Status

A = TypeVar("A", bound=Struct)

Money = Decimal  # from a JSON number or a string
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
PullNumber = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=60)]
MOST_LISTED = 1000  # items on a page
Find = Annotated[str, Meta(max_length=200)]
ArmOrder = Literal["pulls", "spent", "reward", "rate"]
PageSize = Annotated[int, Meta(ge=1, le=MOST_LISTED)]


class Body(Struct, forbid_unknown_fields=True):
    """What a request may say; an unknown field is refused, since it may be a misspelled one."""


class PolicyGiven(Body):
    """A built-in policy, with parameters."""

    name: Name
    parameters: dict[str, Any] = {}


class CampaignBody(Body):
    """A campaign to open; `Campaign` in the library says what each field means."""

    name: Name
    arms: list[Name] | dict[str, Money | None]
    budget: Money
    policy: Name | PolicyGiven | None = None
    requests: int | None = None
    costs: dict[str, float] | None = None
    mode: Mode = DEFAULT.mode
    unit: str = str(DEFAULT.unit)
    seed: int = DEFAULT.seed
    ttl: float | None = DEFAULT.ttl
    expiry: Expiry = DEFAULT.expiry
    reservation: Money | None = None
    default_reward: float = DEFAULT.default_reward
    max_in_flight: int | None = DEFAULT.max_in_flight
    negative_costs: bool = DEFAULT.negative_costs
    propensity_draws: int = DEFAULT.propensity_draws
    first_pulls: int | None = DEFAULT.first_pulls
    window: Window | None = DEFAULT.window
    timezone: Name = DEFAULT.timezone
    fallback: Name | None = DEFAULT.fallback


class TellBody(Body):
    """What a pull cost and earned."""

    pull: PullNumber
    cost: Money
    reward: float


class AskAnswer(Struct):
    """The pulls that were named; none of them and `ended` true where the campaign is over."""

    pulls: list[Pull]
    ended: bool


class ProblemDetails(Struct, omit_defaults=True):
    """Why a request was refused (RFC 9457). `code` stays the same from version to version; `detail` is for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str = ""
    request: str = ""
    retry_after: float | None = None
    pull: Pull | None = None
    arms: list[str] | None = None


class TellResult(Struct, omit_defaults=True):
    """What became of one of many tells: a receipt, or why it was refused."""

    receipt: Receipt | None = None
    problem: ProblemDetails | None = None


class TellResults(Struct):
    """One for each tell, in their order."""

    results: list[TellResult]


class PullsPage(Struct):
    """A page of pulls; `next` is the `after` of the following page, null at the end."""

    items: list[PullStatus]
    next: int | None


class ArmMoney(Struct):
    """Money to the last unit."""

    spent: str
    reserved: str


class ArmAnswer(ArmStatus, frozen=True, kw_only=True):
    """How an arm stands; `rate` is reward divided by cost so far."""

    exact: ArmMoney  # type: ignore[assignment]


class ArmsPage(Struct):
    """A page of arms."""

    items: list[ArmAnswer]
    next: int | None


class CampaignMoney(Struct):
    """Money to the last unit."""

    budget: str
    spent: str
    reserved: str
    left: str


class CampaignAnswer(CampaignSummary, frozen=True, kw_only=True):
    """How a campaign stands; spent, reserved, left and used are those of its window, if it has windows."""

    exact: CampaignMoney  # type: ignore[assignment]


class CampaignAndArms(CampaignAnswer, frozen=True, kw_only=True):
    """How a campaign stands, and its first 1000 arms at the same moment; `/arms` has the others."""

    arms: list[ArmAnswer]
    more_arms: bool


class CampaignsPage(Struct):
    """A page of campaigns, by name."""

    items: list[CampaignAnswer]
    next: str | None


class Learned(Struct):
    """How many samples were learned: none where the key was known."""

    samples: int


class Tag(Struct):
    """A tag and how many pulls have it."""

    tag: str
    pulls: int


class TagsPage(Struct):
    """A page of tags, by name."""

    items: list[Tag]
    next: str | None


class AuditEntry(Struct, frozen=True):
    """Something that was done with an admin key, what came of it, and in which request."""

    at: datetime
    key: str
    act: str
    campaign: str | None
    status: int
    request: str
    seq: int = 0  # its number in the log


class AuditPage(Struct):
    """A page of acts, the newest first."""

    items: list[AuditEntry]
    next: int | None


class Session(Struct):
    """Who is logged in, and what the pages must send with whatever changes something."""

    name: str
    scopes: list[str]
    csrf: str


class Health(Struct):
    """That the service runs."""

    status: Literal["ok"]
    version: str


encode = msgspec.json.Encoder().encode


def text(money: float | Decimal) -> str:
    """An amount in digits alone.

    >>> text(1e-7), text(Decimal("10.500000000")), text(30.0)
    ('0.0000001', '10.5', '30')
    """
    written = format(money if isinstance(money, Decimal) else Decimal(repr(money)), "f")
    return written.rstrip("0").rstrip(".") if "." in written else written


def answer(kind: type[A], record: ArmStatus | CampaignSummary, **more: Any) -> A:
    """A record of the library as the service answers it: what is `exact` in digits."""
    exact = CampaignMoney if issubclass(kind, CampaignSummary) else ArmMoney
    more["exact"] = exact(**{name: text(amount) for name, amount in asdict(record.exact).items()})
    return kind(**{name: getattr(record, name) for name in kind.__struct_fields__ if name not in more}, **more)


def campaign_and_arms(status: Status) -> CampaignAndArms:
    """How a campaign stands, with its first arms."""
    arms = [answer(ArmAnswer, arm) for arm in status.arms[:MOST_LISTED]]
    return answer(CampaignAndArms, status, arms=arms, more_arms=len(status.arms) > len(arms))


Limit = Literal["money", "requests", "window"]


class BurnPoint(Struct, array_like=True):
    """How much was left at some moment, pulls under way aside, and how many requests were used."""

    at: int  # milliseconds since 1970, as all times that are drawn
    left: float
    used: int


class Ahead(Struct, array_like=True):
    """What will be left at some moment: in the middle, and between which ends with 95 %."""

    at: int  # milliseconds since 1970
    low: float
    middle: float
    high: float


class Forecast(Struct):
    """When the campaign ends: `at`, and from `early` to `late` with 95 %; null where that may be never.

    `by` says what runs out first, money or requests, or that both last until the window is over. `fan` is the money
    that will be left meanwhile.
    """

    at: datetime
    early: datetime
    late: datetime | None
    by: Limit
    fan: list[Ahead]


class ArmView(Struct):
    """An arm, where its rate lies with a probability of 95 %, and what the policy weighs about it.

    `low` and `high` are null where nothing can be said. `evidence`, `enough` and `score` are those of the library's
    `ArmReason`; `evidence` is null, too, where no doubt is left.
    """

    arm: ArmAnswer
    low: float | None
    high: float | None
    leads: bool = False
    evidence: float | None = None
    enough: float | None = None
    score: float | None = None


class RateAt(Struct, array_like=True):
    """An arm's rate as it was known at some moment, with its interval; null where nothing could be said."""

    at: int
    rate: float | None
    low: float | None
    high: float | None


class RatePast(Struct):
    """How the interval of an arm's rate closed in."""

    name: str
    points: list[RateAt]


class Learning(Struct):
    """What learning has cost so far, in reward, and about how little any policy that learns could have lost.

    `cost` is against the best arm as known now, or where requests count the best mix. `bound` is the lower bound of the
    theory at the same number of pulls, over arms that are clearly worse, taken to be Gaussian; null if there are none.
    """

    cost: float
    bound: float | None


class DashboardView(Struct):
    """A campaign at one moment; `read` counts the events that are in what is drawn over time: at first not all.

    What takes longer to find, `forecast`, `next` and `learning`, is that after `judged` events: up to a second ago.
    """

    campaign: CampaignAnswer
    read: int
    judged: int
    burn: list[BurnPoint]
    forecast: Forecast | None
    arms: list[ArmView]
    other_arms: int
    past: list[RatePast]
    next: Reasons | None
    learning: Learning | None
    under_way: list[PullStatus]
    events: list[Entry]
    counts: dict[str, int]


class Spread(Struct):
    """The middle one of many rehearsals, and between which ends 95 % of them are."""

    middle: float
    low: float
    high: float


class ArmShare(Struct):
    """An arm, and the share of the pulls that it had on average."""

    arm: str
    share: float


class PolicyOutcome(Struct):
    """How a policy did in the rehearsals."""

    policy: str
    budget: float
    requests: int | None
    reward: Spread
    pulls: Spread
    shares: list[ArmShare]  # the largest first


class WhatIfAnswer(Struct):
    """The campaign from its first pull, with outcomes drawn from those observed: as it is, and as it might be.

    Each of `worlds` redraws every arm's outcomes, for what is not known of them, and is played `runs` times. `more` is
    the reward that the other brings on top, run by run. `scale` is below 1 where budgets were too large to be played in
    full: budgets and requests are as they were played. `left_out` counts arms without an outcome, `few` names arms with
    fewer than ten, of which little is known.
    """

    own: PolicyOutcome
    other: PolicyOutcome
    more: Spread
    worlds: int
    runs: int
    scale: float
    left_out: int
    few: list[str]


class PoliciesAnswer(Struct):
    """The policies that can be rehearsed without being told anything."""

    items: list[str]
