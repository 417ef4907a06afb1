"""The empirical Bernstein bound on R − rX, inverted: bounded pairs, variances and correlation unknown."""

import math

from outlay.beliefs import Belief
from outlay.formulas.fieller_limit import fieller_limit
from outlay.parameters import Parameters, number
from outlay.policies.protocol import RisingScore


class BernsteinRate(RisingScore, Parameters):
    """The largest rate r for which the mean of R − rX could still be 0, by the empirical Bernstein bound.

    With T pulls of the arm, X̄ and R̄ its means, V̂(R − rX) = V̂(R) − 2r·Ĉov + r²V̂(X) its biased sample variance,
    ℓ = α·ln n; R − rX varies by at most M_R + |r|·M_X:

        score = max{ r : R̄ − rX̄ + √(2V̂(R − rX)·ℓ/T) + 3(M_R + |r|·M_X)·ℓ/T ≥ 0 }

    in closed form: Fieller's with R̄ + 3M_R·ℓ/T and X̄ − 3M_X·ℓ/T instead of the means (X̄ + 3M_X·ℓ/T where the
    score is negative); ∞ while T = 0 or the cost's lower bound is not above 0.

    Guarantee: P(score < rate) ≤ 3·exp(−ℓ) at every T, for any pairs of these bounds, whatever their correlation.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in an interval of length M_X, such as [0, M_X], rewards in one
            of length M_R.
        alpha: α > 0; larger explores more.

    >>> policy = BernsteinRate(cost_bound=1.0, reward_bound=1.0)
    >>> belief = Belief(0, pulls=1000, mean_cost=0.5, mean_reward=0.4, var_cost=0.04, var_reward=0.04, cov=0.03)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.883496

    Reference: docs/test-inversion.md; Audibert, Munos, Szepesvári, "Exploration–exploitation tradeoff using variance
    estimates in multi-armed bandits", Theoretical Computer Science 410 (2009), Theorem 1, for the bound.
    """

    cost_bound: float = number(at_least=0)
    reward_bound: float = number(at_least=0)
    alpha: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = self.alpha * log_n / belief.pulls
        margin = 3.0 * self.cost_bound * level
        reward = belief.mean_reward + 3.0 * self.reward_bound * level
        score = fieller_limit(belief.mean_cost - margin, reward, belief, 2.0 * level)
        if score < 0.0:
            return min(0.0, fieller_limit(belief.mean_cost + margin, reward, belief, 2.0 * level))
        return score
