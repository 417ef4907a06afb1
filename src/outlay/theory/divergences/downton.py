"""Correlated exponential arms, known up to the scales of cost and reward: Moran and Downton's pair.

In units of the means (a, b) has the density exp(−(a+b)/(1−ρ))·I₀(2√(ρab)/(1−ρ))/(1−ρ). If the scales of cost and
reward rise by u and w, in logarithms,

    KL = u + w + (e⁻ᵘ + e⁻ʷ − 2)/(1−ρ) + E[ln I₀(κ√(ab)) − ln I₀(κ√(ab)·e^(−(u+w)/2))],   κ = 2√ρ/(1−ρ),

and w must be at least w(u) = ln((rXeᵘ + ν)/R), as for independent costs and rewards: D* is a search over u.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from outlay.arms import Exponential
from outlay.checks import Vector
from outlay.theory.divergences.log_remainder import log_remainder
from outlay.theory.divergences.scale import rise_of

_NORMALS = np.arange(-13, 14) * 0.625  # sums over such grids leave D* a relative error below 1e-6
_LOGS = np.arange(-30.0, 4.6, 0.125)
_TABLED, _DEGREE = 3.0, 25  # u + w up to which ψ is tabulated, and the degree: odd, so that 0 is no node
_GRID = 13  # points that the search starts from
_PRECISION = 1e-6  # of the minimiser; the minimum is then right to the square of that


def downton(law: Exponential, rate: float, worth: float = 0.0) -> float:
    """D* with the correlation known; ∞ at correlation 1, where cost and reward are always in proportion.

    >>> from outlay.theory.divergences.scale import exponentials
    >>> downton(Exponential(1.0, 0.5, 1e-9), 1.0), exponentials(Exponential(1.0, 0.5), 1.0)
    (0.11778303..., 0.11778303...)
    """
    from scipy.optimize import minimize_scalar

    if law.correlation == 1:
        return math.inf

    def both(u: float) -> float:
        return scaled_kl(law.correlation, u, rise_of(law, rate, worth, u))

    rise = rise_of(law, rate, worth, 0.0)
    starts = np.linspace(-2.0 * rise, rise, _GRID)
    at = int(np.argmin([both(u) for u in starts]))
    low, high = starts[max(0, at - 1)], starts[min(_GRID - 1, at + 1)]
    close = _PRECISION * rise
    return max(0.0, float(minimize_scalar(both, bounds=(low, high), method="bounded", options={"xatol": close}).fun))


def scaled_kl(correlation: float, u: float, w: float) -> float:
    """KL of the module's formula, as (h(u) + h(w))/(1−ρ) + ψ(u + w), h(x) = x + e⁻ˣ − 1: both of second order."""
    t = u + w
    if abs(t) > _TABLED:
        return summed_kl(correlation, u, w)
    from numpy.polynomial.chebyshev import chebval

    return (_remainder(u) + _remainder(w)) / (1.0 - correlation) + t * t * float(
        chebval(t / _TABLED, _shared(correlation))
    )


def summed_kl(correlation: float, u: float, w: float) -> float:
    """The same as a sum over pairs; its terms cancel where the changes are small."""
    a, b, z, at_z, weights = _pairs(correlation)
    rest, apart = 1.0 - correlation, at_z - _log_bessel(z * math.exp(-(u + w) / 2))
    ratio = u + w + (a * math.expm1(-u) + b * math.expm1(-w)) / rest + apart
    return float(weights @ ratio)


def _remainder(x: float) -> float:
    return -float(log_remainder(-math.expm1(-x))) if abs(x) < 1.0 else x + math.expm1(-x)


@lru_cache(maxsize=32)
def _shared(correlation: float) -> Vector:
    """ψ(t)/t² as a Chebyshev series over |t| ≤ `_TABLED`."""
    from numpy.polynomial.chebyshev import chebfit, chebpts1

    nodes = chebpts1(_DEGREE + 1)
    found = []
    for t in (_TABLED * nodes).tolist():
        both = 2.0 * _remainder(t / 2.0) / (1.0 - correlation)
        found.append((summed_kl(correlation, t / 2.0, t / 2.0) - both) / (t * t))
    return np.asarray(chebfit(nodes, np.array(found), _DEGREE))


def _log_bessel(z: Vector) -> Vector:
    """The logarithm of I₀(z), interpolated in asinh z."""
    return np.asarray(_bessel_table()(np.arcsinh(z)) + z)


@lru_cache(maxsize=1)
def _bessel_table() -> Callable[[Vector], Vector]:
    from scipy.interpolate import CubicSpline
    from scipy.special import i0e

    knots = np.linspace(0.0, 40.0, 8001)
    return CubicSpline(knots, np.log(i0e(np.sinh(knots))))


@lru_cache(maxsize=8)
def _pairs(correlation: float) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """Pairs (a, b), z = κ√(ab), ln I₀(z) and weights: a = m²/2 from a grid of ln a, b from two normals given m."""
    log_a, g, h = (grid.ravel() for grid in np.meshgrid(_LOGS, _NORMALS, _NORMALS[_NORMALS >= 0], indexing="ij"))
    a = np.exp(log_a)
    weights = np.exp(log_a - a - (g * g + h * h) / 2) * np.where(h > 0, 2.0, 1.0)
    m = np.sqrt(2.0 * a)
    b = ((math.sqrt(correlation) * m + math.sqrt(1.0 - correlation) * g) ** 2 + (1.0 - correlation) * h * h) / 2.0
    kept = weights > 1e-15
    a, b, weights = a[kept], b[kept], weights[kept] / weights[kept].sum()
    z = 2.0 * np.sqrt(correlation * a * b) / (1.0 - correlation)
    found = a, b, z, _log_bessel(z), weights
    for part in found:
        part.setflags(write=False)
    return found
