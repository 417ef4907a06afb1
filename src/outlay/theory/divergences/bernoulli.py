"""Bernoulli arms whose cost and reward are known to be independent."""

import math

from outlay.arms import Bernoulli
from outlay.theory.divergences.log_remainder import log_remainder

_STEEPEST = 1e300  # what stands for an infinite slope
_DEAR = 1e6  # of rp, where costs must nearly vanish


def independent(law: Bernoulli, rate: float, worth: float = 0.0) -> float:
    """D* = min kl(p, t) + kl(q, rt + ν) over t, the chance of a cost: convex, so where the slope is 0, or at an end.

    Searched for d = t − p ≤ 0; with m = rp + ν − q the shortfall, the chance of a reward changes by m + rd.

    >>> independent(Bernoulli(cost=0.5, reward=0.25), 1.0)
    0.067644151137...
    """
    from scipy.optimize import brentq

    p, q = law.cost, law.reward
    shortfall = rate * p + worth - q
    if worth > 1 or (worth == 1 and rate > 0 and p > 0):
        return math.inf
    if rate * p > _DEAR:
        return _dear(p, q, rate, worth)
    low, high = 0.0, 0.0
    if rate > 0:
        low, high = max(-p, -shortfall / rate), min(0.0, (1 - q - shortfall) / rate)

    def slope(d: float) -> float:
        return _slope(p, d) + rate * _slope(q, shortfall + rate * d)

    if low >= high or slope(high) <= 0:
        d = high
    else:
        d = low if slope(low) >= 0 else float(brentq(slope, low, high, xtol=1e-300, rtol=1e-14, maxiter=10_000))
    return binary_kl(p, d) + binary_kl(q, shortfall + rate * d)


def _dear(p: float, q: float, rate: float, worth: float) -> float:
    """The same by the chance s of a reward: that of a cost, t = (s − ν)/r, is so much below p that p + d would lose it.

    p ln(p/t) + (1−p) ln((1−p)/(1−t)) has the slope (t − p)/((s − ν)(1 − t)) in s.
    """
    from scipy.optimize import brentq

    def slope(s: float) -> float:
        t = (s - worth) / rate
        return ((t - p) / ((s - worth) * (1 - t)) if t > 0 else -_STEEPEST) + _slope(q, s - q)

    least = max(q, worth)
    s = float(brentq(slope, least, 1.0, xtol=1e-300, rtol=1e-14, maxiter=10_000)) if q < 1 else 1.0
    t = (s - worth) / rate
    rest = (1 - p) * (math.log1p(-p) - math.log1p(-t)) if p < 1 else 0.0
    return p * (math.log(p) - math.log(t)) + rest + binary_kl(q, s - q)


def _slope(p: float, change: float) -> float:
    """The slope of kl(p, p + d) in d: d/((p + d)(1 − p − d)), which is −1/(1 + d) at p = 1 and 1/(1 − d) at p = 0."""
    one, zero = p + change, (1 - p) - change
    if p == 1:
        return -1 / one if one > 0 else -_STEEPEST
    if p == 0:
        return 1 / zero if zero > 0 else _STEEPEST
    if one <= 0 or zero <= 0:
        return math.copysign(_STEEPEST, change)
    return change / (one * zero)


def binary_kl(p: float, change: float) -> float:
    """kl(p, p + d) = −p L(−d/p) − (1−p) L(d/(1−p)) with L(x) = ln(1 − x) + x, whose terms tend to ±d at p = 0, 1.

    >>> binary_kl(0.5, 0.25), 0.5 * math.log(4 / 3)
    (0.143841036225..., 0.143841036225...)
    """
    one = -p * log_remainder(-change / p) if p > 0 else change
    zero = -(1 - p) * log_remainder(change / (1 - p)) if p < 1 else -change
    return float(one + zero)
