"""UCB-BV1: budgeted bandits with variable costs, the smallest mean cost known."""

import math

from outlay.beliefs import Belief
from outlay.formulas.unit import LeastCost, share
from outlay.policies.protocol import RisingScore


class UCBBV1(RisingScore, LeastCost):
    """UCB-BV1: the rate of the means plus a bonus that the smallest mean cost scales.

    With r̄ and c̄ the means as shares of their bounds, λ = min_cost as a share of M_X, s = √(ln n/T):

        score = r̄/c̄ + (1 + 1/λ)·s/(λ − s)      where s < λ and c̄ > 0, else ∞ (also while T = 0)

    The condition s < λ forces ln n/λ² pulls on every arm before any is judged.

    Args:
        min_cost: λ·M_X > 0, at most the smallest mean cost; at most cost_bound.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=400, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(UCBBV1(min_cost=0.5).score(belief, log_n=4.0), 6)
    1.55

    Reference: Ding, Qin, Zhang, Liu, "Multi-armed bandit with budget constraint and variable costs", AAAI 2013.
    """

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost = share(belief.mean_cost, self.cost_bound)
        if belief.pulls == 0 or cost <= 0.0:
            return math.inf
        least = self.min_cost / self.cost_bound
        radius = math.sqrt(log_n / belief.pulls)
        if radius >= least:
            return math.inf
        return share(belief.mean_reward, self.reward_bound) / cost + (1.0 + 1.0 / least) * radius / (least - radius)
