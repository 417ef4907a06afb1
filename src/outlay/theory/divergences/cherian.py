"""Correlated gamma arms, known up to the scales of cost and reward: Cherian's pair, two gammas with a common part.

In units of the scales X = G₀ + G₁ and R = G₀ + G₂, independent gammas of shapes c, p and q. If the scales of cost and
reward rise by u and w, in logarithms, KL is a sum over pairs (`common_part`), and w must be at least
w(u) = ln((rXeᵘ + ν)/R), as for independent costs and rewards: D* is a search over u.

Where the correlation is the largest there is, p or q is 0: in units of the scales one of cost and reward is never above
the other. If that is the reward (q = 0),

    KL = pu + cw + (p + c)(e⁻ᵘ − 1) − (p − 1)·E ln(1 + (1 − e^(u−w))·G₀/G₁)  for w ≥ u,  and ∞ for others,

and likewise with p = 0, cost and reward exchanged: then no law of the model has a better rate, and D* = ∞ at ν = 0.
"""

import math
from collections.abc import Callable

import numpy as np

from outlay.arms import Gamma
from outlay.errors import NotCovered
from outlay.theory.divergences.common_part import summed_kl
from outlay.theory.divergences.scale import gamma_kl, rise_of

_SMALLEST = 1e-9  # share of a shape that only rounding tells from 0
_LARGEST = 1e3  # the shape up to which a search takes seconds
_LEAST, _LEAST_SHARE = 0.05, 0.02  # of p + q, both above 0, and in c: KL is right to three digits there
_GRID = 7  # points that the search starts from
_PRECISION = 1e-4  # of the minimiser; the minimum is then right to the square of that
_STEP = 1.0 / 16.0  # of sums over ln(G₀/G₁)
_DEPTH = 40.0  # e⁻⁴⁰ is nothing


def cherian(law: Gamma, rate: float, worth: float = 0.0) -> float:
    """D* with the shapes and the correlation known.

    >>> from outlay.theory.divergences.scale import known_shapes
    >>> tied, free = (Gamma(cost=1.0, reward=0.5, cost_sd=0.5, reward_sd=0.25, correlation=c) for c in (1e-9, 0.0))
    >>> round(cherian(tied, 1.0), 6), round(known_shapes(free, 1.0), 6)
    (0.471132, 0.471132)
    """
    shapes = _shapes(law)
    rise, excess = rise_of(law, rate, worth, 0.0), law.reward - rate * law.cost
    equal = math.log(worth) - math.log(excess) if worth > 0 and excess > 0 else math.inf  # the u with w(u) = u
    _, p, q = shapes
    if p == 0 and equal == math.inf:
        return math.inf
    if p == q == 0:
        return gamma_kl(shapes[0], equal)
    low, high = (equal, equal + rise) if p == 0 else (-2.0 * rise, min(rise, equal) if q == 0 else rise)
    fixed = p == 0, q == 0 and high == equal
    return _least(lambda u: scaled_kl(shapes, u, rise_of(law, rate, worth, u)), low, high, fixed)


def scaled_kl(shapes: tuple[float, float, float], u: float, w: float) -> float:
    """KL from the law of these shapes (c, p, q) to the one whose scales are larger by exp(u) and exp(w)."""
    c, p, q = shapes
    if min(p, q) > 0:
        return summed_kl(shapes, u, w)
    if p == 0:
        u, w, p = w, u, q
    return math.inf if w < u else p * u + c * w + (p + c) * math.expm1(-u) - (p - 1.0) * _mean_log(c, p, w - u)


def _shapes(law: Gamma) -> tuple[float, float, float]:
    """(c, p, q), of which p and q are 0 where they are no more than rounding."""
    c, rests = law.shared_shape, (law.cost_shape, law.reward_shape)
    if c + max(rests) > _LARGEST:
        raise NotCovered(f"its law is a correlated Gamma of shape {c + max(rests):.3g}; the sums are for up to 1000")
    p, q = (rest if rest > _SMALLEST * (c + rest) else 0.0 for rest in rests)
    if min(p, q) > 0 and p + q < max(_LEAST, _LEAST_SHARE * c):
        raise NotCovered(
            f"its law is a Gamma of a correlation so near 1 that only {p + q:.2g} of its shapes is not shared"
        )
    return c, p, q


def _mean_log(c: float, p: float, apart: float) -> float:
    """E ln(1 + (1 − e^(−apart))·G₀/G₁), G₀ and G₁ independent gammas of shapes c and p: a sum over z = ln(G₀/G₁)."""
    if apart == 0:
        return 0.0
    wide = math.hypot(math.pi, math.log(c / p))
    step = min(_STEP, math.sqrt(1.0 / c + 1.0 / p) / (4.0 * wide))
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
