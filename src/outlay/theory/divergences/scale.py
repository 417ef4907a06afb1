"""Positive arms known up to the scales of cost and reward: exponential, gamma, lognormal, Pareto.

Means are then proportional to scales, so "rate ≥ r" asks ln(reward scale) − ln(cost scale) to rise by
ℓ = ln(r/r_k), and a mean cost > 0 asks for nothing.
"""

import math

import numpy as np

from outlay.arms import Exponential, Gamma, Lognormal, Pareto
from outlay.theory.divergences.log_remainder import log_remainder
from outlay.theory.divergences.quadrature import EXPONENTIAL, WEIGHTS

_PRECISION = 1e-9  # of the minimiser; the minimum is then right to the square of that


def relative_gap(cost: float, reward: float, rate: float) -> float:
    """1 − r_k/r, exact for close rates."""
    return (rate * cost - reward) / (rate * cost)


def log_rise(cost: float, reward: float, rate: float) -> float:
    """ln(r/r_k), exact for close rates and for distant ones."""
    gap = relative_gap(cost, reward, rate)
    return -math.log1p(-gap) if gap < 0.5 else math.log(rate) + math.log(cost) - math.log(reward)


def exponentials(law: Exponential, rate: float) -> float:
    """Independent exponentials: D* = ln((1 + s)²/(4s)), s = r_k/r.

    >>> exponentials(Exponential(cost=1.0, reward=0.5), 1.0), math.log(1.5**2 / 2)
    (0.117783035656..., 0.117783035656...)
    """
    return _gammas(1.0, 1.0, relative_gap(law.cost, law.reward, rate))


def known_shapes(law: Gamma, rate: float) -> float:
    """Independent gammas of known shapes a and b: D* = (a+b) ln((a + bs)/(a+b)) − b ln s, s = r_k/r.

    KL from a gamma to one of another scale is a(ln t + 1/t − 1), t the ratio of their means. The better pair has
    t = (a + bs)/(a + b) for the cost and t/s for the reward.

    >>> known_shapes(Gamma(cost=1.0, reward=0.5, cost_sd=0.5, reward_sd=0.25), 1.0), 4 * math.log(1.5**2 / 2)
    (0.471132142625..., 0.471132142625...)
    """
    a, b = (law.cost / law.cost_sd) ** 2, (law.reward / law.reward_sd) ** 2
    return _gammas(a, b, relative_gap(law.cost, law.reward, rate))


def _gammas(a: float, b: float, gap: float) -> float:
    return float((a + b) * log_remainder(b / (a + b) * gap) - b * log_remainder(gap))


def known_log_covariance(law: Lognormal, rate: float) -> float:
    """Jointly normal logarithms of known covariance: D* = ℓ²/(2 Var(ln R − ln X)).

    >>> law = Lognormal(cost=1.0, reward=0.5, cost_sd=1.0, reward_sd=0.5)
    >>> known_log_covariance(law, 1.0), math.log(2) / 4  # both logarithms have variance ln 2
    (0.173286795139..., 0.173286795139...)
    """
    s, t, c = law.cost_sigma, law.reward_sigma, law.log_correlation
    variance = (t - c * s) ** 2 + (1.0 - c) * (1.0 + c) * s * s
    rise = log_rise(law.cost, law.reward, rate)
    return rise * rise / (2 * variance) if variance > 0 else math.inf


def known_tails(law: Pareto, rate: float) -> float:
    """Independent Paretos of known tail indices: the cheapest way to lower one scale and raise the other.

    KL is convex in the logarithm of the scale, so the share of ℓ that the cost takes has one best value.

    >>> known_tails(Pareto(cost=1.0, reward=0.5), 1.0)
    0.07...
    """
    from scipy.optimize import minimize_scalar

    rise = log_rise(law.cost, law.reward, rate)

    def both(share: float) -> float:
        return _pareto(law.cost_tail, -share * rise) + _pareto(law.reward_tail, (1.0 - share) * rise)

    return float(minimize_scalar(both, bounds=(0.0, 1.0), method="bounded", options={"xatol": _PRECISION}).fun)


def _pareto(tail: float, log_scale: float) -> float:
    """KL from a Pareto (Lomax) law to one whose scale is larger by the factor exp(log_scale).

    u − (a+1) E ln((1 + X)/(1 + X e⁻ᵘ)) = −L(g) + (a+1) E L(gY), with L(x) = ln(1 − x) + x, g = 1 − e⁻ᵘ and
    Y = X/(1 + X) = 1 − exp(−T/a), T a standard exponential: the terms of first order in u cancel.
    """
    g = -math.expm1(-log_scale)
    if abs(log_scale) > 5.0:  # the linear terms would cancel; 1 − gY = 1 − Y + Y e⁻ᵘ
        log_y = np.log(-np.expm1(-EXPONENTIAL / tail))
        return log_scale + (tail + 1.0) * float(WEIGHTS @ np.logaddexp(-EXPONENTIAL / tail, log_y - log_scale))
    inner = float(WEIGHTS @ log_remainder(-g * np.expm1(-EXPONENTIAL / tail)))
    return (tail + 1.0) * inner - float(log_remainder(g))
