"""i-UCB: an interval around the rate itself."""

import math

from outlay.beliefs import Belief
from outlay.formulas.unit import share
from outlay.parameters import Parameters, number
from outlay.policies.protocol import RisingScore


class IUCB(RisingScore, Parameters):
    """i-UCB: the rate of the means plus a bonus that does not look at the cost.

    With r̄ and c̄ the means as shares of their bounds, e = α·√(ln n/T):

        score = r̄/c̄ + e      ∞ while T = 0 or c̄ = 0

    Args:
        alpha: α > 0; larger explores more. The default is what the paper found best.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=100, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(IUCB(alpha=0.5).score(belief, log_n=4.0), 6)
    0.9

    Reference: Xia, Qin, Ding, Li, Zhang, Yu, Liu, "Finite budget analysis of multi-armed bandit problems",
    Neurocomputing 258 (2017).
    """

    alpha: float = number(default=0.25, above=0)
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's optimistic rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost = share(belief.mean_cost, self.cost_bound)
        if belief.pulls == 0 or cost <= 0.0:
            return math.inf
        reward = share(belief.mean_reward, self.reward_bound)
        radius = self.alpha * math.sqrt(log_n / belief.pulls)
        return reward / cost + radius
