"""The policy of a campaign at work: it learns from what was told, and chooses knowing what is still under way.

A pull that is under way, or whose reward is awaited, counts as made, with its arm's mean cost and reward (before an
arm's first sample, those of all arms together; before any sample, cost 1 and reward 0; a policy that weighs costs
against the budget imagines a thousandth of that): so asking a hundred times at once spreads the asks as a hundred pulls
would be spread. Nothing of that is learned: the next choice imagines it anew.
"""

import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from math import fsum
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead, Sample
from outlay.campaign.ledger.events import Features
from outlay.checks import Vector
from outlay.errors import BadParameter, OutlayError
from outlay.formulas.argmax import Counts, Now, best_by_excess, best_by_sample, best_by_score, best_of_opened, log_of
from outlay.formulas.lazy_leader import (
    LeaderBounds,
    forget_leader_bounds,
    lazy_best_by_excess,
    lazy_best_of_opened,
    note_changes,
)
from outlay.parameters import is_record
from outlay.policies.protocol import (
    Belief,
    CampaignMemory,
    Chooser,
    LeaderMemory,
    Memory,
    Policy,
    PolicyExtras,
    SequentialMemory,
    check_memory,
    check_policy,
    has,
    policy_kind,
    wants_requests,
    with_costs,
    with_limits,
)

ORDER = 0  # the number, which no event has, of the stream from which the order of the arms is drawn
ASSUMED = 1000  # pulls that the budget is taken to buy while no cost is known, where a policy weighs costs against it
FEW = 3  # arms, up to which it is quicker to compare all of them

Costs = Sequence[float]  # the mean cost of each arm
Kept = tuple[Memory, NDArray[np.int64], NDArray[np.float64]]  # memory, pulls and totals


class InFlight(NamedTuple):
    """Pulls of an arm of which nothing is learned yet: open ones, and paid ones whose reward is awaited.

    Of an arm without any sample, those that were paid are taken to have earned nothing until one has a reward: an arm
    whose rewards never come is not tried for ever.
    """

    open: int
    awaited: int = 0
    untold: int = 0
    cost: float | None = None  # of one that is untold, on average


UnderWay = Mapping[int, InFlight]  # from an arm to its pulls under way, if there are any


class Learner:
    """A policy and its memory; `arms` are indices, money is a float."""

    def __init__(
        self, policy: Policy, arms: int, budget: float, requests: int | None = None, costs: Costs | None = None
    ) -> None:
        self.given = check_policy("Campaign", "policy", policy, arms)
        self.memory = check_memory("Campaign", with_costs(policy, costs), arms)
        kind = policy_kind(type(policy))
        self._kind, self._opening = kind.method, kind.name == "opening"
        if self._opening and not has(self.memory, "subset"):
            raise BadParameter("Campaign", "policy", "one whose memory has a method subset", policy)
        self._settles = has(policy, "settle")
        self.by_context = has(self.memory, "arrive")  # else requests are all alike to it
        self._notices = has(self.memory, "forgotten")
        self.noticed: dict[int, int] = {}  # arms that the last event shows to have changed: samples forgotten in all
        self._revises, self._adds = has(self.memory, "revise"), has(self.memory, "add_expected")
        self._chooser = LazyChooser(self._opening)
        self.pulls: NDArray[np.int64] = np.zeros(arms, np.int64)
        self.totals = np.zeros((arms, 2))  # cost and reward
        self.elsewhere = 0.0  # what the samples cost that this budget did not pay for
        self.past: tuple[float, int] = 0.0, 0  # what was spent, and requests used, before this window
        self.set_limits(budget, requests)

    def shuffle(self, stream: "EventRandom") -> None:
        """Draw the order in which arms are opened, where the policy opens them one by one."""
        if isinstance(self.memory, SequentialMemory):
            self.memory.shuffle(cast("np.random.Generator", stream))

    def arrive(self, features: Features) -> None:
        """A request was asked for that has these features."""
        if self.by_context:
            self.memory.arrive(np.array(features))

    def observe(
        self, arm: int, cost: float, reward: float, stream: "EventRandom", features: Vector | None = None
    ) -> None:
        """Learn one sample; `features` are those of its request, where the campaign is told of them."""
        before = self.memory.forgotten(arm) if self._notices else 0
        if features is None or not self.by_context:
            self.memory = observed(self.memory, arm, cost, reward)
        else:
            self.memory.observe_with(features, arm, cost, reward)
        if self._notices and (after := self.memory.forgotten(arm)) > before:
            self.noticed[arm] = after
        if self._settles:
            cast("PolicyExtras", self.policy).settle(self.memory, cast("np.random.Generator", stream))
        self.pulls[arm] += 1
        self.totals[arm, 0] += cost
        self.totals[arm, 1] += reward
        self._chooser.note(arm)

    def expect_loss(self, arm: int) -> None:
        """The next sample is of a pull that nobody told: it counts, and is no sign that the arm has changed."""
        if self._notices:
            self.memory.unmark(arm)

    def observe_all(self, samples: Iterable[tuple[int, float, float]], stream: "EventRandom") -> None:
        """Learn samples made elsewhere, each an arm, a cost and a reward, or none where the memory refuses one."""
        before, samples = self.kept(), list(samples)
        try:
            for arm, cost, reward in samples:
                self.observe(arm, cost, reward, stream)
        except BaseException:
            self.restore(before)
            raise
        self.elsewhere += fsum(cost for _, cost, _ in samples)
        self.set_limits(self._budget, self._requests)

    def pay_elsewhere(self, cost: float) -> None:
        """A sample that was just learned was paid for outside of the budget."""
        self.elsewhere += cost
        self.set_limits(self._budget, self._requests)

    def begin_anew(self, spent: float, used: int) -> None:
        """A window begins after so much was spent and so many requests used: limits and sums count from here.

        To the policy it is one campaign that goes on, with more to spend.
        """
        self.past = spent, used

    def kept(self) -> Kept:
        """What it knows, to go back to."""
        return copied(self.memory), self.pulls.copy(), self.totals.copy()

    def restore(self, kept: Kept) -> None:
        """Know what it knew then."""
        self.memory, self.pulls, self.totals = kept
        self.noticed.clear()
        self._chooser.forget()

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Put one sample in place of another; a memory that cannot do that keeps the first."""
        if self._revises:
            self.memory.revise(arm, place, old, new)
        self.totals[arm] += np.array(new) - np.array(old)
        self._chooser.note(arm)

    def check_wider(self) -> None:
        """Refuse another arm where the policy or its memory cannot take one."""
        check_policy("add_arm", "policy", self.given, len(self.pulls) + 1)
        if not has(self.memory, "with_new_arm"):
            raise BadParameter("add_arm", "policy", "one whose memory has a method with_new_arm", self.given)

    def widen(self, stream: "EventRandom", cost: float | None = None) -> None:
        """Make room for another arm of this mean cost, if it is known; its place among those not open is random."""
        self.memory = self.memory.with_new_arm()
        if cost is not None and has(self.memory, "know_cost"):
            self.memory.know_cost(len(self.pulls), cost)
        if has(self.memory, "insert_at_random"):
            self.memory.insert_at_random(cast("np.random.Generator", stream))
        self.pulls = np.append(self.pulls, 0)
        self.totals = np.vstack([self.totals, np.zeros(2)])
        self._chooser.forget()

    def set_limits(self, budget: float, requests: int | None = None) -> None:
        """Tell a policy that asks for them the budget and how many requests to reckon with.

        One that opens arms compares the budget with the cost of all samples that it knows, so those made elsewhere are
        added.
        """
        self._budget, self._requests = budget, requests
        self._rations = wants_requests(self.given)
        spent, used = self.past
        in_all = budget + spent
        all_costs = max(in_all + self.elsewhere, sys.float_info.min) if self._opening else in_all
        self.policy = with_limits(self.given, all_costs, None if requests is None else used + requests)
        self._chooser.forget()

    def choose(
        self,
        open_arms: Sequence[int],
        under_way: UnderWay,
        spent: float,
        stream: "EventRandom",
        used: int = 0,
        context: Features | None = None,
    ) -> int:
        """The arm to pull next, of those that are open, which are in order; `under_way` counts the pulls of each.

        For a policy that shares requests out, pulls are the requests `used` so far, and what is under way is spent.
        `context` has the features of the request; None for none, or for the last one.
        """
        memory, pulls = self._with(under_way)
        now = self._now(int(pulls.sum()), under_way, spent, used)
        if self._kind == "choose":
            return self._chosen(open_arms, told(memory, context), pulls, now, stream)
        view, pulls = self._among(open_arms, memory, pulls)
        if self._kind == "excess":
            place = self._chooser.choose(self.policy, view, pulls, open_arms, under_way, self.pulls)
        elif self._kind == "sample":
            place = best_by_sample(self.policy, view, pulls, now.log_n, cast("np.random.Generator", stream))
        else:
            place = best_by_score(self.policy, view, pulls, now.log_n)
        return open_arms[place]

    def chances(
        self, open_arms: Sequence[int], under_way: UnderWay, spent: float, used: int, context: Features | None
    ) -> Vector | None:
        """The chance with which it names each of the open arms; None for a policy that does not say."""
        some = len(open_arms) < len(self.pulls) and not has(self.policy, "choose_among")  # then others may stand in
        if some or not has(self.policy, "chances"):
            return None
        memory, pulls = self._with(under_way)
        now = self._now(int(pulls.sum()), under_way, spent, used)
        arms = np.array(open_arms, np.int64)
        return cast("PolicyExtras", self.policy).chances(told(memory, context), arms, now)

    def inputs(
        self, open_arms: Sequence[int], under_way: UnderWay, spent: float, used: int, context: Features | None = None
    ) -> "ChoiceInputs":
        """What the next choice would be made by, copied: it can be looked at while the campaign goes on."""
        memory, pulls = self._with(under_way)
        memory, pulls = (memory, pulls) if under_way else (copied(memory), pulls.copy())
        now = self._now(int(pulls.sum()), under_way, spent, used)
        if self._kind == "choose":
            return ChoiceInputs(self.policy, told(memory, context), pulls, now, range(len(pulls)), open_arms)
        return ChoiceInputs(self.policy, *self._among(open_arms, memory, pulls), now, open_arms, open_arms)

    def _now(self, pulls: int, under_way: UnderWay, spent: float, used: int) -> Now:
        """Where the campaign stands, as its policy counts."""
        if self._kind != "choose":
            return Now(pulls, log_of(pulls), spent)
        spent += self.past[0]
        if not self._rations:
            return Now(pulls, log_of(pulls), spent)
        used = used if self._requests is None else min(used, self._requests - 1)  # more came than expected
        used += self.past[1]
        expected = self._expected(under_way)
        flying = fsum(under_way[arm].open * cost for arm, (cost, _) in expected.items())
        return Now(used, log_of(used), spent + flying)

    def _among(self, open_arms: Sequence[int], memory: Memory, pulls: Counts) -> tuple[Any, Counts]:
        """Memory and pulls seen through the open arms."""
        if len(open_arms) == len(pulls):
            return memory, pulls
        return (SomeOpenedArms if self._opening else SomeArms)(memory, open_arms), pulls[np.array(open_arms)]

    def _chosen(self, open_arms: Sequence[int], memory: Memory, pulls: Counts, now: Now, stream: "EventRandom") -> int:
        """The arm that the policy names of those that are open; one that cannot, names one of all.

        Where that is closed, the open one with the largest rate takes its place.
        """
        rng = cast("np.random.Generator", stream)
        if len(open_arms) < len(pulls) and has(self.policy, "choose_among"):
            arm = cast("PolicyExtras", self.policy).choose_among(memory, np.array(open_arms, np.int64), now, rng)
        else:
            arm = cast("Chooser", self.policy).choose(memory, now, rng)
        if not 0 <= arm < len(pulls):
            raise OutlayError(f"{type(self.policy).__name__} chose arm {arm}, and there are {len(pulls)} from 0")
        return arm if arm in open_arms else max(open_arms, key=lambda k: (self._rate(k), -pulls[k], -k))

    def _with(self, under_way: UnderWay) -> tuple[Memory, Counts]:
        """Memory and pulls with those under way."""
        if not under_way:
            return self.memory, self.pulls
        memory, pulls = copied(self.memory), self.pulls.copy()
        for arm, expected in self._expected(under_way).items():
            flying = under_way[arm]
            for count, sample in ((flying.open + flying.awaited, expected), (flying.untold, (expected[0], 0.0))):
                if self._adds and count:
                    cast("CampaignMemory", memory).add_expected(arm, count, *sample)
                else:
                    for _ in range(count):
                        memory = observed(memory, arm, *sample)
                pulls[arm] += count
        return memory, pulls

    def _expected(self, under_way: UnderWay) -> dict[int, Sample]:
        """What a pull of each cost and earned on average: of the arm, or before any sample of it of all together.

        Before any sample at all, it is what pulls that were paid have cost, or what a pull is taken to cost.
        """
        count = int(self.pulls.sum())
        paid = [flying.cost for flying in under_way.values() if flying.cost is not None]
        assumed = self._budget / ASSUMED if self._opening else 1.0
        everywhere = (fsum(paid) / len(paid) if paid else assumed), 0.0
        if count:
            cost, reward = self.totals.sum(axis=0).tolist()
            everywhere = cost / count, reward / count
        found: dict[int, Sample] = {}
        for arm in sorted(under_way):
            cost, reward = self.totals[arm].tolist()
            count, known = int(self.pulls[arm]), under_way[arm].cost
            found[arm] = (cost / count, reward / count) if count else everywhere
            if known is not None:
                found[arm] = known, found[arm][1]
        return found

    def _rate(self, arm: int) -> float:
        cost, reward = self.totals[arm]
        return float(reward / cost) if cost > 0.0 else np.inf


class ChoiceInputs(NamedTuple):
    """A policy, what it knows with pulls under way, the arms that places in its memory stand for, those it may name."""

    policy: Policy
    memory: Any
    pulls: Counts
    now: Now
    arms: Sequence[int]
    open_arms: Sequence[int]


class LazyChooser:
    """What is certain from one choice to the next; `opening` policies open arms one by one."""

    def __init__(self, opening: bool) -> None:
        self._choose, self._compare = (
            (lazy_best_of_opened, best_of_opened) if opening else (lazy_best_by_excess, best_by_excess)
        )
        self._known: LeaderBounds | None = None
        self._arms: Sequence[int] = ()  # among which the last choice was made
        self._under_way: UnderWay = {}  # at the last choice
        self._noted: set[int] = set()  # arms that something was learned of since

    def note(self, arm: int) -> None:
        """Something was learned of an arm."""
        self._noted.add(arm)

    def forget(self) -> None:
        """Begin anew: the policy has changed, or the memory in a way that no arm accounts for."""
        self._known = None

    def choose(
        self, policy: Any, view: Any, pulls: Counts, arms: Sequence[int], under_way: UnderWay, sampled: Counts
    ) -> int:
        """The place among `arms`, which `view` and `pulls` range over, of the one to pull.

        `sampled` counts the samples of all arms: what is expected of an arm without any changes with every other's.
        """
        if len(arms) <= FEW:
            self._known = None
            return self._compare(policy, view, pulls)
        known, changed = self._known, self._noted
        for arm in self._under_way.keys() | under_way.keys():
            if self._under_way.get(arm) != under_way.get(arm) or sampled[arm] == 0:
                changed.add(arm)
        self._known = None  # for good, if something raises
        if known is None or arms != self._arms:
            known = LeaderBounds.start(len(arms))
            forget_leader_bounds(known)
        else:
            note_changes(view, pulls, known, _places(arms, changed))
        choice = self._choose(policy, view, pulls, known)
        self._known, self._arms, self._under_way, self._noted = known, arms, dict(under_way), set()
        return choice


def _places(arms: Sequence[int], some: Collection[int]) -> Collection[int]:
    """Where those of some arms that may be named stand among all that may, which are in order."""
    if isinstance(arms, range):
        return some
    places = ((bisect_left(arms, arm), arm) for arm in some)
    return [place for place, arm in places if place < len(arms) and arms[place] == arm]


class SomeArms:
    """Some arms of a memory, numbered anew; beliefs keep the numbers that the arms have in the campaign."""

    def __init__(self, memory: Memory, arms: Sequence[int]) -> None:
        self._memory, self._arms = memory, arms

    def belief(self, arm: int) -> Belief:
        """What is known of the arm."""
        return self._memory.belief(self._arms[arm])

    def lead(self, arm: int) -> Lead:
        """What the others are compared with when this arm leads."""
        return cast("LeaderMemory", self._memory).lead(self._arms[arm])


class SomeOpenedArms(SomeArms):
    """The same for policies that open arms one by one: what is open, usual and next is so among these arms."""

    def __init__(self, memory: Memory, arms: Sequence[int]) -> None:
        super().__init__(memory, arms)
        self._narrow: SequentialMemory = cast("CampaignMemory", memory).subset(np.array(arms, np.int64))

    def lead(self, arm: int) -> Lead:
        """What the others are compared with when this arm leads."""
        return self._narrow.lead(arm)

    def opened(self) -> int:
        """How many of the arms are open."""
        return self._narrow.opened()

    def unopened(self) -> int:
        """The one of them to open next, or their number."""
        return self._narrow.unopened()


class EventRandom:
    """The random numbers of one event, made when the first is drawn: they depend on the seed and the event alone.

    >>> one, same, other = (EventRandom(seed=7, seq=seq).random() for seq in (3, 3, 4))
    >>> one == same != other
    True
    """

    def __init__(self, seed: int, seq: int, draw: int = 0) -> None:
        self._of = seed, seq, draw
        self._made: np.random.Generator | None = None

    @property
    def used(self) -> bool:
        """Whether a random number was drawn."""
        return self._made is not None

    def __getattr__(self, verb: str) -> Any:
        if self._made is None:
            seed, seq, draw = self._of
            self._made = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, draw, seq]))
        return getattr(self._made, verb)


def observed(memory: Memory, arm: int, cost: float, reward: float) -> Memory:
    """The memory with one sample more."""
    memory.observe(arm, cost, reward)
    return cast("CampaignMemory", memory).enlarged() if memory.full() else memory


def told(memory: Memory, context: Features | None) -> Any:
    """A copy that was told of a request, if there is one."""
    memory = copied(memory)
    if context is not None and has(memory, "arrive"):
        cast("CampaignMemory", memory).arrive(np.array(context))
    return memory


def copied(memory: Any) -> Any:
    """A memory that can be changed by itself."""
    fields = (
        field.copy() if isinstance(field, np.ndarray) else copied(field) if is_record(field) else deepcopy(field)
        for field in memory
    )
    return tuple.__new__(type(memory), fields)
