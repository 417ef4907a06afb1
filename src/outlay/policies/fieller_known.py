"""Fieller's limit of the rate with known second moments: the Gaussian bound on R − rX, inverted."""

import math

from outlay.beliefs import Belief
from outlay.formulas.fieller_limit import fieller_limit
from outlay.formulas.known_moments import KnownMoments, known
from outlay.parameters import number
from outlay.policies.protocol import RisingScore


class FiellerKnown(RisingScore, KnownMoments):
    """The largest rate r for which the mean of R − rX could still be 0, the second moments being known.

    With T pulls of the arm, X̄ and R̄ its means, ℓ = α·ln n, Var(R − rX) = Var(R) − 2r·Cov + r²Var(X):

        score = max{ r : R̄ − rX̄ + √(2·Var(R − rX)·ℓ/T) ≥ 0 }, in closed form; ∞ where X̄ ≤ √(2·Var(X)·ℓ/T)

    Guarantee: for Gaussian pairs with these moments, P(score < rate) ≤ ½·exp(−ℓ) at every T, whatever the correlation;
    for all others with these moments in the limit of large T. For α ≥ 1 and Gaussian pairs regret divided by ln B is in
    the limit at most α·Σ μΔ/min((μΔ)²/(2·Var(R − r*X)), μ²/(2·Var(X))) (docs/kl-rate-regret.md, Theorem 5).

    Args:
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm.
        alpha: α > 0; larger explores more.

    >>> policy = FiellerKnown(var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.882585

    Reference: docs/test-inversion.md; E. C. Fieller, "Some problems in interval estimation", Journal of the Royal
    Statistical Society B 16 (1954), for the limits of a ratio of means.
    """

    alpha: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        moments = known(self.var_cost, self.var_reward, self.cov, belief.arm)
        return fieller_limit(belief.mean_cost, belief.mean_reward, moments, 2.0 * self.alpha * log_n / belief.pulls)
