"""UCB-SC+: a circle around the pair of means."""

import math

from outlay.beliefs import Belief
from outlay.formulas.log_time import log_after
from outlay.formulas.unit import UnitBounds, share
from outlay.policies.protocol import RisingScore


class UCBSCPlus(RisingScore, UnitBounds):
    """UCB-SC+: the steepest line through the origin that touches a circle around the pair of means.

    With r̄ and c̄ the means as shares of their bounds, δ = ln(t/T)/(2T), t the pull to come, a = √(δ/(r̄² + c̄² − δ)):

        score = (r̄ + a·c̄)/(c̄ − a·r̄)      where c̄ > √δ, else ∞ (also while T = 0)

    computed as (r̄·c̄ + √δ·√(r̄² + c̄² − δ))/(c̄² − δ), which is the same without cancellation. The formula is that of
    public code of another paper's authors; the original statement was not at hand.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(UCBSCPlus().score(belief, log_n=math.log(99)), 6)
    1.04027

    Reference: Watanabe, Komiyama, Nakamura, Kudo, on UCB-SC, a fast variant of KL-UCB-SC, for budgeted bandits with
    stochastic costs, IEICE Transactions (2017, 2018).
    """

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        cost = share(belief.mean_cost, self.cost_bound)
        reward = share(belief.mean_reward, self.reward_bound)
        radius = math.sqrt(max(0.0, log_after(log_n, 1.0) - math.log(belief.pulls)) / (2.0 * belief.pulls))
        rest = (cost - radius) * (cost + radius)
        if cost <= radius or rest <= 0.0:
            return math.inf
        return (reward * cost + radius * math.sqrt(reward * reward + rest)) / rest
