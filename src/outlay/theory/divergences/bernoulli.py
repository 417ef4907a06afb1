"""Bernoulli arms whose cost and reward are known to be independent."""

import math

from outlay.arms import Bernoulli
from outlay.theory.divergences.log_remainder import log_remainder


def independent(law: Bernoulli, rate: float) -> float:
    """D* = min kl(p, t) + kl(q, rt) over t: the root of 2rt² − (1 + r + q + pr)t + p + q = 0.

    Solved for d = t − p < 0, with m = rp − q the shortfall: 2rd² − (1 + r − 2rp − m)d − (1−p)m = 0.

    >>> independent(Bernoulli(cost=0.5, reward=0.25), 1.0)
    0.067644151137...
    """
    p, q = law.cost, law.reward
    shortfall = rate * p - q
    b, c = 1 + rate - 2 * rate * p - shortfall, (1 - p) * shortfall
    root = math.sqrt(b * b + 8 * rate * c)
    d = -2 * c / (b + root) if b > 0 else (b - root) / (4 * rate)
    return _kl(p, d) + _kl(q, shortfall + rate * d)


def _kl(p: float, change: float) -> float:
    """kl(p, p + d) = −p L(−d/p) − (1−p) L(d/(1−p)) with L(x) = ln(1 − x) + x, whose terms tend to ±d at p = 0, 1."""
    one = -p * log_remainder(-change / p) if p > 0 else change
    zero = -(1 - p) * log_remainder(change / (1 - p)) if p < 1 else -change
    return float(one + zero)
