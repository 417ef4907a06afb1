"""UCB-BV2: UCB-BV1 with the smallest mean cost estimated."""

import math

import numpy as np

from outlay.beliefs import Belief, Moments
from outlay.formulas.choices.choose import Now, precedes
from outlay.formulas.unit import UnitBounds, share


class UCBBV2(UnitBounds):
    """UCB-BV2: the rate of the means plus a bonus that the smallest observed mean cost scales.

    With r̄ and c̄ the means as shares of their bounds, λ the smallest c̄ of all arms, s = √(ln n/T):

        score = r̄/c̄ + (1/λ)·(1 + 1/(λ − s))·s      where s < λ, else ∞

    While some arm has cost nothing yet λ is 0, every score is ∞, and the arms are pulled in turn.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> memory = Moments.empty(2)
    >>> for arm in (0, 1):
    ...     memory.observe(arm, 0.5, 0.5 * arm)
    >>> UCBBV2().choose(memory, Now(pulls=2, log_n=0.693, spent=1.0), np.random.default_rng(0))
    0
    >>> UCBBV2().choose(memory, Now(pulls=1, log_n=0.0, spent=1.0), np.random.default_rng(0))
    1

    Reference: Ding, Qin, Zhang, Liu, "Multi-armed bandit with budget constraint and variable costs", AAAI 2013.
    """

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the arm with the largest score."""
        arms = len(memory.stats)
        smallest = 1.0
        for arm in range(arms):
            smallest = min(smallest, share(memory.belief(arm).mean_cost, self.cost_bound))
        best, top, least = 0, -math.inf, 0
        for arm in range(arms):
            belief = memory.belief(arm)
            score = bv2_score(belief, now.log_n, smallest, self.cost_bound, self.reward_bound)
            if arm == 0 or precedes(score, belief.pulls, arm, top, least, best):
                best, top, least = arm, score, belief.pulls
        return best


def bv2_score(belief: Belief, log_n: float, smallest: float, cost_bound: float, reward_bound: float) -> float:
    """The score of one arm, `smallest` the λ of all."""
    if belief.pulls == 0:
        return math.inf
    radius = math.sqrt(log_n / belief.pulls)
    if radius >= smallest:
        return math.inf
    rate = share(belief.mean_reward, reward_bound) / share(belief.mean_cost, cost_bound)
    return rate + (1.0 / smallest) * (1.0 + 1.0 / (smallest - radius)) * radius
