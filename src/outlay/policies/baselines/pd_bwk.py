"""PD-BwK: the primal-dual algorithm of bandits with knapsacks, for one knapsack."""

import math

import numpy as np

from outlay.beliefs import Moments
from outlay.formulas.choices.choose import Now, precedes
from outlay.formulas.rates import upper_over_lower
from outlay.formulas.unit import UnitBounds, share
from outlay.parameters import derived, number
from outlay.policies.baselines.told_budget import budget_or_infinity


class PDBwK(UnitBounds):
    """PD-BwK: an upper confidence bound of the reward over a lower one of the cost, at one level for the whole budget.

    With r̄ and c̄ the means as shares of their bounds, rad(x) = √(C·x/T) + C/T:

        score = min(r̄ + rad(r̄), 1)/(c̄ − rad(c̄))      where c̄ > rad(c̄), else ∞ (also while T = 0)

    The algorithm divides by v·(c̄ − rad(c̄)), v a price that grows by (1 + ε) to the power of the lower cost, and
    ε = √(ln d/B) for d resources: with the budget as the only one ε is 0 and v stays 1. The paper's C is of the order
    ln(d·K·rounds); rounds are unknown here, and C = factor·ln(K·B/M_X), at least `factor`, is our reading.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].
        factor: above 0; larger explores more.
        budget: B; `simulate` fills it in. While it is unknown (None) the arms are pulled in turn.

    >>> memory = Moments.empty(1)
    >>> PDBwK(budget=100.0).choose(memory, Now(pulls=0, log_n=0.0, spent=0.0), np.random.default_rng(0))
    0

    Reference: Badanidiyuru, Kleinberg, Slivkins, "Bandits with knapsacks", FOCS 2013.
    """

    factor: float = number(default=1.0, above=0)
    budget: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the arm with the largest score."""
        arms = len(memory.stats)
        if self.known_budget == math.inf:
            return now.pulls % arms
        level = self.factor * max(1.0, math.log(arms * max(1.0, self.known_budget / self.cost_bound)))
        best, top, least = 0, -math.inf, 0
        for arm in range(arms):
            belief = memory.belief(arm)
            score = math.inf
            if belief.pulls > 0:
                cost = share(belief.mean_cost, self.cost_bound)
                reward = share(belief.mean_reward, self.reward_bound)
                highest = min(reward + knapsack_radius(reward, belief.pulls, level), 1.0)
                score = upper_over_lower(highest, 0.0, cost, knapsack_radius(cost, belief.pulls, level))
            if arm == 0 or precedes(score, belief.pulls, arm, top, least, best):
                best, top, least = arm, score, belief.pulls
        return best


def knapsack_radius(share: float, pulls: int, level: float) -> float:
    """√(C·x/T) + C/T with C the level.

    >>> knapsack_radius(0.25, 16, 4.0)
    0.5
    """
    return math.sqrt(level * share / pulls) + level / pulls
