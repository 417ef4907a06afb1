"""What the dashboard draws, as types: numbers that are small whatever the size of a campaign."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from outlay.service.wire import answers as a
from outlay.service.wire.requests import Body, Name

Limit = Literal["money", "requests", "window"]


class ViewWanted(Struct):
    """Which arms to show: those whose name contains `find`, in the order of `by`, the largest first."""

    find: Annotated[str, Meta(max_length=200)] = ""
    by: Literal["pulls", "spent", "reward", "rate"] = "pulls"


class Point(Struct, array_like=True):
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

    arm: a.Arm
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


class Reason(Struct):
    """What the policy weighs about an arm, and the same in a sentence."""

    name: str
    leads: bool
    evidence: float | None
    enough: float | None
    score: float | None
    words: str


class Next(Struct):
    """Which arm would be named now, null for none, and why; `arms` are those that matter most for that."""

    arm: str | None
    means: str
    words: str
    untried: int
    arms: list[Reason]


class Learning(Struct):
    """What learning has cost so far, in reward, and about how little any policy that learns could have lost.

    `cost` is against the best arm as known now, or where requests count the best mix. `bound` is the lower bound of the
    theory at the same number of pulls, over arms that are clearly worse, taken to be Gaussian; null if there are none.
    """

    cost: float
    bound: float | None


class CampaignView(Struct):
    """A campaign at one moment; `read` counts the events that are in what is drawn over time: at first not all.

    What takes longer to find, `forecast`, `next` and `learning`, is that after `judged` events: up to a second ago.
    """

    campaign: a.Campaign
    read: int
    judged: int
    burn: list[Point]
    forecast: Forecast | None
    arms: list[ArmView]
    other_arms: int
    past: list[RatePast]
    next: Next | None
    learning: Learning | None
    under_way: list[a.PullStatus]
    events: list[a.Event]
    counts: dict[str, int]


class WhatIf(Body):
    """Another policy, by its name, another budget, another number of requests: null leaves it as it is."""

    policy: Name | None = None
    budget: Annotated[float, Meta(gt=0)] | None = None
    requests: Annotated[int, Meta(gt=0)] | None = None


class Spread(Struct):
    """The middle one of many rehearsals, and between which ends 95 % of them are."""

    middle: float
    low: float
    high: float


class Share(Struct):
    """An arm, and the share of the pulls that it had on average."""

    arm: str
    share: float


class Played(Struct):
    """How a policy did in the rehearsals."""

    policy: str
    budget: float
    requests: int | None
    reward: Spread
    pulls: Spread
    shares: list[Share]  # the largest first


class Rehearsal(Struct):
    """The campaign from its first pull, with outcomes drawn from those observed: as it is, and as it might be.

    Each of `worlds` redraws every arm's outcomes, for what is not known of them, and is played `runs` times. `more` is
    the reward that the other brings on top, run by run. `scale` is below 1 where budgets were too large to be played in
    full: budgets and requests are as they were played. `left_out` counts arms without an outcome, `few` names arms with
    fewer than ten, of which little is known.
    """

    own: Played
    other: Played
    more: Spread
    worlds: int
    runs: int
    scale: float
    left_out: int
    few: list[str]


class Policies(Struct):
    """The policies that can be rehearsed without being told anything."""

    items: list[str]
