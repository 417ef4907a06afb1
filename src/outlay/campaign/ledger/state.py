"""Where a campaign stands: the fold of its events."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Literal

import msgspec

from outlay.campaign.ledger.events import NOTHING, ArmTerms, Opened
from outlay.campaign.ledger.learner import Learner
from outlay.campaign.ledger.money import Unit

PullPhase = Literal["open", "told", "expired", "cancelled"]
Ending = Literal["exhausted", "closed"]
MAX_STALE_DEADLINES = 64  # deadlines out of date that may wait to be dropped


class PullState(msgspec.Struct):
    """One ask and what became of it; the fields are the columns of its row."""

    number: int  # the sequence number of its event
    arm: int
    reserved: int
    asked: int  # when, in microseconds
    key: str | None = None
    ttl: int | None = None
    expires: int | None = None
    propensity: float | None = None
    status: PullPhase = "open"
    cost: int | None = None  # as it counts now: told, charged or amended
    reward: float | None = None
    told_cost: int | None = None  # as it was told first
    told_reward: float | None = None
    sample_index: int | None = None  # of its sample among those of its arm
    late: bool = False
    overrun: bool = False
    amended: bool = False
    fallback: bool = False  # it counts against no budget


class Arm(msgspec.Struct):
    """An arm and its sums."""

    name: str
    max_cost: int | None = None
    mean_cost: float | None = None
    enabled: bool = True
    pulls: int = 0  # that count: told, or charged when they expired
    in_flight: int = 0
    spent: int = 0
    reserved: int = 0
    reward: float = 0.0
    samples: int = 0  # that were learned from, here or elsewhere
    cost_reports: int = 0  # costs that somebody told, here or elsewhere, corrections included
    max_cost_seen: int = 0  # the largest of them
    squares: float = 0.0  # of rewards, summed
    cost_squares: float = 0.0
    products: float = 0.0  # of costs and rewards

    @classmethod
    def agreed(cls, terms: ArmTerms) -> "Arm":
        """The arm before its first pull."""
        return cls(terms.name, terms.max_cost, terms.mean_cost)

    def square(self, cost: float, reward: float, sign: int) -> None:
        """Add a sample's squares to the sums, or take them away."""
        self.squares += sign * reward * reward
        self.cost_squares += sign * cost * cost
        self.products += sign * cost * reward

    @property
    def terms(self) -> ArmTerms:
        """What was agreed about it."""
        return ArmTerms(self.name, self.max_cost, self.mean_cost)


def mean_costs(arms: Sequence[Arm]) -> list[float] | None:
    """What each arm costs on average, where that was said of all."""
    known = [arm.mean_cost for arm in arms if arm.mean_cost is not None]
    return known if len(known) == len(arms) else None


class State:
    """A campaign after its first `seq` events.

    `pulls` holds those that are pending, and of the others as many as somebody wanted to keep or look up: the
    rules never read one that is neither pending nor named in the command.
    """

    def __init__(self, opened: Opened, arms: list[Arm], learner: Learner | None) -> None:
        self.opened, self.arms = opened, arms
        self.learner = learner  # None where the policy is not built in and was not given: then nothing can be asked
        self.name, self.terms, self.budget = opened.name, opened.terms, opened.budget
        self.requests = opened.requests  # pulls that may be made in all
        self.used = 0  # requests: those of pulls that were asked for and not cancelled
        self.forecast: int | None = None  # how many are expected to be used in all
        # The window in which budget and requests count, if they count by windows: from its start to its end.
        self.window_start: int | None = None
        self.window_end: int | None = None
        self.spent_before_window = 0  # spent on pulls that were asked for in earlier windows
        self.spent_on_fallback = 0  # spent on fallbacks
        self.reserved_elsewhere = 0  # set aside for pulls under way of earlier windows, and for fallbacks
        self.used_before_window = 0  # requests, in earlier windows
        self.carried = 0  # pulls under way of earlier windows
        self.unit = Unit.named(opened.terms.unit)
        self.seq = 0
        self.at = self.since = 0  # when the last event happened, and the first
        self.head = NOTHING  # the hash of the last event
        self.paused = False
        self.ended: Ending | None = None
        self.archived = False
        self.warmed: list[str] = []
        self.pulls: dict[int, PullState] = {}
        self.pending: dict[int, PullState] = {}
        self.keys: dict[str, int] = {}
        self.under_way: dict[int, int] = {}  # from an arm to its pending pulls, if it has any
        self.unreported: dict[int, int] = {}  # the same for arms of unknown cost and pulls that ended untold, of late
        # What follows from the arms, kept at hand: there may be many.
        self.spent = sum(arm.spent for arm in arms)
        self.reserved = sum(arm.reserved for arm in arms)  # for pulls under way
        self.max_cost_seen = max((arm.max_cost_seen for arm in arms), default=0)
        self.disabled = sum(not arm.enabled for arm in arms)
        self.indices = {arm.name: i for i, arm in enumerate(arms)}
        self._deadlines: list[tuple[int, int]] = []  # a heap of (expires, pull); the first is always pending

    @property
    def due(self) -> int | None:
        """When the first of the pending pulls expires."""
        return self._deadlines[0][0] if self._deadlines else None

    @property
    def counted(self) -> int:
        """What was spent of the budget: in this window, and not on fallbacks."""
        return self.spent - self.spent_before_window - self.spent_on_fallback

    @property
    def held(self) -> int:
        """What is set aside of the budget."""
        return self.reserved - self.reserved_elsewhere

    @property
    def left(self) -> int:
        """What is left of the budget."""
        return self.budget - self.counted - self.held

    @property
    def used_now(self) -> int:
        """Requests that are used in this window."""
        return self.used - self.used_before_window

    @property
    def served(self) -> int:
        """Those that are used for good: their pulls were told, or ended otherwise but by being cancelled."""
        return self.used_now - (len(self.pending) - self.carried)

    @property
    def fallback(self) -> int | None:
        """The arm that is named once the budget is spent, if that was agreed."""
        return None if self.terms.fallback is None else self.indices[self.terms.fallback]

    def is_earlier(self, pull: PullState) -> bool:
        """Whether a pull counts in a window before this one: that in which it was made."""
        return self.window_start is not None and pull.asked < self.window_start

    @property
    def horizon(self) -> int | None:
        """How many requests the policy is to reckon with in this window: as many as there are, or are expected."""
        expected = None if self.forecast is None else self.forecast - self.used_before_window
        known = [number for number in (self.requests, expected) if number is not None]
        return max(1, min(known)) if known else None

    @property
    def over(self) -> bool:
        """Whether the budget is crossed, or every request served."""
        return self.counted > self.budget or (self.requests is not None and self.served >= self.requests)

    @property
    def reward(self) -> float:
        """What all arms have given."""
        return sum(arm.reward for arm in self.arms)

    def add(self, arm: Arm) -> None:
        """Take another arm."""
        self.indices[arm.name] = len(self.arms)
        self.arms.append(arm)

    def open_pull(self, pull: PullState) -> None:
        """Take a pull as pending."""
        self.cache_pull(pull)
        self.pending[pull.number] = pull
        self.carried += self.is_earlier(pull)
        self.under_way[pull.arm] = self.under_way.get(pull.arm, 0) + 1
        self.expect(pull)

    def expect(self, pull: PullState) -> None:
        """Look out for the time at which a pending pull expires, which may have changed."""
        if pull.expires is not None:
            heappush(self._deadlines, (pull.expires, pull.number))
        self._drop_stale_deadlines()

    def close_pull(self, number: int) -> PullState | None:
        """Take a pull as pending no longer; returns it, if it was."""
        pull = self.pending.pop(number, None)
        if pull is not None:
            self.carried -= self.is_earlier(pull)
            self.under_way[pull.arm] -= 1
            if not self.under_way[pull.arm]:
                del self.under_way[pull.arm]
        self._drop_stale_deadlines()
        return pull

    def _drop_stale_deadlines(self) -> None:
        """Have a pending pull first. Later entries may be out of date, as long as they are not many."""
        deadlines, pending = self._deadlines, self.pending
        if len(deadlines) > 2 * len(pending) + MAX_STALE_DEADLINES:
            deadlines[:] = [(d.expires, d.number) for d in pending.values() if d.expires is not None]
            heapify(deadlines)
        while deadlines and not ((first := pending.get(deadlines[0][1])) and first.expires == deadlines[0][0]):
            heappop(deadlines)

    def cache_pull(self, pull: PullState) -> None:
        """Keep a pull at hand."""
        self.pulls[pull.number] = pull
        if pull.key is not None:
            self.keys[pull.key] = pull.number

    def evict_pull(self, number: int) -> None:
        """Hold a settled pull no longer."""
        pull = self.pulls.pop(number)
        if pull.key is not None:
            self.keys.pop(pull.key, None)

    def forget_settled(self) -> None:
        """Keep only what is pending."""
        self.pulls = dict(self.pending)
        self.keys = {d.key: d.number for d in self.pending.values() if d.key is not None}
