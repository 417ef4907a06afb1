"""Bounded laws: Beta and uniform, their cost and reward coupled by a Gaussian copula.

The copula draws two standard normals z and w of some correlation c and maps each by its own quantile function. The
laws below are given the correlation of cost and reward themselves and find the c that gives it.
"""

import math

from numpy.random import Generator

from outlay.arms.beta_table import beta_coupling, beta_quantile, beta_table
from outlay.arms.law import Law, LawMoments, Support
from outlay.arms.pair import PositivePair, correlated, reachable
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.parameters import Draft, derived, number


class Beta(PositivePair):
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

    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    copula: float = derived()  # the correlation of the normals
    cost_table: Vector = derived()  # the quantile functions
    reward_table: Vector = derived()

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Find the two quantile functions, and the copula that gives the correlation."""
        x_shape = _shape(cls.__name__, "cost", given.cost, given.cost_sd, given.cost_bound)
        r_shape = _shape(cls.__name__, "reward", given.reward, given.reward_sd, given.reward_bound)
        coupling = beta_coupling(*x_shape, *r_shape)
        given.correlation = reachable(cls.__name__, given.correlation, coupling.low, coupling.high)
        given.cost_table, given.reward_table = beta_table(*x_shape), beta_table(*r_shape)
        given.copula = coupling.parameter(given.correlation)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two normals."""
        z = rng.standard_normal()
        w = correlated(self.copula, z, rng.standard_normal())
        cost = self.cost_bound * beta_quantile(self.cost_table, z)
        return cost, self.reward_bound * beta_quantile(self.reward_table, w)

    def support(self) -> Support:
        """From 0 to the bounds."""
        return Support(0.0, self.cost_bound, 0.0, self.reward_bound)


def _shape(owner: str, side: str, mean: float, sd: float, bound: float) -> tuple[float, float]:
    """The two shape parameters of the Beta law on [0, bound] with this mean and sd."""
    if not mean < bound:
        raise BadParameter(owner, side, f"< {side}_bound = {bound:g}", mean)
    m, s = mean / bound, sd / bound
    low, high = 1e-5, math.sqrt(m * (1.0 - m) / 1.02)
    if high < low:
        allowed = f"at least {1.02 * low * low * bound:.3g} away from 0 and from {side}_bound = {bound:g}"
        raise BadParameter(owner, side, allowed, mean)
    if not low <= s <= high:
        allowed = f"between {low * bound:.6g} and {high * bound:.6g} for this mean and bound"
        raise BadParameter(owner, f"{side}_sd", allowed, sd)
    size = m * (1.0 - m) / (s * s) - 1.0
    return m * size, (1.0 - m) * size


class Uniform(Law):
    """Cost and reward are uniform, coupled by a Gaussian copula with c = 2 sin(πρ/6).

    Args:
        cost_low: smallest cost; may be negative.
        cost_high: largest cost, ≥ cost_low.
        reward_low: smallest reward; may be negative.
        reward_high: largest reward, ≥ reward_low.
        correlation: ρ, in [-1, 1].

    >>> Uniform(cost_low=0, cost_high=2, reward_low=-1, reward_high=5, correlation=0.5).moments()
    LawMoments(mean_cost=1.0, mean_reward=2.0, var_cost=0.3333333333333333, var_reward=3.0, cov=0.5)
    """

    cost_low: float = number()
    cost_high: float = number(at_least=lambda given: given.cost_low)
    reward_low: float = number()
    reward_high: float = number(at_least=lambda given: given.reward_low)
    correlation: float = number(default=0.0, at_least=-1, at_most=1)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two normals."""
        z = rng.standard_normal()
        w = correlated(2.0 * math.sin(self.correlation * math.pi / 6.0), z, rng.standard_normal())
        cost = self.cost_low + (self.cost_high - self.cost_low) * normal_cdf(z)
        reward = self.reward_low + (self.reward_high - self.reward_low) * normal_cdf(w)
        return min(cost, self.cost_high), min(reward, self.reward_high)  # which rounding may exceed

    def moments(self) -> LawMoments:
        """Midpoints, width²/12, and ρ times both standard deviations."""
        x_width, r_width = self.cost_high - self.cost_low, self.reward_high - self.reward_low
        return LawMoments(
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
