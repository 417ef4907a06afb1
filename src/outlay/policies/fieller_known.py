"""Fieller's limit of the rate with known second moments: the Gaussian bound on R − rX, inverted."""

import math
from typing import NamedTuple, Self

from numpy.typing import ArrayLike

from outlay.beliefs import Belief
from outlay.checks import Vector, real
from outlay.formulas.fieller_limit import fieller_limit
from outlay.formulas.known_moments import check_length, checked_moments, known
from outlay.parameters import Record


class _FiellerKnownFields(NamedTuple):
    var_cost: Vector
    var_reward: Vector
    cov: Vector
    alpha: float


class FiellerKnown(Record, _FiellerKnownFields):
    """The largest rate r for which the mean of R − rX could still be 0, the second moments being known.

    With T pulls of the arm, X̄ and R̄ its means, ℓ = α·ln n, Var(R − rX) = Var(R) − 2r·Cov + r²Var(X):

        score = max{ r : R̄ − rX̄ + √(2·Var(R − rX)·ℓ/T) ≥ 0 }, in closed form; ∞ where X̄ ≤ √(2·Var(X)·ℓ/T)

    Guarantee: for Gaussian pairs with these moments, P(score < rate) ≤ ½·exp(−ℓ) at every T, whatever the correlation;
    for all others with these moments in the limit of large T. With any α > 1 regret on Gaussian arms is at most
    about α times the sharp lower bound, a sketch says; α = 1 is common, and close to it in simulation.

    Parameters
    ----------
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm.
        alpha: α > 0; larger explores more.

    >>> policy = FiellerKnown(var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.882585

    Reference: docs/test-inversion.md; E. C. Fieller, "Some problems in interval estimation", Journal of the Royal
    Statistical Society B 16 (1954), for the limits of a ratio of means.
    """

    __slots__ = ()

    def __new__(cls, var_cost: ArrayLike, var_reward: ArrayLike, cov: ArrayLike, alpha: float = 1.0) -> Self:
        """Check the parameters."""
        owner = cls.__name__
        moments = checked_moments(owner, var_cost, var_reward, cov)
        return super().__new__(cls, *moments, real(owner, "alpha", alpha, above=0))

    def check(self, arms: int) -> None:
        """Refuse a number of arms that the second moments were not given for."""
        check_length(type(self).__name__, "var_cost", self.var_cost, arms)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        moments = known(self.var_cost, self.var_reward, self.cov, belief.arm)
        return fieller_limit(belief.mean_cost, belief.mean_reward, moments, 2.0 * self.alpha * log_n / belief.pulls)

    def phase(self, log_n: float) -> int:  # noqa: ARG002 (it never changes)
        """Always 0: between pulls of the arm the score never falls as log_n grows."""
        return 0
