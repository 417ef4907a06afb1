"""What a campaign answers: plain records for its users, money as floats, times as datetimes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NamedTuple

from outlay.campaign.answers.frames import frame_of
from outlay.campaign.answers.outlook import Outlook, outlook_of
from outlay.campaign.answers.reasons import Weighed
from outlay.campaign.ledger.state import Arm, Ending, Said, State, said
from outlay.campaign.settings import Mode, Window
from outlay.errors import StoreError
from outlay.tables import Table
from outlay.text import aligned

if TYPE_CHECKING:
    import pandas

Phase = Literal["open", "paused", "waiting", "fallback", "draining", "closed"]


class Pull(NamedTuple):
    """An arm to use now; pass it back to `tell` with what it cost and earned.

    `standing` is how it stood when it was answered: "open"; in a `PullOver` also "told", "expired" or "void".
    `fallback`: the budget is spent, and this is the arm that was agreed for then; it counts against no budget.
    """

    decision: int
    arm: str
    reserved: float
    expires: datetime | None
    propensity: float | None
    standing: Said = "open"
    fallback: bool = False


class Receipt(NamedTuple):
    """A tell as it was recorded.

    `duplicate`: the same outcome had been told before. `late`: the pull had expired. `overrun`: it cost more than was
    set aside for it, or a correction took what a hard cap had promised to others. `rounded`: the cost was no whole
    number of units and was rounded up. `head` is the hash of the ledger's last event when this was answered: who keeps
    it can see later that nothing up to there was changed (`verify(expected_head=…)`).
    """

    decision: int
    arm: str
    cost: float
    reward: float
    duplicate: bool
    late: bool
    overrun: bool
    rounded: bool = False
    head: str = ""


# What a command comes to: a pull, a receipt, what a choice is made by, a count, the end, or nothing to say.
Answer = Pull | Receipt | Weighed | int | None
Reply = Answer | Exception  # or why it was refused


class Exact(NamedTuple):
    """The money of a campaign, to the last unit."""

    budget: Decimal
    spent: Decimal
    reserved: Decimal
    left: Decimal


class ArmExact(NamedTuple):
    """The money of an arm, to the last unit."""

    spent: Decimal
    reserved: Decimal


class ArmStatus(NamedTuple):
    """How one arm stands; `rate` is reward divided by cost so far, None before any cost; `exact` is in Decimals."""

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


class WindowStatus(NamedTuple):
    """The window that a budget is for; `earlier` is what was spent in those before it."""

    kind: Window
    timezone: str
    start: datetime
    end: datetime
    earlier: float


class Status(NamedTuple):
    """How a campaign stands; spent + reserved + left = budget.

    `phase` is "open", "paused", "waiting" (for the next window), "fallback" (the budget is spent, and the arm of that
    name is pulled), "draining" (ended, pulls under way) or "closed"; `ended` says why: "exhausted" or "closed".
    With windows, spent, reserved, left and used are those of this `window`; arms have the sums of all. `outside` is
    what fallbacks have cost, which no budget pays for. `exact` has budget, spent, reserved and left as Decimals, where
    floats are rounded. Of the `requests`, if limited, those of pulls that were asked for and not voided are `used`;
    `expected` is how many are still to come, as far as somebody said (`expect`), and `outlook` what that comes to.
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
    arms: tuple[ArmStatus, ...]
    exact: Exact
    requests: int | None = None
    used: int = 0
    expected: int | None = None
    outlook: Outlook | None = None
    window: WindowStatus | None = None
    fallback: str | None = None
    outside: float = 0.0
    archived: bool = False

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
        money = f"spent {self.spent:,.6g}, reserved {self.reserved:,.6g}, left {self.left:,.6g} of {self.budget:,.6g}"
        caption = f"{self.name} ({self.phase}): {money}{requests}; {self.policy}"
        return Table(("arm", "pulls", "under way", "spent", "reward", "rate"), rows, caption).html()


def pull_of(state: State, number: int) -> Pull:
    """A decision as its asker sees it."""
    decision = state.decisions[number]
    return Pull(
        number,
        state.arms[decision.arm].name,
        state.unit.amount(decision.reserved),
        when(decision.expires),
        decision.propensity,
        said(decision.standing),
        decision.fallback,
    )


def receipt_of(state: State, number: int, duplicate: bool, rounded: bool = False) -> Receipt:
    """A decision as its teller sees it."""
    decision = state.decisions[number]
    cost = state.unit.amount(decision.cost or 0)
    name = state.arms[decision.arm].name
    flags = duplicate, decision.late, decision.overrun, rounded
    return Receipt(number, name, cost, decision.reward or 0.0, *flags, state.head)


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
        outside=amount(state.outside),
        archived=state.archived,
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
    start, end = when(state.window_start), when(state.window_end)
    if state.terms.window is None or start is None or end is None:
        return None
    return WindowStatus(state.terms.window, state.terms.timezone, start, end, state.unit.amount(state.earlier))


def when(micros: int | None) -> datetime | None:
    """A time of the ledger."""
    try:
        return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC)
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
        arm.reward / amount(arm.spent) if arm.spent > 0 else None,
        None if arm.max_cost is None else amount(arm.max_cost),
        ArmExact(state.unit.exact(arm.spent), state.unit.exact(arm.reserved)),
    )
