"""Moments of the arms that have been opened, one after another in an order of their own: for hundreds of arms.

The methods below `empty` run in the interpreter and compiled, bit for bit alike; so does everything they call.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.belief import Belief, Sample
from outlay.beliefs.pooled import Lead, lead_of, note_extremes
from outlay.beliefs.sums import (
    FIRST_COST,
    FIRST_REWARD,
    MEAN_COST,
    MEAN_REWARD,
    PULLS,
    belief_of,
    empty_rows,
    replace,
    take_in,
    take_in_many,
)
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

    @staticmethod
    def empty(arms: int) -> "SequentialMoments":
        """Make the memory before the first pull, the order as the arms are listed."""
        listed = np.arange(arms)
        return SequentialMoments(
            empty_rows(arms + 1), np.zeros(3), np.zeros(2), listed, listed.copy(), np.zeros(2, dtype=np.int64)
        )

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

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:  # noqa: ARG002 (moments have no places)
        """Replace one sample of an arm by another; the extremes remember both."""
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
        )

    def insert_at_random(self, rng: np.random.Generator) -> None:
        """Give the arm that was added last a random place among those that are not open, all equally likely."""
        last, first = len(self.order) - 1, int(self.marks[OPENED])
        to = first + int(rng.random() * (last + 1 - first))
        self.order[to:] = np.roll(self.order[to:], 1)
        self.place[self.order] = np.arange(last + 1)


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
