"""ω-UCB: asymmetric intervals around reward and cost."""

import math

from outlay.beliefs import Belief
from outlay.formulas.log_time import log_after
from outlay.formulas.unit import share
from outlay.formulas.wilson import wilson_lower, wilson_upper
from outlay.parameters import Parameters, number
from outlay.policies.protocol import RisingScore


class OmegaUCB(RisingScore, Parameters):
    """ω-UCB: Wilson's upper bound of the reward over his lower bound of the cost.

    With r̄ and c̄ the means as shares of their bounds, z² = 2ρ·ln(t + 1), t the pull to come, the bounds are the ends of
    {p : (p − p̂)² ≤ z²·p(1 − p)/T}; the upper one is at most 1. The score is ∞ while T = 0 or c̄ = 0.

    Args:
        rho: ρ > 0; larger explores more. ¼ is the authors' best on average; 1 is the least with logarithmic regret.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(OmegaUCB(rho=0.25).score(belief, log_n=math.log(98)), 6)
    1.283978

    Reference: Heyden, Arzamasov, Fouché, Böhm, "Budgeted multi-armed bandits with asymmetric confidence intervals",
    KDD 2024.
    """

    rho: float = number(default=0.25, above=0)
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        g = 2.0 * self.rho * log_after(log_n, 2.0) / belief.pulls
        lower = wilson_lower(share(belief.mean_cost, self.cost_bound), g)
        if lower <= 0.0:
            return math.inf
        return wilson_upper(share(belief.mean_reward, self.reward_bound), g) / lower
