"""What the service answers, as types. Money is a number, and under `exact` a decimal string, to the last unit."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from outlay.campaign.ledger.state import PullPhase
from outlay.campaign.settings import Mode, Window


class Reserved(Struct):
    """Money to the last unit."""

    reserved: str


class Pull(Struct):
    """An arm to use now. `pull` is its number, to tell it by."""

    pull: int
    arm: str
    reserved: float
    exact: Reserved
    expires: datetime | None
    propensity: float | None
    status: PullPhase
    fallback: bool


class Asked(Struct):
    """The pulls that were named; none of them and `ended` true where the campaign is over."""

    pulls: list[Pull]
    ended: bool


class Cost(Struct):
    """Money to the last unit."""

    cost: str


class Receipt(Struct):
    """A tell as it was recorded. `head` is the hash of the ledger's last event."""

    pull: int
    arm: str
    cost: float
    exact: Cost
    reward: float
    duplicate: bool
    late: bool
    overrun: bool
    rounded: bool
    head: str


class Problem(Struct, omit_defaults=True):
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
    problem: Problem | None = None


class TellResults(Struct):
    """One for each tell, in their order."""

    results: list[TellResult]


class PullMoney(Struct):
    """Money to the last unit."""

    reserved: str
    cost: str | None


class PullStatus(Struct):
    """How a pull stands, and what it counts for."""

    pull: int
    arm: str
    status: PullPhase
    asked: datetime
    expires: datetime | None
    reserved: float
    cost: float | None
    exact: PullMoney
    reward: float | None
    late: bool
    overrun: bool
    amended: bool
    propensity: float | None
    key: str | None
    tags: list[str]
    metadata: dict[str, Any]
    fallback: bool


class Pulls(Struct):
    """A page of pulls; `next` is the `after` of the following page, null at the end."""

    items: list[PullStatus]
    next: int | None


class ArmMoney(Struct):
    """Money to the last unit."""

    spent: str
    reserved: str


class Arm(Struct):
    """How an arm stands; `rate` is reward divided by cost so far."""

    name: str
    enabled: bool
    pulls: int
    in_flight: int
    spent: float
    reserved: float
    reward: float
    rate: float | None
    max_cost: float | None
    exact: ArmMoney


class Arms(Struct):
    """A page of arms."""

    items: list[Arm]
    next: int | None


class CampaignMoney(Struct):
    """Money to the last unit."""

    budget: str
    spent: str
    reserved: str
    left: str


class Outlook(Struct):
    """What is to be expected where requests are counted; the library's `Outlook` says what each field means."""

    price: float
    worth: float
    low: str | None
    high: str | None
    share: float
    reward: float
    reward_low: float | None
    reward_high: float | None


class CampaignWindow(Struct):
    """The window that a budget is for; `earlier` is what was spent in those before it."""

    kind: Window
    timezone: str
    start: datetime
    end: datetime
    earlier: float


class Campaign(Struct):
    """How a campaign stands; spent, reserved, left and used are those of its window, if it has windows."""

    name: str
    phase: Literal["open", "paused", "waiting", "fallback", "draining", "closed"]
    ended: Literal["exhausted", "closed"] | None
    budget: float
    spent: float
    reserved: float
    left: float
    exact: CampaignMoney
    reward: float
    pulls: int
    in_flight: int
    events: int
    policy: str
    mode: Mode
    unit: str
    requests: int | None
    used: int
    expected: int | None
    outlook: Outlook | None
    window: CampaignWindow | None
    fallback: str | None
    outside: float
    archived: bool


class CampaignAndArms(Campaign):
    """How a campaign stands, and its first 1000 arms at the same moment; `/arms` has the others."""

    arms: list[Arm]
    more_arms: bool


class Campaigns(Struct):
    """A page of campaigns, by name."""

    items: list[Campaign]
    next: str | None


class Learned(Struct):
    """How many samples were learned: none where the key was known."""

    samples: int


class Tag(Struct):
    """A tag and how many pulls have it."""

    tag: str
    pulls: int


class Tags(Struct):
    """A page of tags, by name."""

    items: list[Tag]
    next: str | None


class Act(Struct):
    """Something that was done with an admin key, and in which request."""

    seq: int
    at: datetime
    key: str
    act: str
    campaign: str | None
    status: int
    request: str


class Acts(Struct):
    """A page of acts, the newest first."""

    items: list[Act]
    next: int | None


class Event(Struct):
    """An event of the ledger; `more` holds what only its kind has."""

    seq: int
    at: datetime
    kind: str
    pull: int | None
    arm: str | None
    cost: float | None
    reward: float | None
    more: dict[str, Any]


class Health(Struct):
    """That the service runs."""

    status: Literal["ok"]
    version: str


encode = msgspec.json.Encoder().encode
