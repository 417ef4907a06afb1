"""Moments of arms that are opened one by one, with each arm as a point (mean cost, mean reward): for hulls.

The methods below `empty` run in the interpreter and compiled, bit for bit alike; so does everything they call.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.belief import Belief, Sample
from outlay.beliefs.opened import ORDERED, Opened
from outlay.beliefs.pooled import Lead
from outlay.beliefs.sums import belief_of
from outlay.checks import Vector


class Points(NamedTuple):
    """`Opened`, and each arm's point; where its mean cost is told, that stands for the one observed.

    An arm without a sample has a mean reward of −∞, so that no hull takes it in.

    >>> memory = Points.empty(2)
    >>> memory.observe(1, cost=2.0, reward=1.0)
    >>> memory.costs.tolist(), memory.rewards.tolist(), memory.opened()
    ([0.0, 2.0], [-inf, 1.0], 1)
    """

    arms: Opened
    pulls: NDArray[np.int64]  # [arm]
    costs: Vector  # [arm]: its mean cost
    rewards: Vector  # [arm]: its mean reward
    told: Vector  # [arm]: its mean cost where that is known, else NaN
    other: Vector  # [cost or reward, arm]: room for points that a policy would rather have, such as optimistic ones

    @staticmethod
    def empty(arms: int, costs: Sequence[float] | Vector = ()) -> "Points":
        """Make the memory before the first pull; where mean costs are told, the cheapest arms are opened first."""
        opened, told = Opened.empty(arms), np.full(arms, math.nan)
        if len(costs) > 0:
            told[:] = costs
            opened.order[:] = np.argsort(told, kind="stable")
            opened.place[opened.order] = np.arange(arms)
            opened.marks[ORDERED] = 1
        seen = np.where(np.isnan(told), 0.0, told)
        return Points(opened, np.zeros(arms, np.int64), seen, np.full(arms, -math.inf), told, np.zeros((2, arms)))

    def shuffle(self, rng: np.random.Generator) -> None:
        """Draw the order of the arms that are not open, unless their costs are its order."""
        self.arms.shuffle(rng)

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        self.arms.observe(arm, cost, reward)
        place_point(self.arms.stats, self.pulls, self.costs, self.rewards, self.told, arm)

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

    def imagine(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` samples that are all alike; they change no extreme unless they are the first of all."""
        self.arms.imagine(arm, count, cost, reward)
        place_point(self.arms.stats, self.pulls, self.costs, self.rewards, self.told, arm)

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Replace one sample of an arm by another; the extremes remember both."""
        self.arms.revise(arm, place, old, new)
        place_point(self.arms.stats, self.pulls, self.costs, self.rewards, self.told, arm)

    def know_cost(self, arm: int, cost: float) -> None:
        """Take it for the arm's mean cost, whatever its samples say."""
        self.told[arm] = self.costs[arm] = cost

    def widened(self) -> "Points":
        """The same with one more arm, whose mean cost nobody has told, at the end of the order."""
        return Points(
            self.arms.widened(),
            np.append(self.pulls, 0),
            np.append(self.costs, 0.0),
            np.append(self.rewards, -math.inf),
            np.append(self.told, math.nan),
            np.zeros((2, len(self.pulls) + 1)),
        )


def place_point(
    stats: Vector, pulls: NDArray[np.int64], costs: Vector, rewards: Vector, told: Vector, arm: int
) -> None:
    """Put an arm's point where its samples say."""
    belief = belief_of(stats, arm)
    pulls[arm] = belief.pulls
    rewards[arm] = belief.mean_reward
    if math.isnan(told[arm]):
        costs[arm] = belief.mean_cost
