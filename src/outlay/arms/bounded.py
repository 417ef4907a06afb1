"""Bounded laws: Beta and uniform, their cost and reward coupled by a Gaussian copula.

The copula draws two standard normals z and w of some correlation c and maps each by its own quantile function. The laws
are given the correlation of cost and reward themselves and find the c that gives it.

Under the copula a Beta variable is x(z) = F⁻¹(Φ(z)) of a standard normal z, which compiled code reads from a table. Its
logit is smooth in z for every shape (x itself is nearly a step for a U-shaped law), so a quintic spline of the logit
needs few knots: 8 per unit of z for most shapes, more for very small shape parameters.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from outlay.arms.law import Law, LawMoments, PositivePair, Support, correlated, reachable
from outlay.checks import Vector
from outlay.errors import BadParameter, needed
from outlay.parameters import Draft, derived, number

_REACH = 9  # |z| beyond this has probability 2e-19
_PRECISION = 1e-10  # of x between the knots
_TERMS = 100  # of the Hermite series
_LEAST, _MOST = 8, 512  # knots per unit of z
_GRID = np.linspace(-_REACH, _REACH, 400 * _REACH + 1)
_WEIGHTS = np.exp(-0.5 * _GRID * _GRID) / np.exp(-0.5 * _GRID * _GRID).sum()  # trapezoids: exact far below rounding


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


class Coupling(NamedTuple):
    """How the Gaussian copula's parameter c turns into the correlation of two Betas: Σ terms[k]·cᵏ."""

    terms: Vector
    low: float  # the correlation at c = -1
    high: float  # and at c = 1

    def parameter(self, correlation: float) -> float:
        """The c that gives this correlation."""
        from scipy.optimize import brentq

        if correlation == 0.0 or not self.low < correlation < self.high:
            return math.copysign(1.0, correlation) if correlation else 0.0
        polyval = np.polynomial.polynomial.polyval
        return float(brentq(lambda c: polyval(c, self.terms) - correlation, -1.0, 1.0, xtol=1e-15))


@lru_cache(maxsize=4096)
def beta_coupling(a: float, b: float, other_a: float, other_b: float) -> Coupling:
    """The correlation of Beta(a, b) and Beta(other_a, other_b) under a Gaussian copula, by Mehler's formula.

    With x(z) = Σ xₖ Heₖ(z)/√k!, likewise y, Cov = Σ xₖyₖcᵏ over k ≥ 1. The last two terms make it exact at c = ±1,
    where the series converges most slowly.
    """
    (x, x_terms), (y, y_terms) = _expansion(a, b), _expansion(other_a, other_b)
    high, low = float(_WEIGHTS @ (x * y)), float(_WEIGHTS @ (x * y[::-1]))
    terms = x_terms * y_terms
    even, odd = terms[::2].sum(), terms[1::2].sum()
    terms[-1] += 0.5 * (high + low) - even
    terms[-2] += 0.5 * (high - low) - odd
    return Coupling(terms, low, high)


@lru_cache(maxsize=4096)
def _expansion(a: float, b: float) -> tuple[Vector, Vector]:
    """x(z) on the grid, standardised, and its coefficients in the normalised Hermite polynomials Heₖ/√k!."""
    table = beta_table(a, b)
    x = np.array([beta_quantile(table, float(z)) for z in _GRID])
    x -= _WEIGHTS @ x
    x /= math.sqrt(_WEIGHTS @ (x * x))
    before, hermite = np.zeros_like(_GRID), np.ones_like(_GRID)
    terms = np.zeros(_TERMS + 1)
    for k in range(1, _TERMS + 1):
        before, hermite = hermite, (_GRID * hermite - math.sqrt(k - 1) * before) / math.sqrt(k)
        terms[k] = _WEIGHTS @ (x * hermite)
    return x, terms


def beta_quantile(table: Vector, z: float) -> float:
    """x(z), read from the table: 1/(1 + exp(−s)), s a quintic in the distance from the knot below z."""
    intervals = len(table) // 6
    at = (z + _REACH) * (intervals / (2 * _REACH))
    knot = min(max(int(at), 0), intervals - 1)
    t = min(max(at - knot, 0.0), 1.0)
    s = 0.0
    for i in range(6 * knot, 6 * knot + 6):
        s = s * t + table[i]
    return 1.0 / (1.0 + math.exp(-min(max(s, -700.0), 700.0)))


@lru_cache(maxsize=4096)
@needed("Beta")
def beta_table(a: float, b: float) -> Vector:
    """The spline of logit x(z) for Beta(a, b): six coefficients per interval, highest power first."""
    from scipy.interpolate import make_interp_spline
    from scipy.special import expit

    density = _LEAST
    while True:
        knots = np.arange(2.0 * _REACH * density + 1.0)
        spline = make_interp_spline(knots, _logit(a, b, knots / density - _REACH), k=5)
        middles = knots[:-1] + 0.5
        error = expit(spline(middles)) - expit(_logit(a, b, middles / density - _REACH))
        if density == _MOST or np.abs(error).max() < _PRECISION:
            break
        density *= 2
    powers = [spline(knots[:-1], nu=power) / math.factorial(power) for power in range(5, -1, -1)]
    table: Vector = np.stack(powers, axis=1).ravel()
    table.setflags(write=False)
    return table


def _logit(a: float, b: float, z: Vector) -> Vector:
    return _log_quantile(a, b, z) - _log_quantile(b, a, -z)  # 1 − x is the quantile of Beta(b, a) at Φ(−z)


def _log_quantile(a: float, b: float, z: Vector) -> Vector:
    """Logarithm of x(z); where x is tiny, from F(x) = xᵃ/(aB(a, b))."""
    from scipy.special import betainccinv, betaincinv, betaln, log_ndtr, ndtr

    x = np.where(z < 0.0, betaincinv(a, b, ndtr(z)), betainccinv(a, b, ndtr(-z)))
    log_tiny = (log_ndtr(z) + math.log(a) + betaln(a, b)) / a
    # For some shapes scipy has no quantile (NaN) within 1e-15 of either end.
    x = np.where(np.isnan(x) & (z > 0.0), 1.0, x)
    is_tiny = (log_tiny < -40.0 - math.log1p(b)) | (np.isnan(x) & (log_tiny < -30.0))
    log_x: Vector = np.where(is_tiny, log_tiny, np.log(np.maximum(x, 1e-300)))
    return log_x
