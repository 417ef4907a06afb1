"""What can be asked of a campaign and what can have happened in it: commands, events, their JSON, and their chain."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal, NamedTuple, SupportsIndex

import msgspec

Amount = float | Decimal | SupportsIndex  # of money, as users give it; numpy's whole numbers have an index
Mode = Literal["until_exceeded", "hard"]
Expiry = Literal["charge", "release"]
Window = Literal["day", "week", "month"]
Ceiling = int | dict[str, int]  # the most a call can cost: on any arm, or on each that is named
ContextKinds = int | Iterable[str] | Mapping[str, int | str | Iterable[str]]  # of requests, as users say it
Kind = int | str | tuple[str, ...]
Kinds = int | dict[str, Kind]  # the same, as the ledger holds it
Features = tuple[float, ...]
PullName = int | str  # the number of a pull, or the key it was asked for with
HOUR = 3600.0


class Settings(NamedTuple):
    """The settings of a campaign as a user gives them, with their defaults; `Campaign` says what each means."""

    mode: Mode = "until_exceeded"
    unit: str | Amount = "1e-9"
    seed: int = 0
    ttl: float | str | None = HOUR
    expiry: Expiry = "charge"
    reservation: Amount | None = None
    default_reward: float = 0.0
    max_in_flight: int | None = None
    negative_costs: bool = True
    propensity_draws: int = 100
    first_pulls: int | None = 1
    window: Window | None = None
    timezone: str = "UTC"
    fallback: str | None = None
    reward_within: float | str | None = None
    missing_reward: float | Literal["unknown"] = "unknown"
    currency: str | None = None
    pool: str | None = None
    context: ContextKinds | None = None


DEFAULT = Settings()
SEPARATOR = "\u2063"  # between a key and the number of one of many asks: no key of a user can hold it
MOST_AT_ONCE = 10_000  # asks or tells in one call
# Of the events and of the rules of money; a ledger keeps the one that it was opened with. To change a rule later, add a
# term whose default is the old rule; or raise FORMAT, which new campaigns record, and branch on `state.terms.format`.
FORMAT = 1


class Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=str.lower):
    """Something that happened."""


class ArmTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """An arm as it was agreed: its name, and the most and the mean that a pull costs where they are known."""

    name: str
    max_cost: int | None = None
    mean_cost: float | None = None  # for the policy, in the currency, not in units: no rule of money reads it


class Terms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was agreed when a campaign was opened: its settings and its policy, as the ledger holds them.

    The defaults are those of the format: a field that has its default is not written, so they never change.
    """

    unit: str
    mode: Mode
    seed: int
    policy: dict[str, Any]  # name, parameters
    version: str  # of outlay
    ttl: int | None = None  # microseconds a pull may stay open
    expiry: Expiry = "charge"
    reservation: int | None = None
    default_reward: float = 0.0
    max_in_flight: int | None = None
    negative_costs: bool = True
    propensity_draws: int = 100
    first_pulls: int | None = None
    window: Window | None = None  # after which budget and requests begin anew
    timezone: str = "UTC"  # in which days begin
    fallback: str | None = None  # the arm that is named, outside the budget, once that is spent
    reward_within: int | None = None  # microseconds that the reward of a pull whose cost was told may take
    missing_reward: float | None = None  # what one counts as that did not come; None where nothing is known of it
    currency: str | None = None  # in which amounts are shown; no rule reads it
    pool: str | None = None  # the campaign in which all that is set aside and spent counts as well
    context: Kinds | None = None  # what is told of each request
    format: int = 1  # FORMAT, as it was when the campaign was opened


class Opened(Event, frozen=True):
    """The first event."""

    name: str
    arms: tuple[ArmTerms, ...]
    budget: int
    terms: Terms
    requests: int | None = None  # pulls that may be made in all


class Asked(Event, frozen=True):
    """An arm was named and money set aside for it."""

    arm: int
    reserved: int
    policy: str  # name@version
    key: str | None = None
    ttl: int | None = None  # as it was asked for
    expires: int | None = None
    propensity: float | None = None  # where the policy drew random numbers
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None  # the user's, for whoever reads the ledger; no rule reads it
    fallback: bool = False  # outside the budget, which is spent or has no room now
    most: Ceiling | None = None  # what the call could cost at most, as its asker said
    room: int | None = None  # what was left in the pool, where that had a say in this
    arms: tuple[str, ...] | None = None  # those that could serve this call, as its asker said
    context: Features | None = None  # of the request that it is for


class Counted(msgspec.Struct, frozen=True):
    """What a pull counted for until now, and the place of its sample among those of its arm."""

    cost: int
    reward: float | None  # None where it was awaited, or never came
    sample_index: int | None  # None where it was not learned


class Told(Event, frozen=True):
    """What a pull cost and earned; without a reward, that is awaited."""

    pull: int
    arm: int
    cost: int
    reward: float | None = None
    late: bool = False  # after it had expired
    overrun: bool = False  # above what was set aside
    instead: Counted | None = None  # of what was charged when it expired
    rounded: bool = False  # up to a whole unit
    was_cancelled: bool = False  # it had been cancelled, and takes a request again
    earlier: bool = False  # it was asked for in an earlier window, and counts there
    fallback: bool = False  # it was a fallback, and counts against no budget
    reward_due: int | None = None  # when the reward is missing, if it does not come


class Rewarded(Event, frozen=True):
    """The reward of a pull whose cost was told before; or its time is over, and it counts as what was agreed."""

    pull: int
    arm: int
    reward: float | None  # None where it did not come, and nothing is known of it
    instead: Counted
    missing: bool = False  # its time is over
    late: bool = False  # it came after that
    unlearned: bool = False  # as in Expired


class Expired(Event, frozen=True):
    """The pull was given up, or not told in time; `charged` is what was set aside, or None where it was released."""

    pull: int
    charged: int | None = None
    reward: float = 0.0
    unlearned: bool = False  # a policy of the user's own would not take it for a sample


class Cancelled(Event, frozen=True):
    """The pull was never made."""

    pull: int
    reason: str = ""


class Extended(Event, frozen=True):
    """The pull may take longer."""

    pull: int
    expires: int


class Amended(Event, frozen=True):
    """What was told was wrong; this is what it cost and earned."""

    pull: int
    arm: int
    cost: int
    reward: float | None
    instead: Counted
    reason: str = ""
    overrun: bool = False  # above what was set aside, or past a hard cap
    rounded: bool = False
    earlier: bool = False  # as in Told, like the next
    fallback: bool = False


class Budgeted(Event, frozen=True):
    """The budget was changed."""

    budget: int


class Requested(Event, frozen=True):
    """The number of requests was changed."""

    requests: int


class Expected(Event, frozen=True):
    """So many requests more are expected to come: the policy paces itself by that, and nothing is refused for it."""

    requests: int


class Renewed(Event, frozen=True):
    """A window began: budget and requests are whole again. Pulls that were asked for before count in their own."""

    start: int  # in microseconds, like the end, which is the start of the next
    end: int


class Added(Event, frozen=True):
    """Another arm was opened."""

    arm: ArmTerms


class Disabled(Event, frozen=True):
    """An arm is not to be pulled any more."""

    arm: int


class Enabled(Event, frozen=True):
    """A disabled arm may be pulled again."""

    arm: int


class Warmed(Event, frozen=True):
    """Samples from elsewhere that the policy learns from; they cost this campaign nothing."""

    arms: tuple[int, ...]
    costs: tuple[float, ...]
    rewards: tuple[float, ...]
    key: str
    source: str = ""


class Changed(Event, frozen=True):
    """The last event showed that the mean cost or reward of an arm has changed: its first samples are forgotten."""

    arm: int
    forgotten: int  # in all


class Paused(Event, frozen=True):
    """No arm is named until further notice."""


class Resumed(Event, frozen=True):
    """Arms are named again."""


class Exhausted(Event, frozen=True):
    """The budget is spent, no arm fits what is left of it, or every request is served."""


class Closed(Event, frozen=True):
    """No arm will be named any more."""


class Archived(Event, frozen=True):
    """The campaign was put away: it is listed no more, and names no arm until it is restored."""


class Restored(Event, frozen=True):
    """A campaign that was put away is back."""


AnyEvent = (
    Opened | Asked | Told | Rewarded | Expired | Cancelled | Extended | Amended | Budgeted | Requested | Expected
    | Renewed | Added | Disabled | Enabled | Warmed | Changed | Paused | Resumed | Exhausted | Closed | Archived
    | Restored
)  # fmt: skip

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class Record(msgspec.Struct, frozen=True):
    """An event in its place in the ledger."""

    seq: int
    at: int
    event: AnyEvent
    before: str  # the hash of the event before it

    def about(self) -> int | None:
        """The pull that the event makes or is about.

        >>> ledger = Record(2, 0, Asked(0, 5, "Frugal@0.2.0"), ""), Record(3, 0, Cancelled(2), "")
        >>> [record.about() for record in ledger]
        [2, 2]
        """
        event = self.event
        if isinstance(event, Asked):
            return self.seq
        return event.pull if isinstance(event, (Told, Rewarded, Expired, Cancelled, Extended, Amended)) else None


def to_json(event: AnyEvent) -> str:
    """The event as it is written.

    >>> to_json(Told(pull=2, arm=0, cost=125, reward=0.5))
    '{"kind":"told","pull":2,"arm":0,"cost":125,"reward":0.5}'
    """
    return _encoder.encode(event).decode()


def from_json(text: str | bytes) -> AnyEvent:
    """The event again.

    >>> from_json('{"kind":"paused"}')
    Paused()
    """
    return _decoder.decode(text)


class Open(NamedTuple):
    """Open the campaign."""

    name: str
    arms: tuple[ArmTerms, ...]
    budget: int
    terms: Terms
    requests: int | None = None


class Ask(NamedTuple):
    """Name an arm; the same key gives the same pull, with the tags and metadata it was first asked with."""

    key: str | None = None
    ttl: int | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    most: Ceiling | None = None
    or_fallback: bool = False  # where no arm can be named now, name the fallback at once
    room: int | None = None  # what may be set aside, where that is bounded by a pool
    arms: tuple[str, ...] | None = None  # those that can serve this call; None for all
    context: Features | None = None


class Tell(NamedTuple):
    """Settle what a pull cost and earned; `arm`, if the teller knows it, must be the pull's."""

    pull: PullName
    cost: int
    reward: float | None
    arm: str | None = None
    rounded: bool = False  # the cost, up to a whole unit


class Reward(NamedTuple):
    """Say what a pull earned whose cost was told before."""

    pull: PullName
    reward: float


class Cancel(NamedTuple):
    """Say that the pull was never made."""

    pull: PullName
    reason: str = ""


class Charge(NamedTuple):
    """Give a pull up, and charge what was set aside for it until it is told after all."""

    pull: PullName


class Extend(NamedTuple):
    """Give a pull more time, from now."""

    pull: PullName
    ttl: int


class Amend(NamedTuple):
    """Correct what was told; None leaves the cost or the reward as it is."""

    pull: PullName
    cost: int | None
    reward: float | None
    reason: str = ""
    rounded: bool = False


class SetBudget(NamedTuple):
    """Change the budget."""

    budget: int


class SetRequests(NamedTuple):
    """Change how many pulls may be made in all."""

    requests: int


class Expect(NamedTuple):
    """Say how many requests are still to come."""

    requests: int


class AddArm(NamedTuple):
    """Open another arm."""

    arm: ArmTerms


class DisableArm(NamedTuple):
    """Stop pulling an arm."""

    arm: str


class EnableArm(NamedTuple):
    """Pull a disabled arm again."""

    arm: str


class WarmStart(NamedTuple):
    """Learn from samples made elsewhere."""

    arms: tuple[str, ...]
    costs: tuple[float, ...]
    rewards: tuple[float, ...]
    key: str
    source: str = ""


class Pause(NamedTuple):
    """Name no arm until further notice."""


class Resume(NamedTuple):
    """Name arms again."""


class Close(NamedTuple):
    """Name no arm any more."""


class Archive(NamedTuple):
    """Put the campaign away."""


class Restore(NamedTuple):
    """Bring it back."""


class Explain(NamedTuple):
    """Say which arm would be named now, and what for; nothing happens. Without a context, for the last request."""

    context: Features | None = None


class ExpirePulls(NamedTuple):
    """Let what is overdue expire, and a window that is over give way to the next."""


Command = (
    Open | Ask | Tell | Reward | Cancel | Charge | Extend | Amend | SetBudget | SetRequests | Expect | AddArm
    | DisableArm | EnableArm | WarmStart | Pause | Resume | Close | Archive | Restore | Explain | ExpirePulls
)  # fmt: skip


ABOUT_A_PULL = (Tell, Reward, Cancel, Charge, Extend, Amend)


def plain_key(key: str) -> str:
    """A key as users read it."""
    return key.replace(SEPARATOR, "", 1)


def spellings(key: str) -> tuple[str, ...]:
    """How a key that users read may stand in a ledger: as it is, or as that of one of many asks."""
    name, slash, number = key.rpartition("/")
    return (key, f"{name}/{SEPARATOR}{number}") if slash and number.isdecimal() else (key,)


def all_spellings(key: str) -> tuple[str, ...]:
    """The same, and those of all asks that were asked for at once with this key."""
    return (*spellings(key), *(f"{key}/{SEPARATOR}{number}" for number in range(MOST_AT_ONCE)))


def one_of_many(key: str, number: int) -> str:
    """The key of one of many asks; no ask by itself can have it.

    >>> one_of_many("job", 0) == "job/0"
    False
    """
    return f"{key}/{SEPARATOR}{number}"


NOTHING = "0" * 64  # what comes before the first event


def link(before: str, seq: int, at: int, body: str) -> str:
    """The hash of an event, of which `body` is the text, where that of the one before it is `before`.

    It is a SHA-256 in hexadecimal digits. A campaign's name is what its store calls it, and may be another elsewhere:
    it is left out.

    >>> link(NOTHING, 2, 1_700_000_000_000_000, '{"kind":"paused"}')[:16]
    'fd71b9e9df570cd7'
    """
    text = f"{before} {seq} {at} {_nameless(body) if seq == 1 else body}"
    try:
        written = text.encode()
    except UnicodeEncodeError:
        written = text.encode(errors="surrogatepass")  # damaged, and to be exported as it is
    return sha256(written).hexdigest()


def _nameless(body: str) -> str:
    try:
        event = from_json(body)
    except (msgspec.DecodeError, UnicodeError):
        return body  # damaged: whatever its hash is, it is not that of a campaign's opening
    return to_json(msgspec.structs.replace(event, name="")) if isinstance(event, Opened) else body
