"""How often UCB-B1 pulls a worse arm where pairs are Gaussian: E[T_k(n)] ≤ C·a·ln n + c for every a = α·L > 2/c_f².

docs/errata.md has the proof. With κ = (λ−1)/λ, f the factor of the score and c_f = f/(1+fκ), the best arm's score falls
below r* − γΔ after t of its pulls only if its mean cost or mean residual is off by c_f√(a ln n) + m√t standard
deviations. That has a chance of (3/2)·exp(−½(…)²) at most, which the m√t lets one sum over t:

    P(after j pulls in all it is below, however often it was pulled) ≤ K/(j^e·ln j),   e = a·c_f²/2 > 1,  K = 3/(2em²)

The worse arm's score is below r* − γΔ after more than C·a·ln n pulls, unless a mean of its own is off by β of the
radius that it had then:

    C = max( Var(X)/(τμ)²,  (H·S/((1−γ)Δμ))² ),   τ = κ/(1+κβ),  H = (1+κβ)(β + f(1+κβ)),  S = √V + |r−ω|√Var(X)

Every β and γ between 0 and 1 give a bound; the least of a grid is taken. As both fall, H → f: at large n a worse arm is
pulled little more often than its own radius asks for.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from outlay.checks import Vector
from outlay.formulas.upper_rate import STABLE

_DEVIATIONS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # β
_SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # γ
_SUMMED = 100_000  # terms of the sum over j; the others are below an integral
_NEVER, _NODES = 745.0, 200  # where e^(−x) is 0; of the rule by which that is integrated


class Moments(NamedTuple):
    """What the proof reads of an arm, in the paper's letters: μ, r, ω, V, Var(X)."""

    mean_cost: float
    rate: float
    slope: float
    residual_variance: float
    var_cost: float

    def spread(self, weight: float) -> float:
        """√V + weight·√Var(X)."""
        return math.sqrt(self.residual_variance) + weight * math.sqrt(self.var_cost)


def least_level(factor: float) -> float:
    """2/c_f², above which α·L must be: where it is less, regret can be a power of B.

    >>> round(least_level(1.4), 3), round(least_level(1.28), 3)
    (1.741, 2.0)
    """
    return 2.0 * ((1.0 + factor * STABLE) / factor) ** 2


def gaussian_pulls(arm: Moments, best: Moments, level: float, factor: float, log_n: float) -> tuple[float, float]:
    """C and c of the bound at ln n = `log_n`, with the β and γ for which it is least there; `level` is a = α·L."""
    exponent = level / least_level(factor)
    found = []
    for share in _SHARES:
        lost = _lost(best, share * (best.rate - arm.rate), factor, exponent)
        for off in _DEVIATIONS:
            enough = _enough(arm, (1.0 - share) * (best.rate - arm.rate), factor, off)
            missed = 0.0
            if enough > 0:
                missed = 2.0 * math.exp(-(off**2) * level * log_n / 2.0) / -math.expm1(-(off**2) / (2.0 * enough))
            found.append((enough * level * log_n + missed + lost, enough, 1.0 + missed + lost))
    return min(found)[1:]


def _enough(arm: Moments, gap: float, factor: float, off: float) -> float:
    """C, with `gap` for (1−γ)Δ and `off` for β."""
    stretch = 1.0 + STABLE * off
    reach = stretch * (off + factor * stretch)
    judged = arm.var_cost * (stretch / (STABLE * arm.mean_cost)) ** 2
    return max(judged, (reach * arm.spread(abs(arm.rate - arm.slope)) / (gap * arm.mean_cost)) ** 2)


def _lost(best: Moments, below: float, factor: float, exponent: float) -> float:
    """How often the best arm's score is below r* − `below`, on average: Σ min(1, K/(j^e·ln j)) over j ≥ 2."""
    rate = best.rate - below
    if rate <= 0:
        return 0.0  # no score is negative
    spread = best.spread(max(abs(best.slope), abs(rate - best.slope)))
    wide = max(spread / below, 2.0 * math.sqrt(best.var_cost)) * (1.0 + factor * STABLE) / best.mean_cost  # 1/m
    most = 1.5 * wide * wide / exponent
    logs = _logs()
    terms = np.minimum(1.0, most * np.exp(-exponent * logs) / logs)
    return float(terms.sum()) + most * _tail(exponent)


@lru_cache(maxsize=1)
def _logs() -> Vector:
    """Of the j that are summed."""
    logs: Vector = np.log(np.arange(2.0, _SUMMED + 1.0))
    return logs


def _tail(exponent: float) -> float:
    """∫ dx/(x^e·ln x) from the last term of the sum on: E₁(z) = ∫ exp(−e^t) dt from ln z on, z = (e−1)·ln of it."""
    low, high = math.log((exponent - 1.0) * math.log(_SUMMED)), math.log(_NEVER)
    nodes, weights = _gauss()
    half = 0.5 * max(0.0, high - low)
    return float(half * (weights @ np.exp(-np.exp(low + half * (1.0 + nodes)))))


@lru_cache(maxsize=1)
def _gauss() -> tuple[Vector, Vector]:
    """Nodes and weights of the rule of Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return nodes, weights
