"""The Beta quantile at Φ(z), as a table that compiled code can read, and the correlation that it gives two Betas.

Under a Gaussian copula a Beta variable is x(z) = F⁻¹(Φ(z)) of a standard normal z. Its logit is smooth in z for every
shape (x itself is nearly a step for a U-shaped law), so a quintic spline of the logit needs few knots: 8 per unit of z
for most shapes, more for very small shape parameters.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from outlay.checks import Vector
from outlay.errors import needed

_REACH = 9  # |z| beyond this has probability 2e-19
_LEAST, _MOST = 8, 512  # knots per unit of z
_PRECISION = 1e-10  # of x between the knots
_TERMS = 100  # of the Hermite series
_GRID = np.linspace(-_REACH, _REACH, 400 * _REACH + 1)
_WEIGHTS = np.exp(-0.5 * _GRID * _GRID) / np.exp(-0.5 * _GRID * _GRID).sum()  # trapezoids: exact far below rounding


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
        return float(
            brentq(lambda c: np.polynomial.polynomial.polyval(c, self.terms) - correlation, -1.0, 1.0, xtol=1e-15)
        )


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
