"""Rates from sample means: of one arm, the best of all, and the most optimistic reading of two intervals."""

import math

from outlay.beliefs import Belief, Moments
from outlay.formulas.choices.choose import precedes


def observed_rate(belief: Belief) -> float:
    """R̄/X̄; ∞ before the first pull, and while the mean cost is not positive.

    >>> observed_rate(Belief(0, pulls=2, mean_cost=4.0, mean_reward=1.0, var_cost=0.0, var_reward=0.0, cov=0.0))
    0.25
    """
    if belief.pulls == 0 or belief.mean_cost <= 0.0:
        return math.inf
    return belief.mean_reward / belief.mean_cost


def best_rate(memory: Moments) -> int:
    """The arm with the largest observed rate; ties to the fewest pulls, then to the lowest index."""
    best, top, least = 0, -math.inf, 0
    for arm in range(len(memory.stats)):
        belief = memory.belief(arm)
        rate = observed_rate(belief)
        if arm == 0 or precedes(rate, belief.pulls, arm, top, least, best):
            best, top, least = arm, rate, belief.pulls
    return best


def upper_over_lower(reward: float, reward_radius: float, cost: float, cost_radius: float) -> float:
    """max(0, reward + its radius)/(cost − its radius); ∞ where that cost is not positive.

    >>> upper_over_lower(reward=0.5, reward_radius=0.25, cost=2.0, cost_radius=0.5)
    0.5
    """
    lower = cost - cost_radius
    return max(0.0, reward + reward_radius) / lower if lower > 0.0 else math.inf
