"""UCB-B2: bounded, uncorrelated cost and reward of unknown variance (Section 6.1, Theorem 4)."""

import math

from outlay.beliefs import Belief
from outlay.formulas.unit import Bounds
from outlay.formulas.upper_rate import estimated_rate, upper_rate
from outlay.parameters import number
from outlay.policies.protocol import RisingScore


class UCBB2(RisingScore, Bounds):
    """UCB-B2: upper confidence bound of the reward rate from sample variances, for bounded, uncorrelated pairs.

    With T pulls of the arm, X̄ and R̄ its means, V̂ its biased sample variances, r̂ = max(0, R̄)/max(b, X̄), ℓ = α·ln n:

        ε = √(2V̂(R)·ℓ/T) + 3M_R·ℓ/T,  η = √(2V̂(X)·ℓ/T) + 3M_X·ℓ/T
        score = r̂ + 1.4·(ε + r̂·η)/X̄      where η < 0.21875·X̄, else ∞ (also while T = 0)

    Taken literally the stability condition forces thousands of pulls on every arm before any is judged (1755 at
    n = 20 000, M = 1, Bernoulli cost ½): a reference point more than a recommendation.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.
        factor: the paper's 1.4 (its appendix has 1.78).

    >>> policy = UCBB2(cost_bound=1.0, reward_bound=1.0)
    >>> belief = Belief(0, pulls=1000, mean_cost=0.5, mean_reward=0.4, var_cost=0.04, var_reward=0.04, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    1.104833

    Reference: Cayci, Eryilmaz, Srikant, "Budget-Constrained Bandits over General Cost and Reward Distributions",
    AISTATS 2020, Section 6.1; the radii are the empirical Bernstein bound of Audibert, Munos, Szepesvári (2009).
    """

    alpha: float = number(default=2.1, above=2)
    min_cost: float = number(default=1e-12, above=0)
    factor: float = number(default=1.4, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = self.alpha * log_n / belief.pulls
        reward_radius = math.sqrt(2.0 * belief.var_reward * level) + 3.0 * self.reward_bound * level
        cost_radius = math.sqrt(2.0 * belief.var_cost * level) + 3.0 * self.cost_bound * level
        rate = estimated_rate(belief.mean_cost, belief.mean_reward, self.min_cost)
        return upper_rate(rate, belief.mean_cost, cost_radius, reward_radius, rate, self.factor)
