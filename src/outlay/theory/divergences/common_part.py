"""The density of two gammas with a common part, and KL between two such laws of other scales, by sums.

In units of the scales X = G₀ + G₁ and R = G₀ + G₂, of shapes c, p and q, and the density at (x, y) is

    e^(−x−y)·∫ g^(c−1)·(x−g)^(p−1)·(y−g)^(q−1)·e^g dg / (Γ(c)Γ(p)Γ(q)) over 0 < g < m = min(x, y).

With g = ms the integral is m^(c+p−1)·M^(q−1)·∫ s^(c−1)(1−s)^(p−1)(1−sm/M)^(q−1)e^(ms) ds over (0, 1) where x = m is the
smaller and y = M (Humbert's function Φ₁); p and q are exchanged where y is. If p + q ≤ 1 it is infinite at x = y.

KL = E[ℓ], ℓ = ln f(x, y) − ln f(xe⁻ᵘ, ye⁻ʷ) + u + w. e^(−ℓ) has the mean 1, so KL is also the mean of ℓ + e^(−ℓ) − 1,
whose terms are all ≥ 0. The sum is over v = ln(y/x), with ends at 0 and w − u, where one of the densities may be
infinite, and over ln(x + y). All sums have steps that shrink doubly exponentially towards the ends of their intervals.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from outlay.checks import Vector

_NEVER = 1e-17  # a chance that is left out at each end
_TINY = 1e-300
_DEPTH, _DEEPEST = 40.0, 680.0  # e⁻⁴⁰ is nothing, and e⁻⁶⁸⁰ as far as numbers go
_STEP, _INNER = 0.2, 0.14  # of the sums over pairs and over s
_PEAK, _INNER_PEAK = 0.45, 0.3  # the same where the shapes are large, in 1/√shape
_ROWS = 4096  # pairs at a time


class _Pairs(NamedTuple):
    """ln x, ln y, v, v − (w − u) and the logarithm of each pair's share of the plane."""

    x: Vector
    y: Vector
    v: Vector
    moved: Vector
    area: Vector


def summed_kl(shapes: tuple[float, float, float], u: float, w: float) -> float:
    """KL from the law of these shapes (c, p, q), all > 0, to the one whose scales are larger by exp(u) and exp(w)."""
    pairs = _pairs(shapes, u, w)
    here = log_density(shapes, pairs.x, pairs.y, pairs.v) + pairs.area
    there = log_density(shapes, pairs.x - u, pairs.y - w, pairs.moved) - u - w + pairs.area
    ratio = here - there
    small = np.abs(ratio) < 1e-2
    close = np.where(small, ratio, 0.0)
    remainder = close * close / 2.0 * (1.0 - close / 3.0 * (1.0 - close / 4.0 * (1.0 - close / 5.0)))
    weights = np.exp(here)
    return float(np.where(small, weights * remainder, weights * (ratio - 1.0) + np.exp(there)).sum())


def log_density(shapes: tuple[float, float, float], x: Vector, y: Vector, v: Vector) -> Vector:
    """The logarithm of f at (eˣ, eʸ), v = y − x being given for itself: it may be tiny."""
    c, p, q = shapes
    found = np.empty(len(x))
    for part, low, high, first, last in ((v >= 0, x, y, p, q), (v < 0, y, x, q, p)):
        m, gap = low[part], np.abs(v[part])
        found[part] = (c + first - 1.0) * m + (last - 1.0) * high[part] + _shared(c, first, last, np.exp(m), gap)
    constant: Vector = found - np.exp(x) - np.exp(y) - sum(math.lgamma(shape) for shape in shapes)
    return constant


def _shared(c: float, p: float, q: float, m: Vector, gap: Vector) -> Vector:
    """The logarithm of ∫ s^(c−1)·(1−s)^(p−1)·(1−se^(−gap))^(q−1)·e^(ms) ds, over logit of s, or of s^c where c < 1."""
    power, step = min(1.0, c), min(_INNER, _INNER_PEAK / math.sqrt(1.0 + c)) / _wide(c, c + min(p, q))
    t = np.arange(-math.asinh(_DEPTH / math.pi), math.asinh(_DEPTH / (math.pi * min(1.0, p))) + step, step)
    z = math.pi * np.sinh(t)
    log_s = -np.logaddexp(0.0, -z) / power
    with np.errstate(divide="ignore"):
        log_rest = np.where(z > _DEPTH, -z - math.log(power), np.log(-np.expm1(log_s)))  # ln(1 − s)
    weights = c * log_s - np.logaddexp(0.0, z) + (p - 1.0) * log_rest + np.log(np.cosh(t) * math.pi * step / power)
    s, rest, found = np.exp(log_s), np.exp(log_rest), np.empty(len(m))

    def logs(rows: slice, at: slice) -> Vector:
        apart = rest[at] + s[at] * -np.expm1(-gap[rows, None])  # 1 − se^(−gap)
        terms: Vector = weights[at] + (q - 1.0) * np.log(np.maximum(apart, _TINY)) + m[rows, None] * s[at]
        return terms

    few = max(1, int(_INNER / step))
    for first in range(0, len(m), _ROWS):
        rows = slice(first, first + _ROWS)
        rough = logs(rows, slice(0, None, few))  # where there is more than nothing
        there = np.flatnonzero((rough >= rough.max(axis=1, keepdims=True) - 2.0 * _DEPTH).any(axis=0))
        terms = logs(rows, slice(few * max(0, there[0] - 1), few * (there[-1] + 1) + 1))
        top = terms.max(axis=1)
        found[rows] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    return found


def _wide(c: float, m: float) -> float:
    """How much finer the sum over s must be where it is far from 0 in z that terms are largest: at s of about c/m."""
    if c >= 1.0:
        return 1.3 * math.hypot(1.0, math.log(m / c) / math.pi)  # dz = π·cosh(t)·dt, at π·sinh(t) = ln(m/c)
    return max(1.0, max(1.0, math.log1p(m)) * math.hypot(1.0, math.log(c) / math.pi) / 1.5)


def _pairs(shapes: tuple[float, float, float], u: float, w: float) -> _Pairs:
    """Pairs that cover both laws but for a chance of 1e-17 at each end."""
    from scipy.special import gammainccinv, gammaincinv, polygamma

    c, p, q = shapes
    (x_low, x_high), (y_low, y_high), (low, high) = (
        (math.log(max(float(gammaincinv(shape, _NEVER)), _TINY)), math.log(float(gammainccinv(shape, _NEVER))))
        for shape in (c + p, c + q, c + p + q)
    )
    apart = w - u
    first, last = min(0.0, apart), max(0.0, apart)
    cuts = sorted({min(y_low - x_high + first, first - 1.0), 0.0, apart, max(y_high - x_low + last, last + 1.0)})
    spread = math.sqrt(float(polygamma(1, c + p) + polygamma(1, c + q)) * (1.0 - c / math.sqrt((c + p) * (c + q))))
    pieces = [_piece(a, b, apart, spread, min(_DEEPEST, _DEPTH / min(1.0, p + q))) for a, b in pairwise(cuts)]
    v, moved, across = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    # x + y = G₁ + G₂ + 2G₀ is between G₀ + G₁ + G₂ and twice that; its logarithm is t − e^(−t)
    step = min(_STEP, _PEAK / math.sqrt(c + p + q))
    ends = [_steep(low + min(0.0, u, w)), _steep(high + math.log(2.0) + max(0.0, u, w))]
    t = np.arange(ends[0], ends[1] + step, step)
    along, log_sum = np.log1p(np.exp(-t)) + math.log(step), t - np.exp(-t)
    x = (log_sum - np.logaddexp(0.0, v)[:, None]).ravel()
    v, moved, area = np.repeat(v, len(t)), np.repeat(moved, len(t)), (across[:, None] + along).ravel()
    pairs, kept = _Pairs(x, x + v, v, moved, area + 2.0 * x + v), np.zeros(len(x), dtype=bool)
    for a, b in ((pairs.x, pairs.y), (pairs.x - u, pairs.y - w)):
        kept |= (a >= x_low) & (a <= x_high) & (b >= y_low) & (b <= y_high)
    return _Pairs(*(part[kept] for part in pairs))


def _piece(low: float, high: float, apart: float, spread: float, depth: float) -> tuple[Vector, Vector, Vector]:
    """Values v from `low` to `high`, v − apart, and the logarithms of their weights; exact near 0 and near `apart`."""
    length = high - low
    step = min(_STEP, _PEAK * spread / length)
    t = np.arange(-math.asinh(depth / math.pi), math.asinh(depth / math.pi) + step, step)
    z = math.pi * np.sinh(t)
    below, above = length * np.exp(-np.logaddexp(0.0, -z)), length * np.exp(-np.logaddexp(0.0, z))
    weights = np.log(length * math.pi * step * np.cosh(t)) - np.logaddexp(0.0, -z) - np.logaddexp(0.0, z)
    v, moved = (np.where(below < above, low - at + below, high - at - above) for at in (0.0, apart))
    return v, moved, weights


def _steep(value: float) -> float:
    """The t with t − e^(−t) = value, by Newton's steps from where it is convex."""
    t = max(value, -math.log(max(1.0, -value)) if value < 0 else value)
    for _ in range(50):
        t -= (t - math.exp(-t) - value) / (1.0 + math.exp(-t))
    return t
