"""The types of bodies and answers, from which requests are checked and the OpenAPI document is made."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from outlay.campaign.ledger.events import DEFAULT, Expiry, Kinds, Mode, Window
from outlay.campaign.reasons import Reasons
from outlay.campaign.records import (
    ArmExact,
    ArmStatus,
    CampaignSummary,
    Entry,
    Exact,
    Pull,
    PullStatus,
    Receipt,
    Segment,
    Status,
)

A = TypeVar("A", bound=Struct)

Money = Decimal  # from a JSON number or a string
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
PullNumber = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=60)]
MOST_LISTED = 1000  # items on a page
Find = Annotated[str, Meta(max_length=200)]
Limit = Literal["money", "requests", "window"]
ArmOrder = Literal["pulls", "spent", "reward", "rate"]
PageSize = Annotated[int, Meta(ge=1, le=MOST_LISTED)]

encode = msgspec.json.Encoder().encode


class Body(Struct, forbid_unknown_fields=True):
    """What a request may say; an unknown field is refused, since it may be a misspelled one."""


class PolicyGiven(Body):
    """A built-in policy, with parameters."""

    name: Name
    parameters: dict[str, Any] = {}


class CampaignTerms(Body, kw_only=True):
    """The terms of a campaign; `Campaign` in the library says what each field means."""

    arms: list[Name] | dict[str, Money | None]
    budget: Money
    policy: Name | PolicyGiven | None = None
    requests: int | None = None
    costs: dict[str, float] | None = None
    mode: Mode = DEFAULT.mode
    unit: str = str(DEFAULT.unit)
    seed: int = DEFAULT.seed
    ttl: float | str | None = DEFAULT.ttl
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
    reward_within: float | str | None = DEFAULT.reward_within
    missing_reward: float | Literal["unknown"] = DEFAULT.missing_reward
    currency: str | None = DEFAULT.currency
    context: int | list[Name] | dict[Name, int | str | list[Name]] | None = None


class CampaignBody(CampaignTerms, kw_only=True):
    """A campaign to open."""

    name: Name
    pool: Name | None = DEFAULT.pool


class TemplateBody(CampaignTerms, kw_only=True):
    """A template: the terms of each tenant's campaign, and the cap on the `total` of all, if there is to be one."""

    name: Name
    total: Money | None = None


class TellBody(Body):
    """What a pull cost and earned; without a reward, that is awaited. A pull is its number, or the key of its ask."""

    pull: PullNumber | Name
    cost: Money
    reward: float | None = None


class RewardBody(Body):
    """What a pull earned whose cost was told before."""

    pull: PullNumber | Name
    reward: float


class AskAnswer(Struct):
    """The pulls that were named; none, and `ended` true, if the campaign is over."""

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
    most: float | None = None
    left: float | None = None


class TellResult(Struct, omit_defaults=True):
    """The result of one tell of a list: a receipt, or why it was refused."""

    receipt: Receipt | None = None
    problem: ProblemDetails | None = None


class TellResults(Struct):
    """A result for each tell, in order."""

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
    """The status of an arm; `rate` is reward divided by cost so far, where a reward is known of all."""

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
    """The status of a campaign; with windows, spent, reserved, left and used are those of the current one."""

    exact: CampaignMoney  # type: ignore[assignment]


class CampaignAndArms(CampaignAnswer, frozen=True, kw_only=True):
    """The status of a campaign and of its first 1000 arms; `/arms` lists all."""

    arms: list[ArmAnswer]
    more_arms: bool


class TemplateAnswer(Struct):
    """A template: its `campaign` is what each tenant's begins as, and `pool` is how all of them stand together."""

    name: str
    campaign: CampaignAndArms
    pool: CampaignAnswer | None


class TemplatesPage(Struct):
    """A page of templates, by name."""

    items: list[TemplateAnswer]
    next: str | None


class CampaignsPage(Struct):
    """A page of campaigns, by name."""

    items: list[CampaignAnswer]
    next: str | None


class Segments(Struct):
    """What the pulls for requests of each category came to."""

    items: list[Segment]


class Learned(Struct):
    """How many samples were learned: none if the key was used before."""

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
    """A page of the audit log, newest first."""

    items: list[AuditEntry]
    next: int | None


class Session(Struct):
    """Who is logged in, and the token to send with requests that change something."""

    name: str
    scopes: list[str]
    csrf: str


class Health(Struct):
    """The service runs."""

    status: Literal["ok"]
    version: str


class BurnPoint(Struct, array_like=True):
    """How much was left at one time, not counting open pulls, and how many requests were used."""

    at: int  # milliseconds since 1970, like all times in charts
    left: float
    used: int


class Ahead(Struct, array_like=True):
    """What will be left at one time: the median and a 95 % interval."""

    at: int  # milliseconds since 1970
    low: float
    middle: float
    high: float


class Forecast(Struct):
    """When the campaign will end: the median `at`, with 95 % from `early` to `late`; null if that may be never.

    It was made at `made`. `by` says what runs out first, money or requests, or that both last until the window is over.
    `fan` is the money left until then.
    """

    made: datetime
    at: datetime
    early: datetime
    late: datetime | None
    by: Limit
    fan: list[Ahead]


class ArmView(Struct):
    """An arm, the 95 % interval of its rate, and what the policy weighs about it.

    `low` and `high` are null if nothing is known. `evidence`, `enough` and `score` are those of the library's
    `ArmReason`; `evidence` is also null when no doubt is left.
    """

    arm: ArmAnswer
    low: float | None
    high: float | None
    leads: bool = False
    evidence: float | None = None
    enough: float | None = None
    score: float | None = None


class RateAt(Struct, array_like=True):
    """An arm's rate as known at one time, with its interval; null if nothing was known."""

    at: int
    rate: float | None
    low: float | None
    high: float | None


class RatePast(Struct):
    """How the interval of an arm's rate narrowed."""

    name: str
    points: list[RateAt]


class Learning(Struct):
    """What learning has cost so far, in reward, and roughly the least that any learning policy would have lost.

    `cost` is relative to the best arm as known now, or the best mix if requests are limited. `bound` is the lower bound
    of the theory at the same number of pulls, over the arms that are clearly worse, taken to be Gaussian; null if there
    are none.
    """

    cost: float
    bound: float | None


class SegmentsView(Struct):
    """What the pulls for requests of each category came to; of arms, those with most pulls."""

    name: str
    items: list[Segment]


class ContextName(Struct):
    """What is told of a request under one name; of a vector without names, the name is empty.

    `kind` is "number", "words" or "vector", or "categories", which are then listed.
    """

    name: str
    kind: Literal["number", "words", "vector", "categories"]
    categories: tuple[str, ...] = ()


def context_names(kinds: Kinds | None) -> list[ContextName]:
    """What is told of a request, as a form asks for it.

    >>> [each.kind for each in context_names({"length": "number:500", "tenant": ("a", "b"), "url": "hashed:8"})]
    ['number', 'categories', 'words']
    """
    if not isinstance(kinds, dict):
        return [] if kinds is None else [ContextName("", "vector")]
    found = []
    for name, kind in kinds.items():
        if isinstance(kind, tuple):
            found.append(ContextName(name, "categories", kind))
        elif isinstance(kind, int):
            found.append(ContextName(name, "vector"))
        else:
            found.append(ContextName(name, "number" if kind.startswith("number") else "words"))
    return found


class DashboardView(Struct):
    """A campaign at one time. `read` counts the events that are in its charts: at first not all.

    `forecast`, `next` and `learning` take longer to compute: they are as of `judged` events, up to a second ago, or ten
    where nothing happens. Where `forecast` is null, `no_forecast` says why. `segments` has a list for each name of the
    context that has categories.
    """

    campaign: CampaignAnswer
    read: int
    judged: int
    burn: list[BurnPoint]
    forecast: Forecast | None
    no_forecast: str | None
    arms: list[ArmView]
    other_arms: int
    past: list[RatePast]
    next: Reasons | None
    learning: Learning | None
    context: list[ContextName]
    segments: list[SegmentsView]
    under_way: list[PullStatus]
    events: list[Entry]
    counts: dict[str, int]


class Spread(Struct):
    """The median of many rehearsals, and the interval that holds 95 % of them."""

    middle: float
    low: float
    high: float


class ArmShare(Struct):
    """An arm and its average share of the pulls."""

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
    """The campaign played again with outcomes drawn from those observed: as it is, and with the changes.

    Each of `worlds` redraws every arm's outcomes, because they are only a sample, and is played `runs` times; fewer
    `rehearsals` of each policy were played where that took too long. `more` is how much more reward the other brings,
    run by run. `scale` is below 1 if budgets were too large to play in full; budgets and requests are as they were
    played. `left_out` counts arms without outcomes, `few` names arms with fewer than ten, about which little is known.
    """

    own: PolicyOutcome
    other: PolicyOutcome
    more: Spread
    worlds: int
    runs: int
    rehearsals: int
    scale: float
    left_out: int
    few: list[str]


class PoliciesAnswer(Struct):
    """The policies that need no parameters."""

    items: list[str]


def digits(exact: Exact | ArmExact) -> dict[str, str]:
    """Amounts as plain digits.

    >>> digits(ArmExact(spent=Decimal("1E-7"), reserved=Decimal("10.500000000")))
    {'spent': '0.0000001', 'reserved': '10.5'}
    """
    return {name: f"{amount.normalize():f}" for name, amount in asdict(exact).items()}


def answer(kind: type[A], record: ArmStatus | CampaignSummary, **more: Any) -> A:
    """A record of the library as the service answers it, with `exact` amounts as strings."""
    exact = CampaignMoney if issubclass(kind, CampaignSummary) else ArmMoney
    more["exact"] = exact(**digits(record.exact))
    return kind(**{name: getattr(record, name) for name in kind.__struct_fields__ if name not in more}, **more)


def campaign_and_arms(status: Status) -> CampaignAndArms:
    """The status of a campaign with its first arms."""
    arms = [answer(ArmAnswer, arm) for arm in status.arms[:MOST_LISTED]]
    return answer(CampaignAndArms, status, arms=arms, more_arms=len(status.arms) > len(arms))
