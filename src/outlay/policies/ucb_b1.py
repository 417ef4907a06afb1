"""UCB-B1: known second moments, light tails (Section 4.2, Theorem 1)."""

import math
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike

from outlay.beliefs import Belief, residual_variance, slope
from outlay.parameters import Record, Vector, real
from outlay.policies.known_moments import check_length, checked_moments, known
from outlay.policies.upper_rate import estimated_rate, upper_rate


class _UCBB1Fields(NamedTuple):
    var_cost: Vector
    var_reward: Vector
    cov: Vector
    alpha: float
    min_cost: float
    cost_bound: float
    reward_bound: float
    variance_factor: float
    factor: float
    by_default: bool  # derived: variance_factor was left to the bounds


class UCBB1(Record, _UCBB1Fields):
    """UCB-B1: upper confidence bound of the reward rate from known second moments, for light tails.

    With T pulls of the arm, X̄ and R̄ its means, ω = Cov/Var(X), V = Var(R) − ω²Var(X), r̂ = max(0, R̄)/max(b, X̄):

        ε = 2α·M_R·ln n/(3T) + √(L·α·V·ln n/T)
        η = 2α·M_X·ln n/(3T) + √(L·α·Var(X)·ln n/T)
        score = r̂ + 1.4·(ε + |r̂ − ω|·η)/X̄      where η < 0.21875·X̄, else ∞ (also while T = 0)

    The paper prints r̂ − ω and assumes ω ≤ r; the absolute value is what its Proposition 2 needs, and equal then.
    L = ½ is the paper's value for Gaussian pairs; its proof uses tails that need L = 2. For bounded pairs ε has the
    range of R as in the text (the appendix has that of R − ωX). Taken literally the stability condition forces many
    pulls on every arm before any is judged: a reference point more than a recommendation.

    Parameters
    ----------
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm.
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.
        cost_bound, reward_bound: M_X ≥ |cost| and M_R ≥ |reward|; 0 for Gaussian pairs.
        variance_factor: L; by default (None) ½ when both bounds are 0, else 2. The field holds the value used, and
            `_replace` of a bound chooses anew.
        factor: the paper's 1.4 (its appendix has 1.78).

    >>> policy = UCBB1(var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.886549

    Reference: Cayci, Eryilmaz, Srikant, "Budget-Constrained Bandits over General Cost and Reward Distributions",
    AISTATS 2020, Section 4.2.
    """

    __slots__ = ()

    def __new__(
        cls,
        var_cost: ArrayLike,
        var_reward: ArrayLike,
        cov: ArrayLike,
        alpha: float = 2.1,
        min_cost: float = 1e-12,
        cost_bound: float = 0.0,
        reward_bound: float = 0.0,
        variance_factor: float | None = None,
        factor: float = 1.4,
    ) -> Self:
        """Check the parameters."""
        owner = cls.__name__
        moments = checked_moments(owner, var_cost, var_reward, cov)
        alpha = real(owner, "alpha", alpha, above=2)
        min_cost = real(owner, "min_cost", min_cost, above=0)
        cost_bound = real(owner, "cost_bound", cost_bound, at_least=0)
        reward_bound = real(owner, "reward_bound", reward_bound, at_least=0)
        by_default = variance_factor is None
        if variance_factor is None:
            variance_factor = 0.5 if cost_bound == reward_bound == 0 else 2.0
        variance_factor = real(owner, "variance_factor", variance_factor, above=0)
        factor = real(owner, "factor", factor, above=0)
        numbers = (alpha, min_cost, cost_bound, reward_bound, variance_factor, factor)
        return super().__new__(cls, *moments, *numbers, by_default)

    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments; variance_factor is None where it was not given."""
        return super().arguments() | ({"variance_factor": None} if self.by_default else {})

    def check(self, arms: int) -> None:
        """Refuse a number of arms that the second moments were not given for."""
        check_length(type(self).__name__, "var_cost", self.var_cost, arms)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        moments = known(self.var_cost, self.var_reward, self.cov, belief.arm)
        level = self.alpha * log_n / belief.pulls
        spread = self.variance_factor * level
        reward_radius = math.sqrt(residual_variance(moments) * spread)
        cost_radius = math.sqrt(moments.var_cost * spread)
        if self.reward_bound > 0.0:  # a GPU divides 0 slowly
            reward_radius = 2.0 * self.reward_bound * level / 3.0 + reward_radius
        if self.cost_bound > 0.0:
            cost_radius = 2.0 * self.cost_bound * level / 3.0 + cost_radius
        rate = estimated_rate(belief.mean_cost, belief.mean_reward, self.min_cost)
        return upper_rate(rate, belief.mean_cost, cost_radius, reward_radius, abs(rate - slope(moments)), self.factor)

    def phase(self, log_n: float) -> int:  # noqa: ARG002 (it never changes)
        """Always 0: between pulls of the arm the score never falls as log_n grows."""
        return 0
