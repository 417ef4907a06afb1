"""UCB-B1: known second moments, light tails (Section 4.2, Theorem 1)."""

import math

from outlay.beliefs import Belief, residual_variance, slope
from outlay.formulas.known_moments import KnownMoments, known
from outlay.formulas.upper_rate import estimated_rate, upper_rate
from outlay.parameters import Draft, derived, number
from outlay.policies.protocol import RisingScore


class UCBB1(RisingScore, KnownMoments):
    """UCB-B1: upper confidence bound of the reward rate from known second moments, for light tails.

    With T pulls of the arm, X̄ and R̄ its means, ω = Cov/Var(X), V = Var(R) − ω²Var(X), r̂ = max(0, R̄)/max(b, X̄):

        ε = 2α·M_R·ln n/(3T) + √(L·α·V·ln n/T)
        η = 2α·M_X·ln n/(3T) + √(L·α·Var(X)·ln n/T)
        score = r̂ + 1.4·(ε + |r̂ − ω|·η)/X̄      where η < 0.21875·X̄, else ∞ (also while T = 0)

    The paper prints r̂ − ω and assumes ω ≤ r; the absolute value is what its Proposition 2 needs, and equal then.
    L = ½ is the paper's value for Gaussian pairs, and too small for α < 3.48: regret is known to be O(ln B) where
    α·L ≥ 1.742, and can be a power of B where it is below 1.741 (docs/errata.md). For bounded pairs ε has the range of
    R as in the text (the appendix has that of R − ωX). Taken literally the stability condition forces many pulls on
    every arm before any is judged: a reference point more than a recommendation.

    Args:
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm.
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.
        cost_bound, reward_bound: M_X ≥ |cost| and M_R ≥ |reward|; 0 for Gaussian pairs.
        variance_factor: L; by default (None) ½ when both bounds are 0, else 2. `chosen_factor` is the value used.
        factor: the paper's 1.4 (its appendix has 1.78).

    >>> policy = UCBB1(var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.886549

    Reference: Cayci, Eryilmaz, Srikant, "Budget-Constrained Bandits over General Cost and Reward Distributions",
    AISTATS 2020, Section 4.2.
    """

    alpha: float = number(default=2.1, above=2)
    min_cost: float = number(default=1e-12, above=0)
    cost_bound: float = number(default=0.0, at_least=0)
    reward_bound: float = number(default=0.0, at_least=0)
    variance_factor: float | None = number(default=None, above=0)
    factor: float = number(default=1.4, above=0)

    chosen_factor: float = derived(lambda given: given.variance_factor or _usual_factor(given))

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        moments = known(self.var_cost, self.var_reward, self.cov, belief.arm)
        level = self.alpha * log_n / belief.pulls
        spread = self.chosen_factor * level
        reward_radius = math.sqrt(residual_variance(moments) * spread)
        cost_radius = math.sqrt(moments.var_cost * spread)
        if self.reward_bound > 0.0:  # a GPU divides 0 slowly
            reward_radius = 2.0 * self.reward_bound * level / 3.0 + reward_radius
        if self.cost_bound > 0.0:
            cost_radius = 2.0 * self.cost_bound * level / 3.0 + cost_radius
        rate = estimated_rate(belief.mean_cost, belief.mean_reward, self.min_cost)
        return upper_rate(rate, belief.mean_cost, cost_radius, reward_radius, abs(rate - slope(moments)), self.factor)


def _usual_factor(given: Draft) -> float:
    return 0.5 if given.cost_bound == given.reward_bound == 0 else 2.0
