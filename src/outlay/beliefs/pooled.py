"""Moments of each arm and of all pulls together, for policies that compare every arm with the leader.

The methods below `empty` run in the interpreter and compiled, bit for bit alike; so does everything they call.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.beliefs.moments import PULLS, Belief, Sample, belief_of, empty_rows, replace, take_in, take_in_many
from outlay.checks import Vector

REWARD_MAX, COST_MIN, COST_MAX = range(3)  # entries of `PooledMoments.extremes`
TINY = 1e-300  # in place of a price where nothing has cost anything


class Lead(NamedTuple):
    """What an arm is compared with: the leader, and all pulls together. Numbers only, so that two leads span a box."""

    rate: float  # of the leader: its mean reward by its price
    spend: float  # on the leader
    price: float  # of the leader: its mean cost, or what stands for it (`price_of`)
    arms: float
    reward_max: float  # the extremes over all pulls
    cost_min: float
    cost_max: float
    spread: float  # the variance over all pulls, 1/n, of R − rX with r the leader's rate
    size: float  # the mean square of all rewards
    opened: float  # how many arms have been pulled; this and what follows is for policies that open arms one by one
    usual_price: float  # the mean of their mean costs
    usual_rate: float  # the mean of their mean rewards by that
    spent: float  # on all pulls


class PooledBelief(NamedTuple):
    """A `Belief` with the arm's first samples, as many as the memory keeps: a row (cost, reward) for each."""

    arm: int
    pulls: int
    mean_cost: float
    mean_reward: float
    var_cost: float
    var_reward: float
    cov: float
    pairs: Vector


class PooledMoments(NamedTuple):
    """Moments of each arm, and in one more row those of all pulls, with the largest reward and the extreme costs.

    The first samples of each arm are kept as well where a policy wants to weigh them one by one.

    >>> memory = PooledMoments.empty(2)
    >>> memory.observe(0, 2.0, 1.0)
    >>> memory.observe(1, 4.0, 4.0)
    >>> memory.belief(1).mean_cost, memory.lead(1).rate, memory.lead(1).size, memory.lead(1).cost_min
    (4.0, 1.0, 8.5, 2.0)
    """

    stats: Vector  # a row of sums per arm, and one of all pulls
    extremes: Vector  # over all pulls: the largest reward, the smallest and the largest cost
    pairs: Vector  # [arm, sample, cost or reward]

    @staticmethod
    def empty(arms: int, keep: int = 1) -> "PooledMoments":
        """Make the memory before the first pull; it keeps the first `keep` samples of each arm, at least one."""
        return PooledMoments(empty_rows(arms + 1), np.zeros(3), np.zeros((arms, keep, 2)))

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        everything = len(self.stats) - 1
        note_extremes(self.extremes, cost, reward, self.stats[everything, PULLS] == 0.0)
        pulls = int(self.stats[arm, PULLS])
        if pulls < self.pairs.shape[1]:
            self.pairs[arm, pulls, 0] = cost
            self.pairs[arm, pulls, 1] = reward
        take_in(self.stats, arm, cost, reward)
        take_in(self.stats, everything, cost, reward)

    def belief(self, arm: int) -> PooledBelief:
        """What is known of `arm`."""
        b = belief_of(self.stats, arm)
        return PooledBelief(arm, b.pulls, b.mean_cost, b.mean_reward, b.var_cost, b.var_reward, b.cov, self.pairs[arm])

    def lead(self, leader: int) -> Lead:
        """What the others are compared with when this arm leads."""
        return lead_of(self.stats, self.extremes, leader, 0.0, 0.0, 0.0)

    def full(self) -> bool:
        """Never: moments take the same room whatever the number of pulls."""
        return False

    def add_expected(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` samples that are all alike; they change no extreme unless they are the first of all."""
        everything = len(self.stats) - 1
        if self.stats[everything, PULLS] == 0.0:
            note_extremes(self.extremes, cost, reward, True)
        pulls = int(self.stats[arm, PULLS])
        for place in range(pulls, min(pulls + count, self.pairs.shape[1])):
            self.pairs[arm, place, 0] = cost
            self.pairs[arm, place, 1] = reward
        take_in_many(self.stats, arm, count, cost, reward)
        take_in_many(self.stats, everything, count, cost, reward)

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Replace the arm's `place`-th sample, counted from 0, by another; the extremes remember both."""
        replace(self.stats, arm, old, new)
        replace(self.stats, len(self.stats) - 1, old, new)
        note_extremes(self.extremes, *new, False)
        if place < self.pairs.shape[1]:
            self.pairs[arm, place] = new

    def with_new_arm(self) -> "PooledMoments":
        """The same with one more arm."""
        arms = len(self.pairs)
        pairs = np.concatenate([self.pairs, np.zeros((1, *self.pairs.shape[1:]))])
        return PooledMoments(np.insert(self.stats, arms, 0.0, axis=0), self.extremes.copy(), pairs)


def lead_of(stats: Vector, extremes: Vector, leader: int, opened: float, costs: float, rewards: float) -> Lead:
    """The lead of an arm, from the sums of each arm and of all pulls.

    `opened` is how many arms have been pulled, `costs` and `rewards` are the sums of their means: 0.0 if nobody asks.
    """
    belief = belief_of(stats, leader)
    total = belief_of(stats, len(stats) - 1)
    least, most = float(extremes[COST_MIN]), float(extremes[COST_MAX])
    price = price_of(belief, least, most)
    rate = belief.mean_reward / price
    usual_price, usual_rate = 0.0, 0.0
    if opened > 0.0:
        usual_price = costs / opened if costs > 0.0 else max(abs(least), abs(most), TINY)
        usual_rate = rewards / (opened * usual_price)
    return Lead(
        rate,
        belief.pulls * price,
        price,
        float(len(stats) - 1),
        float(extremes[REWARD_MAX]),
        least,
        most,
        max(0.0, total.var_reward - 2.0 * rate * total.cov + rate * rate * total.var_cost),
        total.mean_reward * total.mean_reward + total.var_reward,
        opened,
        usual_price,
        usual_rate,
        total.pulls * total.mean_cost if opened > 0.0 else 0.0,
    )


def note_extremes(extremes: Vector, cost: float, reward: float, first: bool) -> None:
    """Widen the extremes so that they hold one more sample, or set them to the first of all."""
    extremes[REWARD_MAX] = reward if first else max(reward, float(extremes[REWARD_MAX]))
    extremes[COST_MIN] = cost if first else min(cost, float(extremes[COST_MIN]))
    extremes[COST_MAX] = cost if first else max(cost, float(extremes[COST_MAX]))


def price_of(belief: Belief | PooledBelief, cost_min: float, cost_max: float) -> float:
    """The arm's mean cost; where its costs sum to 0 or less, the largest cost of any pull, either sign, by √T.

    So an arm that is free has a spend that grows, if slowly, and is not pulled for ever.

    >>> price_of(Belief(0, 4, -1.0, 0.0, 0.0, 0.0, 0.0), cost_min=-8.0, cost_max=2.0)
    4.0
    """
    if belief.mean_cost > 0.0:
        return belief.mean_cost
    largest = max(abs(cost_min), abs(cost_max))
    return (largest if largest > 0.0 else 1.0) / math.sqrt(max(1, belief.pulls))
