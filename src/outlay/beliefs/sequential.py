"""Moments of arms that are opened one after another, in an order of their own: for hundreds of arms, and for hulls.

`SequentialMoments` knows which arms are open and what they are usually like; `HullMoments` keeps each arm as a point
(mean cost, mean reward) besides, for policies that share out requests along the hull of these points.

The methods below `empty` run in the interpreter and compiled, bit for bit alike; so does everything they call.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.changes import Past, watch
from outlay.beliefs.moments import (
    COLUMNS,
    FIRST_COST,
    FIRST_REWARD,
    MEAN_COST,
    MEAN_REWARD,
    PULLS,
    Belief,
    Sample,
    belief_of,
    empty_rows,
    replace,
    take_in,
    take_in_many,
)
from outlay.beliefs.pooled import COST_MAX, Lead, lead_of, note_extremes
from outlay.checks import Vector

COST, REWARD = range(2)  # entries of `SequentialMoments.usual`
OPENED, ORDERED = range(2)  # entries of `SequentialMoments.marks`


class SequentialMoments(NamedTuple):
    """Moments of each arm and, in one more row, of all pulls, with the order in which arms are opened.

    An arm is open once it has a sample. The first `opened()` places of the order are open; the next one is opened next.

    >>> memory = SequentialMoments.empty(3)
    >>> memory.shuffle(np.random.default_rng(2))
    >>> memory.order.tolist(), memory.unopened()
    ([1, 2, 0], 1)
    >>> memory.observe(1, cost=2.0, reward=1.0)
    >>> memory.observe(0, cost=4.0, reward=5.0)
    >>> memory.order.tolist(), memory.unopened(), memory.lead(0).usual_rate
    ([1, 0, 2], 2, 1.0)
    """

    stats: Vector  # a row of sums per arm, and one of all pulls
    extremes: Vector  # over all pulls: the largest reward, the smallest and the largest cost
    usual: Vector  # the sums, over the open arms, of their mean costs and of their mean rewards
    order: NDArray[np.int64]  # [place]: the arm that has it
    place: NDArray[np.int64]  # [arm]: its place
    marks: NDArray[np.int64]  # how many arms are open, whether the order has been drawn
    past: Past  # of each arm: where it changed, what was before is forgotten; all pulls together forget nothing

    @staticmethod
    def empty(arms: int, watched: bool = False) -> "SequentialMoments":
        """Make the memory before the first pull, the order as the arms are listed; arms are watched for changes."""
        listed = np.arange(arms)
        return SequentialMoments(
            empty_rows(arms + 1), np.zeros(3), np.zeros(2), listed, listed.copy(), np.zeros(2, dtype=np.int64),
            Past.empty(arms, watched),
        )  # fmt: skip

    def shuffle(self, rng: np.random.Generator) -> None:
        """Draw the order of the arms that are not open, once: all orders are equally likely (Fisher and Yates)."""
        if self.marks[ORDERED] == 0:
            self.marks[ORDERED] = 1
            first = int(self.marks[OPENED])
            for i in range(len(self.order) - 1, first, -1):
                swap(self.order, self.place, i, first + int(rng.random() * (i + 1 - first)))

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        everything = len(self.stats) - 1
        note_extremes(self.extremes, cost, reward, self.stats[everything, PULLS] == 0.0)
        open_up(self.stats, self.order, self.place, self.marks, arm)
        move_usual(self.usual, self.stats, arm, -1.0)
        take_in(self.stats, arm, cost, reward)
        watch(self.past, self.stats, arm)
        move_usual(self.usual, self.stats, arm, 1.0)
        take_in(self.stats, everything, cost, reward)

    def belief(self, arm: int) -> Belief:
        """What is known of `arm`."""
        return belief_of(self.stats, arm)

    def lead(self, leader: int) -> Lead:
        """What the others are compared with when this arm leads."""
        return lead_of(
            self.stats, self.extremes, leader, float(self.marks[OPENED]), float(self.usual[COST]),
            float(self.usual[REWARD]),
        )  # fmt: skip

    def opened(self) -> int:
        """How many arms are open."""
        return int(self.marks[OPENED])

    def unopened(self) -> int:
        """The arm to open next, or the number of arms if all are open."""
        opened = int(self.marks[OPENED])
        return int(self.order[opened]) if opened < len(self.order) else len(self.order)

    def forgotten(self, arm: int) -> int:
        """How many of the arm's first samples were forgotten, since it has changed."""
        return int(self.past.forgotten[arm])

    def unmark(self, arm: int) -> None:
        """Look for a change of the arm in what comes from now on only."""
        self.past.unmark(arm)

    def full(self) -> bool:
        """Never: moments take the same room whatever the number of pulls."""
        return False

    def add_expected(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` samples that are all alike; they change no extreme unless they are the first of all."""
        everything = len(self.stats) - 1
        if self.stats[everything, PULLS] == 0.0:
            note_extremes(self.extremes, cost, reward, True)
        open_up(self.stats, self.order, self.place, self.marks, arm)
        move_usual(self.usual, self.stats, arm, -1.0)
        take_in_many(self.stats, arm, count, cost, reward)
        move_usual(self.usual, self.stats, arm, 1.0)
        take_in_many(self.stats, everything, count, cost, reward)

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Replace one sample of an arm, forgotten or not, by another; the extremes remember both."""
        if self.past.revise(arm, place, old, new):
            move_usual(self.usual, self.stats, arm, -1.0)
            replace(self.stats, arm, old, new)
            move_usual(self.usual, self.stats, arm, 1.0)
        replace(self.stats, len(self.stats) - 1, old, new)
        note_extremes(self.extremes, *new, False)

    def with_new_arm(self) -> "SequentialMoments":
        """The same with one more arm, at the end of the order; `insert_at_random` gives it a random place."""
        arms = len(self.order)
        return SequentialMoments(
            np.insert(self.stats, arms, 0.0, axis=0),
            self.extremes.copy(),
            self.usual.copy(),
            np.append(self.order, arms),
            np.append(self.place, arms),
            self.marks.copy(),
            self.past.with_new_arm(),
        )

    def subset(self, arms: NDArray[np.int64]) -> "SequentialMoments":
        """The same with some of the arms only, numbered anew; all pulls together and their extremes stay."""
        stats = self.stats[np.append(arms, len(self.order))]
        open_rows = stats[:-1][stats[:-1, PULLS] > 0.0]
        number = np.full(len(self.order), -1)
        number[arms] = np.arange(len(arms))
        order = number[self.order]
        order = order[order >= 0]
        costs = (open_rows[:, FIRST_COST] + open_rows[:, MEAN_COST]).tolist()
        rewards = (open_rows[:, FIRST_REWARD] + open_rows[:, MEAN_REWARD]).tolist()
        return SequentialMoments(
            stats,
            self.extremes.copy(),
            np.array([math.fsum(costs), math.fsum(rewards)]),  # exact: the same on every machine
            order,
            np.argsort(order),
            np.array([len(open_rows), self.marks[ORDERED]]),
            Past.empty(len(arms), False),
        )

    def insert_at_random(self, rng: np.random.Generator) -> None:
        """Give the arm that was added last a random place among those that are not open, all equally likely."""
        last, first = len(self.order) - 1, int(self.marks[OPENED])
        to = first + int(rng.random() * (last + 1 - first))
        self.order[to:] = np.roll(self.order[to:], 1)
        self.place[self.order] = np.arange(last + 1)


class HullMoments(NamedTuple):
    """`SequentialMoments`, and each arm's point; where its mean cost is told, that stands for the one observed.

    An arm that has cost nothing in fewer than `free_after` pulls is not taken to be free (`place_point`).

    An arm without a sample has a mean reward of −∞, so that no hull takes it in.

    >>> memory = HullMoments.empty(2)
    >>> memory.observe(1, cost=2.0, reward=1.0)
    >>> memory.costs.tolist(), memory.rewards.tolist(), memory.opened()
    ([0.0, 2.0], [-inf, 1.0], 1)
    """

    arms: SequentialMoments
    pulls: NDArray[np.int64]  # [arm]
    costs: Vector  # [arm]: its mean cost
    rewards: Vector  # [arm]: its mean reward
    told: Vector  # [arm]: its mean cost where that is known, else NaN
    other: Vector  # [cost or reward, arm]: room for points that a policy would rather have, such as optimistic ones
    free_after: NDArray[np.int64]  # [1]: so many pulls that cost nothing make an arm free

    @staticmethod
    def empty(
        arms: int, costs: Sequence[float] | Vector = (), free_after: int = 0, watched: bool = False
    ) -> "HullMoments":
        """Make the memory before the first pull; where mean costs are told, the cheapest arms are opened first."""
        opened, told = SequentialMoments.empty(arms, watched), np.full(arms, math.nan)
        if len(costs) > 0:
            told[:] = costs
            opened.order[:] = np.argsort(told, kind="stable")
            opened.place[opened.order] = np.arange(arms)
            opened.marks[ORDERED] = 1
        seen = np.where(np.isnan(told), 0.0, told)
        pulls, rewards, room = np.zeros(arms, np.int64), np.full(arms, -math.inf), np.zeros((2, arms))
        return HullMoments(opened, pulls, seen, rewards, told, room, np.array([free_after]))

    def shuffle(self, rng: np.random.Generator) -> None:
        """Draw the order of the arms that are not open, unless their costs are its order."""
        self.arms.shuffle(rng)

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        before = self.arms.extremes[COST_MAX]
        self.arms.observe(arm, cost, reward)
        place_points(self, arm, before)

    def belief(self, arm: int) -> Belief:
        """What is known of `arm`."""
        b = self.arms.belief(arm)
        return Belief(arm, b.pulls, float(self.costs[arm]), b.mean_reward, b.var_cost, b.var_reward, b.cov)

    def lead(self, leader: int) -> Lead:
        """What the others are compared with when this arm leads."""
        return self.arms.lead(leader)

    def opened(self) -> int:
        """How many arms are open."""
        return int(self.arms.opened())

    def unopened(self) -> int:
        """The arm to open next, or the number of arms if all are open."""
        return int(self.arms.unopened())

    def forgotten(self, arm: int) -> int:
        """How many of the arm's first samples were forgotten, since it has changed."""
        return self.arms.forgotten(arm)

    def unmark(self, arm: int) -> None:
        """Look for a change of the arm in what comes from now on only."""
        self.arms.unmark(arm)

    def full(self) -> bool:
        """Never: moments take the same room whatever the number of pulls."""
        return False

    def add_expected(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` samples that are all alike; they change no extreme unless they are the first of all."""
        before = self.arms.extremes[COST_MAX]
        self.arms.add_expected(arm, count, cost, reward)
        place_points(self, arm, before)

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Replace one sample of an arm by another; the extremes remember both."""
        before = self.arms.extremes[COST_MAX]
        self.arms.revise(arm, place, old, new)
        place_points(self, arm, before)

    def room_for(self, count: int) -> "HullMoments":
        """Room for some of the arms, whatever is in it: made here; where a GPU plays, every run has its own."""
        narrow = SequentialMoments(
            np.zeros((count + 1, COLUMNS)), np.zeros(3), np.zeros(2), np.zeros(count, np.int64),
            np.zeros(count, np.int64), np.zeros(2, np.int64), self.arms.past,
        )  # fmt: skip
        return HullMoments(
            narrow, np.zeros(count, np.int64), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros((2, count)),
            np.zeros(1, np.int64),
        )  # fmt: skip

    def know_cost(self, arm: int, cost: float) -> None:
        """Take it for the arm's mean cost, whatever its samples say."""
        self.told[arm] = self.costs[arm] = cost

    def with_new_arm(self) -> "HullMoments":
        """The same with one more arm, whose mean cost nobody has told, at the end of the order."""
        return HullMoments(
            self.arms.with_new_arm(),
            np.append(self.pulls, 0),
            np.append(self.costs, 0.0),
            np.append(self.rewards, -math.inf),
            np.append(self.told, math.nan),
            np.zeros((2, len(self.pulls) + 1)),
            self.free_after.copy(),
        )


def points_among(memory: HullMoments, arms: NDArray[np.int64]) -> HullMoments:
    """A copy with these arms only, which are in order, numbered anew; all pulls together and their extremes stay.

    >>> memory = HullMoments.empty(3)
    >>> memory.observe(2, cost=2.0, reward=1.0)
    >>> some = points_among(memory, np.array([1, 2]))
    >>> some.pulls.tolist(), some.rewards.tolist(), some.unopened()
    ([0, 1], [-inf, 1.0], 0)
    """
    before, count, some = memory.arms, len(arms), memory.room_for(len(arms))
    narrow = some.arms
    narrow.usual[COST] = narrow.usual[REWARD] = 0.0
    opened = 0
    for place in range(count):
        arm = arms[place]
        copy_numbers(before.stats[arm], narrow.stats[place])
        some.pulls[place], some.costs[place] = memory.pulls[arm], memory.costs[arm]
        some.rewards[place], some.told[place] = memory.rewards[arm], memory.told[arm]
        if memory.pulls[arm] > 0:
            belief = belief_of(narrow.stats, place)
            opened += 1
            narrow.usual[COST] += belief.mean_cost
            narrow.usual[REWARD] += belief.mean_reward
    copy_numbers(before.stats[len(memory.pulls)], narrow.stats[count])
    copy_numbers(before.extremes, narrow.extremes)
    next_place = 0
    for i in range(len(before.order)):
        place = place_in(arms, before.order[i])
        if place < count:
            narrow.order[next_place], narrow.place[place] = place, next_place
            next_place += 1
    narrow.marks[OPENED], narrow.marks[ORDERED] = opened, before.marks[ORDERED]
    some.free_after[0] = memory.free_after[0]
    return some


def open_up(
    stats: Vector, order: NDArray[np.int64], place: NDArray[np.int64], marks: NDArray[np.int64], arm: int
) -> None:
    """Put an arm that gets its first sample behind those that are open."""
    if stats[arm, PULLS] == 0.0:
        swap(order, place, int(marks[OPENED]), int(place[arm]))
        marks[OPENED] += 1


def swap(order: NDArray[np.int64], place: NDArray[np.int64], one: int, other: int) -> None:
    """Let the arms at two places change them."""
    first, second = order[one], order[other]
    order[one], order[other] = second, first
    place[second], place[first] = one, other


def move_usual(usual: Vector, stats: Vector, arm: int, sign: float) -> None:
    """Add an arm's means to the sums, or take them out."""
    if stats[arm, PULLS] > 0.0:
        belief = belief_of(stats, arm)
        usual[COST] += sign * belief.mean_cost
        usual[REWARD] += sign * belief.mean_reward


def place_points(memory: HullMoments, arm: int, dearest_before: float) -> None:
    """Put an arm's point where its samples say; all of them, if what the dearest pull cost has changed."""
    if memory.arms.extremes[COST_MAX] == dearest_before:
        place_point(memory, arm)
        return
    for other in range(len(memory.pulls)):
        place_point(memory, other)


def place_point(memory: HullMoments, arm: int) -> None:
    """Put one point where its samples say.

    Few pulls that cost nothing do not make an arm free: T of them count as if one more had cost as much as the dearest
    pull of all.
    """
    belief = belief_of(memory.arms.stats, arm)
    if belief.pulls == 0:
        return
    memory.pulls[arm] = belief.pulls
    memory.rewards[arm] = belief.mean_reward
    if math.isnan(memory.told[arm]):
        cost = belief.mean_cost
        if cost == 0.0 and belief.pulls < memory.free_after[0]:
            cost = max(0.0, memory.arms.extremes[COST_MAX]) / (belief.pulls + 1)
        memory.costs[arm] = cost


def place_in(arms: NDArray[np.int64], arm: int) -> int:
    """The place of an arm among some that are in order, or their number."""
    low, high = 0, len(arms)
    while low < high:
        middle = (low + high) // 2
        if arms[middle] < arm:
            low = middle + 1
        else:
            high = middle
    return low if low < len(arms) and arms[low] == arm else len(arms)


def copy_numbers(source: Vector, target: Vector) -> None:
    """Copy a row of numbers; a GPU has no other way to."""
    for i in range(len(target)):
        target[i] = source[i]
