"""What requests may say, as types: bodies and queries are checked against these, and OpenAPI says them.

Money is a number, or a decimal string where a float would not do.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from outlay.campaign.ledger.state import PullPhase
from outlay.campaign.settings import DEFAULT, Expiry, Mode, Window

Money = Decimal  # from a JSON number or a string
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
PullNumber = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Seconds = Annotated[float, Meta(ge=0, le=60)]
MOST_LISTED = 1000  # items on a page
PageSize = Annotated[int, Meta(ge=1, le=MOST_LISTED)]


class Body(Struct, forbid_unknown_fields=True):
    """What a request may say; a field that is not known is refused, for it may be a slip of the pen."""


class PolicyGiven(Body):
    """A built-in policy, with parameters."""

    name: Name
    parameters: dict[str, Any] = {}


class NewCampaign(Body):
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


class Ask(Body):
    """What an ask may say. With a key, asking again gives the same pulls; `wait` is in seconds, for a single pull."""

    key: Name | None = None
    n: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    ttl: float | None = None
    wait: Seconds = 0.0
    tags: list[str] = []
    metadata: dict[str, Any] | None = None


class Tell(Body):
    """What a pull cost and earned."""

    pull: PullNumber
    cost: Money
    reward: float


class Cancel(Body):
    """A pull was never made."""

    reason: str = ""


class Extend(Body):
    """A pull needs so many seconds more, from now on."""

    ttl: float


class Amend(Body):
    """What was told was wrong: the cost, the reward or both."""

    cost: Money | None = None
    reward: float | None = None
    reason: str = ""


class Budget(Body):
    """The budget, all of it: what is set twice is not added twice."""

    budget: Money


class Requests(Body):
    """A number of requests."""

    requests: int


class NewArm(Body):
    """Another arm."""

    name: Name
    max_cost: Money | None = None
    cost: float | None = None


class Samples(Body):
    """What was seen elsewhere: (arm, cost, reward) each. A log with the same key is learned once."""

    samples: list[tuple[str, Money, float]]
    key: Name | None = None


class Page(Struct):
    """Which part of a list: `after` is the `next` of the page before."""

    after: str = ""
    limit: PageSize = 100


class CampaignsWanted(Page):
    """The same of campaigns: those that were archived, or the others."""

    archived: bool = False


class ActsWanted(Struct):
    """Which acts of admins, the newest first: `after` is the `next` of the page before."""

    after: PullNumber | None = None
    limit: PageSize = 100


class PullsWanted(Struct):
    """Which pulls."""

    status: PullPhase | None = None
    tag: str | None = None
    key: str | None = None
    after: Count = 0
    limit: PageSize = 100


class EventsWanted(Struct):
    """Which events: those after a number. A stream goes on where `Last-Event-ID` says, if a browser sends that."""

    after: Count = 0
    limit: PageSize = MOST_LISTED


class ArmsWanted(Struct):
    """Which arms, in the order in which they were added."""

    after: Count = 0
    limit: PageSize = 100


class ExportWanted(Struct):
    """In which format: `ndjson` is the ledger itself, which `outlay campaign import` reads; the others list pulls."""

    format: Literal["ndjson", "csv", "parquet"] = "ndjson"
