"""Correlated gamma and exponential arms, known up to the scales of cost and reward.

If their scales rise by u and w, in logarithms, w must be at least w(u) = ln((rXeᵘ + ν)/R), as for independent costs and
rewards: D* is a search over u.

Cherian's pair, two gammas with a common part. In units of the scales X = G₀ + G₁ and R = G₀ + G₂, independent gammas of
shapes c, p and q; the density at (x, y) is

    e^(−x−y)·∫ g^(c−1)·(x−g)^(p−1)·(y−g)^(q−1)·e^g dg / (Γ(c)Γ(p)Γ(q)) over 0 < g < m = min(x, y).

With g = ms the integral is m^(c+p−1)·M^(q−1)·∫ s^(c−1)(1−s)^(p−1)(1−sm/M)^(q−1)e^(ms) ds over (0, 1) where x = m is the
smaller and y = M (Humbert's function Φ₁); p and q are exchanged where y is. If p + q ≤ 1 it is infinite at x = y.

KL = E[ℓ], ℓ = ln f(x, y) − ln f(xe⁻ᵘ, ye⁻ʷ) + u + w. e^(−ℓ) has the mean 1, so KL is also the mean of ℓ + e^(−ℓ) − 1,
whose terms are all ≥ 0. The sum is over v = ln(y/x), with ends at 0 and w − u, where one of the densities may be
infinite, and over ln(x + y). All sums have steps that shrink doubly exponentially towards the ends of their intervals.

Where the correlation is the largest there is, p or q is 0: in units of the scales one of cost and reward is never above
the other. If that is the reward (q = 0),

    KL = pu + cw + (p + c)(e⁻ᵘ − 1) − (p − 1)·E ln(1 + (1 − e^(u−w))·G₀/G₁)  for w ≥ u,  and ∞ for others,

and likewise with p = 0, cost and reward exchanged: then no law of the model has a better rate, and D* = ∞ at ν = 0.

Moran and Downton's pair: exponentials. In units of the means (a, b) has the density
exp(−(a+b)/(1−ρ))·I₀(2√(ρab)/(1−ρ))/(1−ρ), and

    KL = u + w + (e⁻ᵘ + e⁻ʷ − 2)/(1−ρ) + E[ln I₀(κ√(ab)) − ln I₀(κ√(ab)·e^(−(u+w)/2))],   κ = 2√ρ/(1−ρ).
"""

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

import numpy as np

from outlay.arms import Exponential, Gamma
from outlay.checks import Vector
from outlay.errors import NotCovered
from outlay.theory.divergence_gaussian import gamma_kl, rise_of

_SMALLEST = 1e-9  # share of a shape that only rounding tells from 0
_LARGEST = 1e3  # the shape up to which a search takes seconds
_LEAST, _LEAST_SHARE = 0.05, 0.02  # of p + q, both above 0, and in c: KL is right to three digits there
_GRID = 7  # points that the search starts from
_PRECISION = 1e-4  # of the minimiser; the minimum is then right to the square of that
_LOG_STEP = 1.0 / 16.0  # of sums over ln(G₀/G₁)

_NEVER = 1e-17  # a chance that is left out at each end
_TINY = 1e-300
_DEPTH, _DEEPEST = 40.0, 680.0  # e⁻⁴⁰ is nothing, and e⁻⁶⁸⁰ as far as numbers go
_STEP, _INNER = 0.2, 0.14  # of the sums over pairs and over s
_PEAK, _INNER_PEAK = 0.45, 0.3  # the same where the shapes are large, in 1/√shape
_ROWS = 512  # pairs at a time: their terms stay in the cache of a core

_NORMALS = np.arange(-13, 14) * 0.625  # sums over such grids leave D* a relative error below 1e-6
_LOGS = np.arange(-30.0, 4.6, 0.125)
_TABLED, _DEGREE = 3.0, 25  # u + w up to which ψ is tabulated, and the degree: odd, so that 0 is no node
_DOWNTON_GRID = 13  # points that the search starts from
_DOWNTON_PRECISION = 1e-6  # of the minimiser; the minimum is then right to the square of that


def cherian(law: Gamma, rate: float, worth: float = 0.0) -> float:
    """D* with the shapes and the correlation known."""
    c, rests = law.shared_shape, (law.cost_shape, law.reward_shape)
    if c + max(rests) > _LARGEST:
        raise NotCovered(f"its law is a correlated Gamma of shape {c + max(rests):.3g}; the sums are for up to 1000")
    p, q = (rest if rest > _SMALLEST * (c + rest) else 0.0 for rest in rests)
    if min(p, q) > 0 and p + q < max(_LEAST, _LEAST_SHARE * c):
        only = f"only {p + q:.2g} of its shapes is not shared"
        raise NotCovered(f"its law is a Gamma of a correlation so near 1 that {only}")
    shapes = c, p, q
    rise, excess = rise_of(law, rate, worth, 0.0), law.reward - rate * law.cost
    equal = math.log(worth) - math.log(excess) if worth > 0 and excess > 0 else math.inf  # the u with w(u) = u
    if p == 0 and equal == math.inf:
        return math.inf
    if p == q == 0:
        return gamma_kl(c, equal)
    low, high = (equal, equal + rise) if p == 0 else (-2.0 * rise, min(rise, equal) if q == 0 else rise)
    fixed = p == 0, q == 0 and high == equal
    return _least(lambda u: scaled_kl(shapes, u, rise_of(law, rate, worth, u)), low, high, fixed)


def scaled_kl(shapes: tuple[float, float, float], u: float, w: float) -> float:
    """KL from the law of these shapes (c, p, q) to the one whose scales are larger by exp(u) and exp(w)."""
    c, p, q = shapes
    if min(p, q) == 0:
        if p == 0:
            u, w, p = w, u, q
        return math.inf if w < u else p * u + c * w + (p + c) * math.expm1(-u) - (p - 1.0) * _mean_log(c, p, w - u)
    x, y, v, moved, area = _pairs(shapes, u, w)
    here = log_density(shapes, x, y, v) + area
    there = log_density(shapes, x - u, y - w, moved) - u - w + area
    ratio = here - there
    small = np.abs(ratio) < 1e-2
    close = np.where(small, ratio, 0.0)
    remainder = close * close / 2.0 * (1.0 - close / 3.0 * (1.0 - close / 4.0 * (1.0 - close / 5.0)))
    weights = np.exp(here)
    return float(np.where(small, weights * remainder, weights * (ratio - 1.0) + np.exp(there)).sum())


def _mean_log(c: float, p: float, apart: float) -> float:
    """E ln(1 + (1 − e^(−apart))·G₀/G₁), G₀ and G₁ independent gammas of shapes c and p: a sum over z = ln(G₀/G₁)."""
    if apart == 0:
        return 0.0
    wide = math.hypot(math.pi, math.log(c / p))
    step = min(_LOG_STEP, math.sqrt(1.0 / c + 1.0 / p) / (4.0 * wide))
    left, right = (math.asinh((_DEPTH / min(1.0, shape) + wide) / math.pi) for shape in (c, p))
    t = np.arange(-left, right + step, step)
    z = math.pi * np.sinh(t)
    log_weights = c * z - (c + p) * np.logaddexp(0.0, z) + np.log(np.cosh(t))
    weights = np.exp(log_weights - log_weights.max())
    return float(weights @ np.logaddexp(0.0, z + math.log(-math.expm1(-apart))) / weights.sum())


def _least(kl: Callable[[float], float], low: float, high: float, fixed: tuple[bool, bool]) -> float:
    """The least KL from `low` to `high`, or beyond where an end is not fixed and it still falls there."""
    from scipy.optimize import minimize_scalar

    starts = np.linspace(low, high, _GRID).tolist()
    found = [kl(u) for u in starts]
    step = starts[1] - starts[0]
    while found[0] == min(found) and not fixed[0] and found[0] > 0:
        starts, found = [starts[0] - step, *starts], [kl(starts[0] - step), *found]
    while found[-1] == min(found) and not fixed[1] and found[-1] > 0:
        starts, found = [*starts, starts[-1] + step], [*found, kl(starts[-1] + step)]
    at = int(np.argmin(found))
    ends = starts[max(0, at - 1)], starts[min(len(starts) - 1, at + 1)]
    best = minimize_scalar(kl, bounds=ends, method="bounded", options={"xatol": _PRECISION * step})
    return max(0.0, min(float(best.fun), *found))


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
    m_shape = c + min(p, q)
    if c >= 1.0:  # the sum must be finer where it is far from 0 in z that terms are largest: at s of about c/m_shape
        wide = 1.3 * math.hypot(1.0, math.log(m_shape / c) / math.pi)  # dz = π·cosh(t)·dt, at π·sinh(t) = ln(m/c)
    else:
        wide = max(1.0, max(1.0, math.log1p(m_shape)) * math.hypot(1.0, math.log(c) / math.pi) / 1.5)
    power, step = min(1.0, c), min(_INNER, _INNER_PEAK / math.sqrt(1.0 + c)) / wide
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


def _pairs(shapes: tuple[float, float, float], u: float, w: float) -> tuple[Vector, ...]:
    """Ln x, ln y, v, v − (w − u) and ln of their shares of pairs that cover both laws but for 1e-17 at each end."""
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
    y, kept = x + v, np.zeros(len(x), dtype=bool)
    for a, b in ((x, y), (x - u, y - w)):
        kept |= (a >= x_low) & (a <= x_high) & (b >= y_low) & (b <= y_high)
    return tuple(part[kept] for part in (x, y, v, moved, area + 2.0 * x + v))


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


def downton(law: Exponential, rate: float, worth: float = 0.0) -> float:
    """D* with the correlation known; ∞ at correlation 1, where cost and reward are always in proportion."""
    from scipy.optimize import minimize_scalar

    if law.correlation == 1:
        return math.inf

    def both(u: float) -> float:
        return downton_kl(law.correlation, u, rise_of(law, rate, worth, u))

    rise = rise_of(law, rate, worth, 0.0)
    starts = np.linspace(-2.0 * rise, rise, _DOWNTON_GRID)
    at = int(np.argmin([both(u) for u in starts]))
    low, high = starts[max(0, at - 1)], starts[min(_DOWNTON_GRID - 1, at + 1)]
    close = _DOWNTON_PRECISION * rise
    return max(0.0, float(minimize_scalar(both, bounds=(low, high), method="bounded", options={"xatol": close}).fun))


def downton_kl(correlation: float, u: float, w: float) -> float:
    """KL of the module's formula, as (h(u) + h(w))/(1−ρ) + ψ(u + w), h that of one exponential."""
    t = u + w
    if abs(t) > _TABLED:
        return summed_downton_kl(correlation, u, w)
    from numpy.polynomial.chebyshev import chebval

    shared = t * t * float(chebval(t / _TABLED, _shared_series(correlation)))
    return (gamma_kl(1.0, u) + gamma_kl(1.0, w)) / (1.0 - correlation) + shared


def summed_downton_kl(correlation: float, u: float, w: float) -> float:
    """The same as a sum over pairs; its terms cancel where the changes are small."""
    a, b, z, at_z, weights = _exponential_pairs(correlation)
    rest, apart = 1.0 - correlation, at_z - _log_bessel(z * math.exp(-(u + w) / 2))
    ratio = u + w + (a * math.expm1(-u) + b * math.expm1(-w)) / rest + apart
    return float(weights @ ratio)


@lru_cache(maxsize=32)
def _shared_series(correlation: float) -> Vector:
    """ψ(t)/t² as a Chebyshev series over |t| ≤ `_TABLED`."""
    from numpy.polynomial.chebyshev import chebfit, chebpts1

    nodes = chebpts1(_DEGREE + 1)
    found = []
    for t in (_TABLED * nodes).tolist():
        both = 2.0 * gamma_kl(1.0, t / 2.0) / (1.0 - correlation)
        found.append((summed_downton_kl(correlation, t / 2.0, t / 2.0) - both) / (t * t))
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
def _exponential_pairs(correlation: float) -> tuple[Vector, Vector, Vector, Vector, Vector]:
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
