"""Robust UCB: for heavy tails, by medians of means or truncated means, adapted to rates."""

import math
from typing import NamedTuple

import numpy as np

from outlay.beliefs import BlockBelief, Blocks, block_medians
from outlay.beliefs.samples import MOST_PULLS
from outlay.checks import Vector
from outlay.formulas.confidence import upper_over_lower
from outlay.parameters import Parameters, number
from outlay.policies.protocol import RisingScore

ALONE = 2.0**600  # a least cost that makes the rate of a block its reward, in an exact unit of its own
# Columns of `Truncated.stats`, and entries of `Truncated.criteria`.
PULLS, COST, REWARD = range(3)
ALL_PULLS, COST_MOMENT, REWARD_MOMENT = range(3)


class RobustUCBMedian(Parameters):
    """Robust UCB, medians of means: for heavy tails, with known bounds of the variances.

    The arm's T samples form m = min(⌊1 + 16·ln n⌋, ⌊T/2⌋) consecutive blocks of ⌊T/m⌋ (one block while T = 1). With x̃
    and r̃ the medians of the block means of cost and reward (block means of reward below 0 count as 0):

        ε = √(12·var_reward·(2 + 32·ln n)/T),  η = √(12·var_cost·(2 + 32·ln n)/T)
        score = (r̃ + ε)/(x̃ − η)      where x̃ > η, else ∞ (also while T = 0)

    The intervals are the paper's, for means, at confidence 1 − 1/n² and with two moments; it has no costs, and putting
    one over the other is our adaptation.

    Args:
        var_cost, var_reward: above 0; no arm's cost and reward have larger variances.

    >>> policy = RobustUCBMedian(var_cost=1e-4, var_reward=1e-4)
    >>> memory = policy.memory(arms=1)
    >>> for _ in range(200):
    ...     memory.observe(0, 2.0, 1.0)
    >>> round(policy.score(memory.belief(0), log_n=6.0), 6)
    0.526032

    Reference: Bubeck, Cesa-Bianchi, Lugosi, "Bandits with heavy tail", IEEE Trans. Information Theory 59 (2013).
    """

    var_cost: float = number(above=0)
    var_reward: float = number(above=0)

    def memory(self, arms: int) -> Blocks:
        """Prefix sums of all samples, with room for as many blocks as can be asked for."""
        return Blocks.empty(arms, groups=int(1.0 + 16.0 * math.log(MOST_PULLS)))

    def score(self, belief: BlockBelief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        half = max(1, belief.pulls // 2)
        blocks = 1.0 + 16.0 * log_n
        reward, cost = block_medians(belief, half if blocks >= half else int(blocks), ALONE)
        level = 12.0 * (2.0 + 32.0 * log_n) / belief.pulls
        return upper_over_lower(
            reward * ALONE, math.sqrt(self.var_reward * level), cost, math.sqrt(self.var_cost * level)
        )

    def phase(self, log_n: float) -> int:
        """Blocks: between pulls of the arm the score falls only when their number changes."""
        return int(1.0 + 16.0 * log_n)


class TruncatedBelief(NamedTuple):
    """What the samples of one arm say, large ones left out: their number and truncated means."""

    arm: int
    pulls: int
    mean_cost: float
    mean_reward: float


class Truncated(NamedTuple):
    """The memory of `RobustUCBTruncated`: sums of the samples that were not too large when they came.

    Sample number T of an arm, the n-th of all, is left out where x² · 2·ln n > u·T: it counts as 0.
    """

    stats: Vector  # a row per arm: pulls, sums of costs and of rewards
    criteria: Vector  # what a sample is judged by: pulls of all arms, bounds of the second moments of cost and reward

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        s, criteria = self.stats, self.criteria
        criteria[ALL_PULLS] = float(criteria[ALL_PULLS]) + 1.0
        level = 2.0 * math.log(float(criteria[ALL_PULLS]))
        pulls = float(s[arm, PULLS]) + 1.0
        s[arm, PULLS] = pulls
        if cost * cost * level <= float(criteria[COST_MOMENT]) * pulls:
            s[arm, COST] = float(s[arm, COST]) + cost
        if reward * reward * level <= float(criteria[REWARD_MOMENT]) * pulls:
            s[arm, REWARD] = float(s[arm, REWARD]) + reward

    def belief(self, arm: int) -> TruncatedBelief:
        """What is known of `arm`."""
        s = self.stats
        pulls = float(s[arm, PULLS])
        if pulls == 0.0:
            return TruncatedBelief(arm, 0, 0.0, 0.0)
        return TruncatedBelief(arm, int(pulls), float(s[arm, COST]) / pulls, float(s[arm, REWARD]) / pulls)

    def full(self) -> bool:
        """Never: sums take the same room whatever the number of pulls."""
        return False

    def with_new_arm(self) -> "Truncated":
        """The same with one more arm."""
        return Truncated(np.vstack([self.stats, np.zeros(3)]), self.criteria.copy())


class RobustUCBTruncated(RisingScore, Parameters):
    """Robust UCB, truncated means: for heavy tails, with known bounds of the second moments.

    With x̃ and r̃ the means of the arm's T samples where those that were too large count as 0 (see `Truncated`):

        ε = 4·√(2·reward_moment·ln n/T),  η = 4·√(2·cost_moment·ln n/T)
        score = max(0, r̃ + ε)/(x̃ − η)      where x̃ > η, else ∞ (also while T = 0)

    The intervals are the paper's, for means, at confidence 1 − 1/n² and with two moments. It judges every sample anew
    as n grows, which takes all of them at every score; here a sample is judged when it comes. That, and putting one
    interval over the other, is our adaptation.

    Args:
        cost_moment, reward_moment: above 0; no arm has a larger E[cost²] and E[reward²].

    >>> policy = RobustUCBTruncated(cost_moment=4.0, reward_moment=1.0)
    >>> memory = policy.memory(arms=1)
    >>> for _ in range(3200):
    ...     memory.observe(0, 2.0, 1.0)
    >>> round(policy.score(memory.belief(0), log_n=4.0), 3)
    0.75

    Reference: Bubeck, Cesa-Bianchi, Lugosi, "Bandits with heavy tail", IEEE Trans. Information Theory 59 (2013).
    """

    cost_moment: float = number(above=0)
    reward_moment: float = number(above=0)

    def memory(self, arms: int) -> Truncated:
        """Truncated sums, and the bounds that samples are judged by."""
        return Truncated(np.zeros((arms, 3)), np.array([0.0, self.cost_moment, self.reward_moment]))

    def score(self, belief: TruncatedBelief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = 32.0 * log_n / belief.pulls
        reward_radius, cost_radius = math.sqrt(self.reward_moment * level), math.sqrt(self.cost_moment * level)
        return upper_over_lower(belief.mean_reward, reward_radius, belief.mean_cost, cost_radius)
