"""Moments of arms that are opened one by one, with each arm as a point (mean cost, mean reward): for hulls.

The methods below `empty` run in the interpreter and compiled, bit for bit alike; so does everything they call.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.belief import Belief, Sample
from outlay.beliefs.opened import COST, OPENED, ORDERED, REWARD, SequentialMoments
from outlay.beliefs.pooled import COST_MAX, Lead
from outlay.beliefs.sums import COLUMNS, belief_of
from outlay.checks import Vector


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
    def empty(arms: int, costs: Sequence[float] | Vector = (), free_after: int = 0) -> "HullMoments":
        """Make the memory before the first pull; where mean costs are told, the cheapest arms are opened first."""
        opened, told = SequentialMoments.empty(arms), np.full(arms, math.nan)
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
            np.zeros(count, np.int64), np.zeros(2, np.int64),
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
