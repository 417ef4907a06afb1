"""Bounded laws: Beta and uniform, their cost and reward coupled by a Gaussian copula.

The copula draws two standard normals z and w of some correlation c and maps each by its own quantile function. The
laws below are given the correlation of cost and reward themselves and find the c that gives it.
"""

import math
from typing import NamedTuple, Self

from numpy.random import Generator

from outlay.arms.beta_table import beta_coupling, beta_quantile, beta_table
from outlay.arms.law import Law, Moments, Support
from outlay.arms.pair import checked_correlation, checked_pair, correlated, pair_moments, reachable
from outlay.checks import Vector, real
from outlay.errors import BadParameter


class _BetaFields(NamedTuple):
    cost: float
    reward: float
    cost_sd: float
    reward_sd: float
    correlation: float
    cost_bound: float
    reward_bound: float
    copula: float  # derived: correlation of the normals
    cost_table: Vector  # derived: the quantile functions
    reward_table: Vector


class Beta(Law, _BetaFields):
    """Cost and reward are Beta variables on [0, bound], coupled by a Gaussian copula.

    X = cost_bound·F⁻¹(Φ(z)), R = reward_bound·G⁻¹(Φ(w)); F is the Beta law with this mean and standard deviation.

    Args:
        cost: mean cost, inside (0, cost_bound), at least 1.02e-10·cost_bound from both ends.
        reward: mean reward, likewise.
        cost_sd: standard deviation of the cost, up to 99 % of √(cost·(cost_bound − cost)), where all is at the ends.
        reward_sd: standard deviation of the reward, likewise.
        correlation: of cost and reward, within the range that the two shapes leave.
        cost_bound: largest cost.
        reward_bound: largest reward.

    >>> law = Beta(cost=0.5, reward=0.25, cost_sd=0.2, reward_sd=0.1, correlation=0.7)
    >>> round(law.copula, 4)
    0.7087
    >>> Beta(cost=0.5, reward=0.25, cost_sd=0.6, reward_sd=0.1)
    Traceback (most recent call last):
    outlay.errors.BadParameter: cost_sd of Beta must be between 1e-05 and 0.495074 for this mean and bound; got 0.6
    """

    __slots__ = ()

    def __new__(
        cls,
        cost: float,
        reward: float,
        cost_sd: float,
        reward_sd: float,
        correlation: float = 0.0,
        cost_bound: float = 1.0,
        reward_bound: float = 1.0,
    ) -> Self:
        """Check the parameters."""
        m, n, s, t, rho = checked_pair("Beta", cost, reward, cost_sd, reward_sd, correlation, positive=True)
        x_bound, r_bound = (
            real("Beta", "cost_bound", cost_bound, above=0),
            real("Beta", "reward_bound", reward_bound, above=0),
        )
        x_shape, r_shape = _shape("cost", m, s, x_bound), _shape("reward", n, t, r_bound)
        coupling = beta_coupling(*x_shape, *r_shape)
        rho = reachable("Beta", rho, coupling.low, coupling.high)
        tables = beta_table(*x_shape), beta_table(*r_shape)
        return super().__new__(cls, m, n, s, t, rho, x_bound, r_bound, coupling.parameter(rho), *tables)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two normals."""
        z = rng.standard_normal()
        w = correlated(self.copula, z, rng.standard_normal())
        cost = self.cost_bound * beta_quantile(self.cost_table, z)
        return cost, self.reward_bound * beta_quantile(self.reward_table, w)

    def moments(self) -> Moments:
        """The parameters themselves."""
        return pair_moments(self.cost, self.reward, self.cost_sd, self.reward_sd, self.correlation)

    def support(self) -> Support:
        """From 0 to the bounds."""
        return Support(0.0, self.cost_bound, 0.0, self.reward_bound)


def _shape(side: str, mean: float, sd: float, bound: float) -> tuple[float, float]:
    """The two shape parameters of the Beta law on [0, bound] with this mean and sd."""
    if not mean < bound:
        raise BadParameter("Beta", side, f"< {side}_bound = {bound:g}", mean)
    m, s = mean / bound, sd / bound
    low, high = 1e-5, math.sqrt(m * (1.0 - m) / 1.02)
    if high < low:
        allowed = f"at least {1.02 * low * low * bound:.3g} away from 0 and from {side}_bound = {bound:g}"
        raise BadParameter("Beta", side, allowed, mean)
    if not low <= s <= high:
        allowed = f"between {low * bound:.6g} and {high * bound:.6g} for this mean and bound"
        raise BadParameter("Beta", f"{side}_sd", allowed, sd)
    size = m * (1.0 - m) / (s * s) - 1.0
    return m * size, (1.0 - m) * size


class _UniformFields(NamedTuple):
    cost_low: float
    cost_high: float
    reward_low: float
    reward_high: float
    correlation: float


class Uniform(Law, _UniformFields):
    """Cost and reward are uniform, coupled by a Gaussian copula with c = 2 sin(πρ/6).

    Args:
        cost_low: smallest cost; may be negative.
        cost_high: largest cost, ≥ cost_low.
        reward_low: smallest reward; may be negative.
        reward_high: largest reward, ≥ reward_low.
        correlation: ρ, in [-1, 1].

    >>> Uniform(cost_low=0, cost_high=2, reward_low=-1, reward_high=5, correlation=0.5).moments()
    Moments(mean_cost=1.0, mean_reward=2.0, var_cost=0.3333333333333333, var_reward=3.0, cov=0.5)
    """

    __slots__ = ()

    def __new__(
        cls, cost_low: float, cost_high: float, reward_low: float, reward_high: float, correlation: float = 0.0
    ) -> Self:
        """Check the parameters."""
        x_low, r_low = real("Uniform", "cost_low", cost_low), real("Uniform", "reward_low", reward_low)
        return super().__new__(
            cls,
            x_low,
            real("Uniform", "cost_high", cost_high, at_least=x_low),
            r_low,
            real("Uniform", "reward_high", reward_high, at_least=r_low),
            checked_correlation("Uniform", correlation),
        )

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two normals."""
        z = rng.standard_normal()
        w = correlated(2.0 * math.sin(self.correlation * math.pi / 6.0), z, rng.standard_normal())
        cost = self.cost_low + (self.cost_high - self.cost_low) * normal_cdf(z)
        return cost, self.reward_low + (self.reward_high - self.reward_low) * normal_cdf(w)

    def moments(self) -> Moments:
        """Midpoints, width²/12, and ρ times both standard deviations."""
        x_width, r_width = self.cost_high - self.cost_low, self.reward_high - self.reward_low
        return Moments(
            0.5 * (self.cost_low + self.cost_high),
            0.5 * (self.reward_low + self.reward_high),
            x_width * x_width / 12.0,
            r_width * r_width / 12.0,
            self.correlation * x_width * r_width / 12.0,
        )

    def support(self) -> Support:
        """The parameters themselves."""
        return Support(self.cost_low, self.cost_high, self.reward_low, self.reward_high)


def normal_cdf(z: float) -> float:
    """Φ(z), with full relative precision in the lower tail."""
    return 0.5 * math.erfc(-z * math.sqrt(0.5))
