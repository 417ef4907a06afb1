"""Moments that fade with every unit of money spent, so that an arm that was given up is tried again some day.

The methods below `empty` run in the interpreter and compiled, bit for bit alike; so does everything they call.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.changes import copy_row
from outlay.beliefs.moments import (
    FIRST_COST,
    FIRST_REWARD,
    MEAN_COST,
    MEAN_REWARD,
    PULLS,
    SQUARES_COST,
    SQUARES_CROSS,
    SQUARES_REWARD,
    Sample,
    empty_rows,
    replace,
)
from outlay.beliefs.pooled import Lead, lead_of
from outlay.beliefs.sequential import SequentialMoments
from outlay.checks import Vector

FIRST, LAST, NOW = range(3)  # rows of `FadingMoments.ages`
LASTING = 16.0  # times the root of the time between changes: how much is spent until samples count e times less


class FadedBelief(NamedTuple):
    """A `Belief` in which samples count for less the more was spent since, so that `pulls` is no whole number."""

    arm: int
    pulls: float
    mean_cost: float
    mean_reward: float
    var_cost: float
    var_reward: float
    cov: float


class FadingMoments(NamedTuple):
    """`SequentialMoments` beside the same sums of each arm, faded by e^(−x/W) with every cost x of whatever arm.

    W is 16·√(L·X̄) with L the money between two changes of an arm and X̄ the mean cost of all pulls. Where the moments
    that do not fade show that an arm has changed, what they remember since is what counts, as if it had just come.

    >>> memory = FadingMoments.empty(2, changes_every=100.0)  # W = 160
    >>> memory.observe(0, cost=1.0, reward=1.0)
    >>> for _ in range(160):
    ...     memory.observe(1, cost=1.0, reward=0.0)
    >>> round(memory.belief(0).pulls, 6), memory.belief(0).mean_reward, memory.pulls.tolist()
    (0.367879, 1.0, [1, 160])
    """

    moments: SequentialMoments
    faded: Vector  # a row of sums per arm, and that of all pulls together, which does not fade
    pulls: NDArray[np.int64]  # [arm]: that were made
    changes_every: Vector  # [1]: L
    ages: Vector  # [first or last, arm]: Σ x/W when the arm's first and last sample that count came; [NOW, 0]: by now

    @staticmethod
    def empty(arms: int, changes_every: float) -> "FadingMoments":
        """Make the memory before the first pull."""
        moments = SequentialMoments.empty(arms, watched=True)
        pulls, ages = np.zeros(arms, np.int64), np.zeros((3, arms))
        return FadingMoments(moments, empty_rows(arms + 1), pulls, np.array([changes_every]), ages)

    def shuffle(self, rng: np.random.Generator) -> None:
        """Draw the order of the arms that are not open."""
        self.moments.shuffle(rng)

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Let everything fade and take in one sample of `arm`."""
        moments, before = self.moments, self.moments.past.forgotten[arm]
        moments.observe(arm, cost, reward)
        take_in_and_fade(self, arm, cost, reward)
        if moments.past.forgotten[arm] != before:
            copy_row(moments.stats[arm], self.faded[arm])
            self.ages[FIRST, arm] = self.ages[NOW, 0]

    def belief(self, arm: int) -> FadedBelief:
        """What is left of what was known of `arm`."""
        row = self.faded[arm]
        pulls = float(row[PULLS])
        if not pulls > 0.0:
            return FadedBelief(arm, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return FadedBelief(
            arm,
            pulls,
            float(row[FIRST_COST]) + float(row[MEAN_COST]),
            float(row[FIRST_REWARD]) + float(row[MEAN_REWARD]),
            float(row[SQUARES_COST]) / pulls,
            float(row[SQUARES_REWARD]) / pulls,
            float(row[SQUARES_CROSS]) / pulls,
        )

    def lead(self, leader: int) -> Lead:
        """What the others are compared with when this arm leads."""
        costs, rewards = 0.0, 0.0
        for arm in range(len(self.pulls)):
            if self.pulls[arm] > 0:
                belief = self.belief(arm)
                costs += belief.mean_cost
                rewards += belief.mean_reward
        return lead_of(self.faded, self.moments.extremes, leader, float(self.moments.opened()), costs, rewards)

    def opened(self) -> int:
        """How many arms are open."""
        return int(self.moments.opened())

    def unopened(self) -> int:
        """The arm to open next, or the number of arms if all are open."""
        return int(self.moments.unopened())

    def forgotten(self, arm: int) -> int:
        """How many of the arm's first samples were forgotten, since it has changed."""
        return int(self.moments.past.forgotten[arm])

    def unmark(self, arm: int) -> None:
        """Look for a change of the arm in what comes from now on only."""
        self.moments.unmark(arm)

    def full(self) -> bool:
        """Never: moments take the same room whatever the number of pulls."""
        return False

    def add_expected(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` samples that are all alike: they fade, and are no sign of a change."""
        self.moments.add_expected(arm, count, cost, reward)
        for _ in range(count):
            take_in_and_fade(self, arm, cost, reward)

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Replace one sample of an arm by another, with about the weight that it has by now."""
        nth = place - self.forgotten(arm)
        self.moments.revise(arm, place, old, new)
        copy_row(self.moments.stats[-1], self.faded[-1])
        if nth >= 0:
            replace(self.faded, arm, old, new, self._weight(arm, nth))

    def _weight(self, arm: int, nth: int) -> float:
        """About what the arm's `nth` sample that counts has left of 1.

        When the first and the last came is known. Those between share the rest of what all have left, as if they had
        come evenly between the two.
        """
        count = int(self.moments.stats[arm, PULLS])
        first, last = (math.exp(self.ages[which, arm] - self.ages[NOW, 0]) for which in (FIRST, LAST))
        if nth in (0, count - 1):
            return last if nth else first
        step = math.exp((self.ages[FIRST, arm] - self.ages[LAST, arm]) / (count - 1))  # from one to the one before it
        share = step ** (count - 2 - nth) / float(np.sum(step ** np.arange(count - 2)))
        return share * max(0.0, float(self.faded[arm, PULLS]) - first - last)

    def with_new_arm(self) -> "FadingMoments":
        """The same with one more arm, at the end of the order; `insert_at_random` gives it a random place."""
        faded = np.insert(self.faded, len(self.pulls), 0.0, axis=0)
        ages = np.append(self.ages, np.zeros((3, 1)), axis=1)
        moments, every = self.moments.with_new_arm(), self.changes_every.copy()
        return FadingMoments(moments, faded, np.append(self.pulls, 0), every, ages)

    def insert_at_random(self, rng: np.random.Generator) -> None:
        """Give the arm that was added last a random place among those that are not open."""
        self.moments.insert_at_random(rng)


def take_in_and_fade(memory: FadingMoments, arm: int, cost: float, reward: float) -> None:
    """Let every arm's sums fade by what was spent, and take one sample into those of one arm."""
    faded, stats = memory.faded, memory.moments.stats
    everything = len(faded) - 1
    memory.pulls[arm] += 1
    copy_row(stats[everything], faded[everything])
    mean = float(stats[everything, FIRST_COST]) + float(stats[everything, MEAN_COST])
    if cost > 0.0 and mean > 0.0:
        spent = cost / (LASTING * math.sqrt(memory.changes_every[0] * mean))
        memory.ages[NOW, 0] += spent
        left = math.exp(-spent)
        for k in range(everything):
            fade(faded[k], left)
    memory.ages[LAST, arm] = memory.ages[NOW, 0]
    if faded[arm, PULLS] == 0.0:
        memory.ages[FIRST, arm] = memory.ages[NOW, 0]
    take_in_faded(faded[arm], cost, reward)


def fade(row: Vector, left: float) -> None:
    """Let the samples of a row count for less; their mean stays."""
    row[PULLS] = max(1e-9, row[PULLS] * left) if row[PULLS] > 0.0 else 0.0
    row[SQUARES_COST] *= left
    row[SQUARES_REWARD] *= left
    row[SQUARES_CROSS] *= left


def take_in_faded(row: Vector, cost: float, reward: float) -> None:
    """Take one sample into a row of sums that fade (`moments.take_in`)."""
    if row[PULLS] == 0.0:
        row[FIRST_COST], row[FIRST_REWARD] = cost, reward
    pulls = row[PULLS] + 1.0
    step_cost = cost - row[FIRST_COST] - row[MEAN_COST]
    step_reward = reward - row[FIRST_REWARD] - row[MEAN_REWARD]
    weight, rest = 1.0 / pulls, row[PULLS] / pulls
    row[PULLS] = pulls
    row[MEAN_COST] += step_cost * weight
    row[MEAN_REWARD] += step_reward * weight
    row[SQUARES_COST] += step_cost * step_cost * rest
    row[SQUARES_REWARD] += step_reward * step_reward * rest
    row[SQUARES_CROSS] += step_cost * step_reward * rest
