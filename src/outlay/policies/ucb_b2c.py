"""UCB-B2C: bounded, correlated cost and reward, everything unknown (Section 6.2, Theorem 5)."""

import math

from outlay.beliefs import Belief, residual_variance, slope
from outlay.formulas.unit import Bounds
from outlay.formulas.upper_rate import estimated_rate, upper_rate
from outlay.parameters import number
from outlay.policies.protocol import RisingScore


class UCBB2C(RisingScore, Bounds):
    """UCB-B2C: upper confidence bound of the reward rate that learns the correlation, for bounded pairs.

    With T pulls of the arm, X̄ and R̄ its means, V̂ and Ĉov its biased sample moments, ω̂ = Ĉov/V̂(X),
    L̂ = max(0, V̂(R) − ω̂²V̂(X)), M_Z = M_R + ω̄·M_X, r̂ = max(0, R̄)/max(b, X̄), ℓ = α·ln n:

        ε = √(2L̂·ℓ/T) + 3M_Z·ℓ/T,  η = √(2V̂(X)·ℓ/T) + 3M_X·ℓ/T
        score = r̂ + 1.4·(ε + (r̂ − ω̂)⁺·η)/X̄      where η < 0.21875·X̄, else ∞ (also while T = 0)

    Like the paper's printed score it leaves out the sample spread of ω̂ and L̂. The paper bounds ω_k from above only;
    with negative slopes the range of R − ωX needs ω̄ ≥ |ω_k|. Taken literally the stability condition forces thousands
    of pulls on every arm before any is judged: a reference point more than a recommendation.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].
        slope_bound: ω̄ ≥ |ω_k| for every arm.
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.
        factor: the paper's 1.4 (its appendix has 1.78).

    >>> policy = UCBB2C(cost_bound=1.0, reward_bound=1.0, slope_bound=1.0)
    >>> belief = Belief(0, pulls=1000, mean_cost=0.5, mean_reward=0.4, var_cost=0.04, var_reward=0.04, cov=0.03)
    >>> round(policy.score(belief, log_n=5.0), 6)
    1.038544

    Reference: Cayci, Eryilmaz, Srikant, "Budget-Constrained Bandits over General Cost and Reward Distributions",
    AISTATS 2020, Section 6.2.
    """

    slope_bound: float = number(at_least=0)
    alpha: float = number(default=2.1, above=2)
    min_cost: float = number(default=1e-12, above=0)
    factor: float = number(default=1.4, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = self.alpha * log_n / belief.pulls
        residual_bound = self.reward_bound + self.slope_bound * self.cost_bound
        reward_radius = math.sqrt(2.0 * residual_variance(belief) * level) + 3.0 * residual_bound * level
        cost_radius = math.sqrt(2.0 * belief.var_cost * level) + 3.0 * self.cost_bound * level
        rate = estimated_rate(belief.mean_cost, belief.mean_reward, self.min_cost)
        weight = max(0.0, rate - slope(belief))
        return upper_rate(rate, belief.mean_cost, cost_radius, reward_radius, weight, self.factor)
