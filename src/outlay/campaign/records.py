"""What a campaign answers: the records that the library, the service and its clients share, and rows of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from outlay.campaign.context import categories, cells, columns
from outlay.campaign.ledger.events import SEPARATOR, Added, Asked, Mode, Record, Terms, Window, plain_key, spellings
from outlay.campaign.ledger.money import Unit
from outlay.campaign.ledger.state import Arm, Ending, PullPhase, PullState, State
from outlay.campaign.reasons import Explanation, Outlook, outlook_of
from outlay.errors import BadParameter, StoreError, needed
from outlay.tables import Table
from outlay.text import aligned, in_currency, listed

if TYPE_CHECKING:
    import pandas

R = TypeVar("R", bound=msgspec.Struct)
FEW = 3  # records that a repr shows

Phase = Literal["open", "paused", "waiting", "fallback", "draining", "closed"]


class Pull(msgspec.Struct, frozen=True):
    """An arm to use now; pass it back to `tell` with what it cost and earned.

    `status` is how it stood when it was answered: "open"; in a `PullOver` also one of those of `PullStatus`.
    `fallback`: the budget has no room, and this is the arm that was agreed for then; it counts against no budget.
    """

    id: int
    arm: str
    reserved: float
    expires: datetime | None
    propensity: float | None
    status: PullPhase = "open"
    fallback: bool = False


class Receipt(msgspec.Struct, frozen=True):
    """A tell, or a reward that came later, as it was recorded; `reward` is None while it is awaited.

    `duplicate`: the same outcome had been told before. `late`: the pull had expired. `overrun`: it cost more than was
    set aside for it, or a correction took what a hard cap had promised to others. `rounded`: the cost was no whole
    number of units and was rounded up. `head` is the hash of the ledger's last event when this was answered: who keeps
    it can see later that nothing up to there was changed (`verify(expected_head=…)`).
    """

    pull: int
    arm: str
    cost: float
    reward: float | None
    duplicate: bool
    late: bool
    overrun: bool
    rounded: bool = False
    head: str = ""


class PullStatus(msgspec.Struct, frozen=True):
    """How one pull stands: "open" (under way), "paid", "told", "cancelled" or "expired" (given up, or not in time).

    `cost` and `reward` are what it counts for now: as it was told, charged or amended; None if it counts for nothing. A
    pull that is paid awaits its reward, until `reward_due` where that was agreed; one `overdue` was told without.
    `context` has the features of its request.
    """

    id: int
    arm: str
    status: PullPhase
    asked: datetime
    expires: datetime | None
    reserved: float
    cost: float | None
    reward: float | None
    late: bool
    overrun: bool
    amended: bool
    propensity: float | None
    key: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    fallback: bool = False
    reward_due: datetime | None = None
    overdue: bool = False
    context: tuple[float, ...] | None = None


class Segment(msgspec.Struct, frozen=True):
    """The pulls for requests of one category that were not cancelled: how many of each arm, what they cost and earned.

    `rate` is reward divided by cost, None before any cost; pulls under way and awaited rewards count as nothing.
    """

    category: str
    pulls: int
    spent: float
    reward: float
    rate: float | None
    arms: dict[str, int]


class Entry(msgspec.Struct, frozen=True):
    """An event in readable form: fields that do not apply are None; `more` holds what only this kind of event has."""

    seq: int
    at: datetime
    kind: str
    pull: int | None
    arm: str | None
    cost: float | None
    reward: float | None
    more: dict[str, Any]


class Exact(msgspec.Struct, frozen=True):
    """The money of a campaign, to the last unit."""

    budget: Decimal
    spent: Decimal
    reserved: Decimal
    left: Decimal


class ArmExact(msgspec.Struct, frozen=True):
    """The money of an arm, to the last unit."""

    spent: Decimal
    reserved: Decimal


class ArmStatus(msgspec.Struct, frozen=True):
    """How one arm stands; `rate` is reward divided by cost so far, None before any cost; `exact` is in Decimals.

    `awaited` pulls wait for their reward, and those that are `overdue` did not get it in time; in the rate, they count
    as the others of the arm came out. `changed` is when its mean cost or reward was last seen to have changed; for that
    the policy has `forgotten` so many of its first samples.
    """

    name: str
    enabled: bool
    pulls: int
    in_flight: int
    spent: float
    reserved: float
    reward: float
    rate: float | None
    max_cost: float | None
    exact: ArmExact
    awaited: int = 0
    overdue: int = 0
    changed: datetime | None = None
    forgotten: int = 0


class WindowStatus(msgspec.Struct, frozen=True):
    """The window that a budget is for; `earlier` is what was spent in those before it."""

    kind: Window
    timezone: str
    start: datetime
    end: datetime
    earlier: float


class CampaignSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How a campaign stands as a whole; spent + reserved + left = budget.

    `phase` is "open", "paused", "waiting" (for the next window), "fallback" (the budget is spent, and the arm of that
    name is pulled), "draining" (ended, pulls under way) or "closed"; `ended` says why: "exhausted" or "closed".
    With windows, spent, reserved, left and used are those of this `window`; arms have the sums of all. `outside` is
    what fallbacks have cost, which no budget pays for. `exact` has budget, spent, reserved and left as Decimals, where
    floats are rounded. Of the `requests`, if limited, those of pulls that were asked for and not cancelled are `used`;
    `expected` is how many are still to come, as far as somebody said (`expect_requests`), and `outlook` what that comes
    to. `awaited` pulls wait for their reward, `overdue` ones did not get it in time. Amounts are in the `currency`, if
    one was said.
    """

    name: str
    phase: Phase
    ended: Ending | None
    budget: float
    spent: float
    reserved: float
    left: float
    reward: float
    pulls: int
    in_flight: int
    events: int
    policy: str
    mode: Mode
    unit: str
    exact: Exact
    requests: int | None = None
    used: int = 0
    expected: int | None = None
    outlook: Outlook | None = None
    window: WindowStatus | None = None
    fallback: str | None = None
    outside: float = 0.0
    archived: bool = False
    awaited: int = 0
    overdue: int = 0
    currency: str | None = None


class Status(CampaignSummary, frozen=True, kw_only=True):
    """How a campaign and each of its arms stand."""

    arms: tuple[ArmStatus, ...]

    def frame(self) -> "pandas.DataFrame":
        """A row per arm, as a DataFrame; needs pandas."""
        return frame_of(ArmStatus, self.arms, "Status.frame").drop(columns="exact")

    def _repr_html_(self) -> str:
        spent, reward = (aligned([getattr(arm, name) for arm in self.arms], 6) for name in ("spent", "reward"))
        rate = iter(aligned([arm.rate for arm in self.arms if arm.rate is not None], 4))
        rows = [
            (arm.name, arm.pulls, arm.in_flight, *sums, "–" if arm.rate is None else next(rate))
            for arm, *sums in zip(self.arms, spent, reward, strict=True)
        ]
        requests = "" if self.requests is None else f"; {self.used:,} of {self.requests:,} requests used"
        of = in_currency(f"{self.budget:,.6g}", self.currency)
        money = f"spent {self.spent:,.6g}, reserved {self.reserved:,.6g}, left {self.left:,.6g} of {of}"
        caption = f"{self.name} ({self.phase}): {money}{requests}; {self.policy}"
        return Table(("arm", "pulls", "under way", "spent", "reward", "rate"), rows, caption).html()


class Rows(Iterable[R], Generic[R]):
    """Records, read from the ledger as they are needed: each loop over them, `len` and `frame` read anew.

    >>> from outlay.campaign import Campaign
    >>> history = Campaign(["a"], 5).history()
    >>> len(history), [entry.kind for entry in history], [entry.seq for entry in history]
    (1, ['opened'], [1])
    >>> history.frame()[["seq", "kind"]].to_dict("list")
    {'seq': [1], 'kind': ['opened']}
    """

    def __init__(self, kind: type[R], read: Callable[[], Iterator[R]]) -> None:
        self._kind, self._read = kind, read
        self._ahead: list[R] | None = None  # what `len` has read: `list` asks for that first, and then for the records
        self._under_way: Iterator[R] | None = None

    def __iter__(self) -> Iterator[R]:
        ahead, self._ahead = self._ahead, None
        return self._read() if ahead is None else iter(ahead)

    def __next__(self) -> R:
        """The next record: the first, when this is called for the first time."""
        self._under_way = self._under_way or self._read()
        return next(self._under_way)

    def __len__(self) -> int:
        if self._ahead is None:
            self._ahead = list(self._read())
        return len(self._ahead)

    def __bool__(self) -> bool:
        return any(True for _ in self._read())

    def __repr__(self) -> str:
        shown = [*map(repr, islice(self._read(), FEW + 1))]
        lines = "".join(f"\n  {line}" for line in [*shown[:FEW], *["…"] * (len(shown) > FEW)])
        return f"<rows of {self._kind.__name__}:{lines or ' none'}>"

    def frame(self) -> "pandas.DataFrame":
        """A column per field, a row per record; needs pandas."""
        return frame_of(self._kind, self, "frame")

    def listed(self) -> "Listed[R]":
        """All of them, read at once."""
        return Listed(self._kind, self)


class Listed(list[R], Generic[R]):
    """Records in a list, as the forms for asyncio return them."""

    def __init__(self, kind: type[R], rows: Iterable[R]) -> None:
        super().__init__(rows)
        self._kind = kind

    def frame(self) -> "pandas.DataFrame":
        """A column per field, a row per record; needs pandas."""
        return frame_of(self._kind, self, "frame")


def frame_of(kind: type[Any], rows: Iterable[msgspec.Struct], owner: str) -> "pandas.DataFrame":
    """The records as a DataFrame, or MissingExtra in one sentence."""
    with needed(owner):
        import pandas
    return pandas.DataFrame.from_records(list(map(msgspec.structs.astuple, rows)), columns=list(kind.__struct_fields__))


# What a command comes to: a pull, a receipt, what a choice is made by, a count, nothing to say; or why it was refused.
Reply = Pull | Receipt | Explanation | int | Exception | None
Found = tuple[PullState, Asked]  # a pull as it stands, and the event that made it


class PullFilter(NamedTuple):
    """Which pulls to find: those that agree with all that is given, at most `limit`, after the number `after`."""

    status: PullPhase | None = None
    tag: str | None = None
    key: str | None = None
    after: int = 0
    limit: int | None = None

    def fits(self, pull: PullState, asked: Asked) -> bool:
        """Whether it is one of those, `limit` aside."""
        if self.key is not None:  # or the key of many, of which this is one
            key = pull.key or ""
            if key not in spellings(self.key) and not key.startswith(f"{self.key}/{SEPARATOR}"):
                return False
        fits = pull.number > self.after and self.status in (None, pull.status)
        return fits and (self.tag is None or self.tag in asked.tags)


def pull_of(state: State, number: int) -> Pull:
    """A pull as its asker sees it."""
    pull = state.pulls[number]
    return Pull(
        number,
        state.arms[pull.arm].name,
        state.unit.amount(pull.reserved),
        None if pull.expires is None else when(pull.expires),
        pull.propensity,
        pull.status,
        pull.fallback,
    )


def receipt_of(state: State, pull: PullState, duplicate: bool, rounded: bool = False) -> Receipt:
    """A pull as its teller sees it."""
    cost = state.unit.amount(pull.cost or 0)
    name = state.arms[pull.arm].name
    flags = duplicate, pull.late, pull.overrun, rounded
    return Receipt(pull.number, name, cost, pull.reward, *flags, state.head)


def status_of(state: State) -> Status:
    """The whole campaign."""
    amount = state.unit.amount
    spent, reserved, left = state.counted, state.held, state.left
    in_flight = sum(arm.in_flight for arm in state.arms)
    return Status(
        name=state.name,
        phase=_phase(state, in_flight),
        ended=state.ended,
        budget=amount(state.budget),
        spent=amount(spent),
        reserved=amount(reserved),
        left=amount(left),
        reward=state.reward,
        pulls=sum(arm.pulls for arm in state.arms),
        in_flight=in_flight,
        events=state.seq,
        policy=state.terms.policy["name"],
        mode=state.terms.mode,
        unit=state.terms.unit,
        arms=tuple(_arm_status(state, arm) for arm in state.arms),
        exact=Exact(*(state.unit.exact(units) for units in (state.budget, spent, reserved, left))),
        requests=state.requests,
        used=state.used_now,
        expected=None if state.forecast is None else max(0, state.forecast - state.used),
        outlook=outlook_of(state),
        window=_window(state),
        fallback=state.terms.fallback,
        outside=amount(state.spent_on_fallback),
        archived=state.archived,
        awaited=sum(arm.awaited for arm in state.arms),
        overdue=sum(arm.overdue for arm in state.arms),
        currency=state.terms.currency,
    )


def _phase(state: State, in_flight: int) -> Phase:
    falls_back = state.fallback is not None and (state.requests is None or state.used_now < state.requests)
    goes_on = not state.ended or (state.ended == "exhausted" and (falls_back or state.window_end is not None))
    if state.archived or not goes_on:
        return "draining" if in_flight else "closed"
    if state.paused:
        return "paused"
    return "open" if not state.ended else "fallback" if falls_back else "waiting"


def _window(state: State) -> WindowStatus | None:
    terms, start, end = state.terms, state.window_start, state.window_end
    if terms.window is None or start is None or end is None:
        return None
    earlier = state.unit.amount(state.spent_before_window)
    return WindowStatus(terms.window, terms.timezone, when(start), when(end), earlier)


def when(micros: int) -> datetime:
    """A time of the ledger."""
    try:
        return datetime.fromtimestamp(micros / 1e6, UTC)
    except (ValueError, OverflowError) as error:
        raise StoreError(f"a time in the ledger is out of range, it is damaged: {error}") from error


def arm_name(names: Sequence[str], arm: int) -> str:
    """The name of an arm that a ledger names by its number."""
    if not 0 <= arm < len(names):
        raise StoreError(f"the ledger names arm {arm} of {len(names)}: it is damaged")
    return names[arm]


def _arm_status(state: State, arm: Arm) -> ArmStatus:
    amount = state.unit.amount
    return ArmStatus(
        arm.name,
        arm.enabled,
        arm.pulls,
        arm.in_flight,
        amount(arm.spent),
        amount(arm.reserved),
        arm.reward,
        _rate(arm, amount(arm.spent)),
        None if arm.max_cost is None else amount(arm.max_cost),
        ArmExact(state.unit.exact(arm.spent), state.unit.exact(arm.reserved)),
        arm.awaited,
        arm.overdue,
        None if arm.changed is None else when(arm.changed),
        arm.forgotten,
    )


def _rate(arm: Arm, spent: float) -> float | None:
    if arm.spent <= 0 or not arm.rewarded:
        return None
    rate = arm.reward / spent
    return rate if arm.rewarded == arm.pulls else rate * arm.pulls / arm.rewarded


def pull_status(found: Found, unit: Unit, names: list[str]) -> PullStatus:
    """A pull as users see it; `names` are those of the arms."""
    pull, event = found
    return PullStatus(
        id=pull.number,
        arm=arm_name(names, pull.arm),
        status=pull.status,
        asked=when(pull.asked),
        expires=None if pull.expires is None else when(pull.expires),
        reserved=unit.amount(pull.reserved),
        cost=None if pull.cost is None else unit.amount(pull.cost),
        reward=pull.reward,
        late=pull.late,
        overrun=pull.overrun,
        amended=pull.amended,
        propensity=pull.propensity,
        key=None if pull.key is None else plain_key(pull.key),
        tags=event.tags,
        metadata=event.metadata or {},
        fallback=pull.fallback,
        reward_due=None if pull.reward_due is None else when(pull.reward_due),
        overdue=pull.overdue,
        context=event.context,
    )


_NOT_LOGGED = ("tags", "metadata", "context")
_LOGGED = {
    "id": int, "asked": datetime, "expires": datetime, "reward_due": datetime, "reserved": float, "cost": float,
    "reward": float, "propensity": float, "late": bool, "overrun": bool, "amended": bool, "fallback": bool,
    "overdue": bool,
}  # fmt: skip


def log_columns(terms: Terms) -> dict[str, type]:
    """The columns of a campaign's log, and what is in them."""
    fields = [name for name in PullStatus.__struct_fields__ if name not in _NOT_LOGGED]
    return {name: _LOGGED.get(name, str) for name in fields} | columns(terms.context)


def log_row(pull: PullStatus, terms: Terms) -> list[Any]:
    """A pull in these columns."""
    if pull.propensity is None and terms.propensity_draws:
        pull = msgspec.structs.replace(pull, propensity=1.0)
    fields = [getattr(pull, name) for name in PullStatus.__struct_fields__ if name not in _NOT_LOGGED]
    return [*fields, *cells(terms.context, pull.context)]


def segments_of(found: Iterable[Found], state: State, name: str) -> "Listed[Segment]":
    """The pulls by the categories that a campaign's context has under a name, in the order of these."""
    kinds, arms = state.terms.context, [arm.name for arm in state.arms]
    kind = kinds.get(name) if isinstance(kinds, dict) else None
    if not isinstance(kinds, dict) or not isinstance(kind, tuple):
        having = [each for each, kind in kinds.items() if isinstance(kind, tuple)] if isinstance(kinds, dict) else []
        allowed = f"a name with categories: {listed(having)}" if having else "left out: the context has no categories"
        raise BadParameter("segments", "name", allowed, name)
    sums = {category: (dict.fromkeys(arms, 0), [0, 0.0]) for category in kind}
    for pull, asked in found:
        if pull.status != "cancelled" and asked.context is not None:
            counts, totals = sums[categories(kinds, asked.context)[name]]
            counts[arm_name(arms, pull.arm)] += 1
            totals[0] += pull.cost or 0
            totals[1] += pull.reward or 0.0
    rows = []
    for category, (counts, (units, reward)) in sums.items():
        cost = state.unit.amount(int(units))
        rows.append(Segment(category, sum(counts.values()), cost, reward, reward / cost if units > 0 else None, counts))
    return Listed(Segment, rows)


_MONEY = {"cost", "reserved", "charged", "budget", "max_cost", "reservation", "most", "room"}
_TIMES = {"expires", "reward_due", "start", "end"}
_OTHERWISE = {*_MONEY, *_TIMES, "key", "ttl"}
_NESTED = (dict, list, tuple)


def entries(records: Iterable[Record], unit: Unit, names: list[str]) -> Iterator[Entry]:
    """The records as entries; `names` are those of the arms by now, to which records may add more."""
    for record in records:
        event = record.event
        if isinstance(event, Added) and event.arm.name not in names:
            names.append(event.arm.name)
        more = msgspec.to_builtins(event)
        for name, value in more.items():
            if name in _OTHERWISE or type(value) in _NESTED:  # most fields are what they are: a ledger has millions
                more[name] = _readable(value, unit, name)
        kind = more.pop("kind")
        arm = more.pop("arm", None)
        if isinstance(arm, dict):  # one that was added, with its terms
            more |= arm
            arm = more.pop("name")
        yield Entry(
            record.seq,
            when(record.at),
            kind,
            record.seq if isinstance(event, Asked) else more.pop("pull", None),
            arm_name(names, arm) if isinstance(arm, int) else arm,
            more.pop("cost", more.pop("charged", None)),
            more.pop("reward", None),
            more,
        )


def _readable(value: Any, unit: Unit, name: str = "") -> Any:
    """Money in the user's numbers, times as times; a policy's parameters and a user's metadata are what they are."""
    if name in _MONEY and isinstance(value, int):
        return unit.amount(value)
    if name == "key" and isinstance(value, str):
        return plain_key(value)
    if name in ("ttl", "reward_within"):
        return value / 1e6
    if name in _TIMES:
        return None if value is None else when(value)
    if isinstance(value, dict) and name == "most":  # of each arm
        return {arm: unit.amount(units) for arm, units in value.items()}
    if isinstance(value, dict) and name not in ("policy", "metadata", "context"):
        return {key: _readable(part, unit, key) for key, part in value.items()}
    return [_readable(part, unit) for part in value] if isinstance(value, (list, tuple)) else value
