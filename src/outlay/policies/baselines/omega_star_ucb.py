"""ω*-UCB: ω-UCB with narrower intervals where the samples vary less than a coin."""

import math

from outlay.beliefs import Belief
from outlay.formulas.log_time import log_after
from outlay.formulas.unit import share
from outlay.formulas.wilson import wilson_lower, wilson_upper
from outlay.parameters import Parameters, integer, number
from outlay.policies.protocol import RisingScore


class OmegaStarUCB(RisingScore, Parameters):
    """ω*-UCB: ω-UCB with z² multiplied by η ≤ 1, for reward and cost each.

    η is the sample variance over the largest that a law on [0, M] of this mean can have, x̄(M − x̄), both unbiased, and
    at most 1. It is 1 while T < `wait` or T < 2, and where x̄ is 0 or M.

    Args:
        rho: ρ > 0; larger explores more.
        wait: pulls of an arm before its variance is believed. 30 is the paper's; 0 is stronger on average but locks
            onto a wrong arm more often: two equal samples then leave no interval at all.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.01, var_reward=0.24, cov=0.0)
    >>> round(OmegaStarUCB(rho=0.25).score(belief, log_n=math.log(98)), 6)
    1.060028

    Reference: Heyden, Arzamasov, Fouché, Böhm, "Budgeted multi-armed bandits with asymmetric confidence intervals",
    KDD 2024.
    """

    rho: float = number(default=0.25, above=0)
    wait: int = integer(default=30, at_least=0)
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        g = 2.0 * self.rho * log_after(log_n, 2.0) / belief.pulls
        cost = share(belief.mean_cost, self.cost_bound)
        reward = share(belief.mean_reward, self.reward_bound)
        cost_eta = reward_eta = 1.0
        if belief.pulls >= max(2, self.wait):
            cost_eta = eta(cost, belief.var_cost, self.cost_bound)
            reward_eta = eta(reward, belief.var_reward, self.reward_bound)
        lower = wilson_lower(cost, cost_eta * g)
        if lower <= 0.0:
            return math.inf
        return wilson_upper(reward, reward_eta * g) / lower


def eta(share: float, variance: float, bound: float) -> float:
    """The variance over that of a coin with the same mean, at most 1; T/(T − 1) in both cancels.

    >>> eta(0.5, 0.5, 2.0), eta(0.0, 0.0, 2.0)
    (0.5, 1.0)
    """
    largest = share * (1.0 - share)
    return min(1.0, variance / bound / bound / largest) if largest > 0.0 else 1.0
