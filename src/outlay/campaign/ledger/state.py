"""Where a campaign stands: the fold of its events."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Literal

import msgspec
import numpy as np

from outlay.campaign.ledger.events import NOTHING, ArmTerms, Opened, PullName, spellings
from outlay.campaign.ledger.learner import InFlight, Learner
from outlay.campaign.ledger.money import Unit
from outlay.checks import Vector

PullPhase = Literal["open", "paid", "told", "expired", "cancelled"]  # paid: its cost was told, its reward is awaited
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
    reward_due: int | None = None  # when its reward is missing, if it was paid and that does not come
    overdue: bool = False  # the reward did not come in time, and has not come since
    context: str | None = None  # the features of its request, as JSON

    @property
    def features(self) -> Vector | None:
        """Those of its request, where the campaign is told of them."""
        return None if self.context is None else np.array(msgspec.json.decode(self.context), np.float64)


class Arm(msgspec.Struct):
    """An arm and its sums."""

    name: str
    max_cost: int | None = None
    mean_cost: float | None = None
    enabled: bool = True
    pulls: int = 0  # that count: paid or told, or charged when they expired
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
    rewarded: int = 0  # pulls that count with a reward; only their rewards are in the sums
    awaited: int = 0  # pulls that were paid and wait for theirs
    overdue: int = 0  # pulls whose reward did not come in time
    changed: int | None = None  # when its mean cost or reward was last seen to have changed
    forgotten: int = 0  # samples, the first ones, that are forgotten for that

    @classmethod
    def agreed(cls, terms: ArmTerms) -> "Arm":
        """The arm before its first pull."""
        return cls(terms.name, terms.max_cost, terms.mean_cost)

    def square(self, cost: float, reward: float | None, sign: int) -> None:
        """Add a pull's squares to the sums, or take them away."""
        self.cost_squares += sign * cost * cost
        if reward is not None:
            self.squares += sign * reward * reward
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

    `pulls` holds those that are pending or whose reward has a deadline, and of the others as many as somebody wanted to
    keep or look up: the rules never read one that is none of these nor named in the command.
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
        self.awaiting: dict[int, PullState] = {}  # paid pulls whose reward has a deadline
        self.keys: dict[str, int] = {}
        self.under_way: dict[int, InFlight] = {}  # what the policy is to count as made, of arms that have any
        self.unreported: dict[int, int] = {}  # the same for arms of unknown cost and pulls that ended untold, of late
        # What follows from the arms, kept at hand: there may be many.
        self.spent = sum(arm.spent for arm in arms)
        self.reserved = sum(arm.reserved for arm in arms)  # for pulls under way
        self.max_cost_seen = max((arm.max_cost_seen for arm in arms), default=0)
        self.disabled = sum(not arm.enabled for arm in arms)
        self.indices = {arm.name: i for i, arm in enumerate(arms)}
        self._deadlines: list[tuple[int, int]] = []  # a heap of (time, pull); the first is never out of date

    @property
    def due(self) -> int | None:
        """When the first of the pending pulls expires, or a reward is missing."""
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
        self.note_deadline(pull.number)

    def note_deadline(self, number: int) -> None:
        """Look out for the deadline of a pull, which may have changed."""
        deadline = self._deadline(number)
        if deadline is not None:
            heappush(self._deadlines, (deadline, number))
        self._drop_stale_deadlines()

    def close_pull(self, number: int) -> PullState | None:
        """Take a pull as pending no longer; returns it, if it was."""
        pull = self.pending.pop(number, None)
        if pull is not None:
            self.carried -= self.is_earlier(pull)
        self._drop_stale_deadlines()
        return pull

    def await_reward(self, pull: PullState) -> None:
        """Take a pull as paid; where its reward has a deadline, look out for that."""
        if pull.reward_due is not None:
            self.cache_pull(pull)
            self.awaiting[pull.number] = pull
            self.note_deadline(pull.number)

    def await_no_longer(self, number: int) -> None:
        """The reward of a pull has come, or its time is over."""
        self.awaiting.pop(number, None)
        self._drop_stale_deadlines()

    def note_under_way(self, index: int) -> None:
        """Count the pulls of an arm that its policy has learned nothing of, and is to count as made."""
        arm = self.arms[index]
        awaited, untold = (arm.awaited, 0) if arm.samples else (0, arm.pulls - arm.rewarded)
        if arm.in_flight or awaited or untold:
            cost = self.unit.amount(arm.spent) / arm.pulls if untold else None
            self.under_way[index] = InFlight(arm.in_flight, awaited, untold, cost)
        else:
            self.under_way.pop(index, None)

    def _deadline(self, number: int) -> int | None:
        if pull := self.pending.get(number):
            return pull.expires
        return pull.reward_due if (pull := self.awaiting.get(number)) else None

    def past_due(self, now: int) -> list[int]:
        """The pulls whose deadline has come, in the order of these."""
        deadlines, found, places = self._deadlines, set[tuple[int, int]](), [0]
        for place in places:  # down the heap, as far as it is due
            if place < len(deadlines) and deadlines[place][0] <= now:
                found.add(deadlines[place])
                places += (2 * place + 1, 2 * place + 2)
        return [number for deadline, number in sorted(found) if self._deadline(number) == deadline]

    def _drop_stale_deadlines(self) -> None:
        """Have one first that stands. Later entries may be out of date, as long as they are not many."""
        deadlines = self._deadlines
        if len(deadlines) > 2 * (len(self.pending) + len(self.awaiting)) + MAX_STALE_DEADLINES:
            every = ((self._deadline(number), number) for number in (*self.pending, *self.awaiting))
            deadlines[:] = [(deadline, number) for deadline, number in every if deadline is not None]
            heapify(deadlines)
        while deadlines and self._deadline(deadlines[0][1]) != deadlines[0][0]:
            heappop(deadlines)

    def pull_named(self, name: PullName) -> PullState | None:
        """The pull of this number or key, if it is at hand."""
        if isinstance(name, int):
            return self.pulls.get(name)
        return next((self.pulls[self.keys[key]] for key in spellings(name) if key in self.keys), None)

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
        """Keep only what is pending, or has a deadline for its reward."""
        self.pulls = self.pending | self.awaiting
        self.keys = {d.key: d.number for d in self.pulls.values() if d.key is not None}
