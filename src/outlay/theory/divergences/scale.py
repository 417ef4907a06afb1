"""Positive arms known up to the scales of cost and reward: exponential, gamma, lognormal, Pareto.

Means are proportional to scales, and divergences convex in their logarithms. If the cost's rises by u, E[R] ≥ rE[X] + ν
asks the reward's to rise by w(u) = ln((rXeᵘ + ν)/R), which is convex, too: D* is a search over one number. A mean cost
> 0 asks for nothing. Where a request is worth nothing (ν = 0), w(u) − u is the constant ln(r/r_k).
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from outlay.arms import Exponential, Gamma, Lognormal, Pareto
from outlay.theory.divergences.bernoulli import binary_kl
from outlay.theory.divergences.log_remainder import log_remainder
from outlay.theory.divergences.quadrature import EXPONENTIAL, WEIGHTS

_PRECISION = 1e-9  # of the minimiser; the minimum is then right to the square of that
_SINGULAR = 1e-28  # relative size of a variance that only rounding tells from 0
_LARGEST = 700.0  # of exp


def exponentials(law: Exponential, rate: float, worth: float = 0.0) -> float:
    """Independent exponentials; where ν = 0, D* = ln((1 + s)²/(4s)), s = r_k/r.

    >>> exponentials(Exponential(cost=1.0, reward=0.5), 1.0), math.log(1.5**2 / 2)
    (0.117783035656..., 0.117783035656...)
    """
    return _nearest(law, rate, worth, partial(gamma_kl, 1.0), partial(gamma_kl, 1.0))


def known_shapes(law: Gamma, rate: float, worth: float = 0.0) -> float:
    """Independent gammas of known shapes a and b; where ν = 0, D* = (a+b) ln((a + bs)/(a+b)) − b ln s, s = r_k/r.

    >>> known_shapes(Gamma(cost=1.0, reward=0.5, cost_sd=0.5, reward_sd=0.25), 1.0), 4 * math.log(1.5**2 / 2)
    (0.471132142625..., 0.471132142625...)
    """
    a, b = (law.cost / law.cost_sd) ** 2, (law.reward / law.reward_sd) ** 2
    return _nearest(law, rate, worth, partial(gamma_kl, a), partial(gamma_kl, b))


def known_tails(law: Pareto, rate: float, worth: float = 0.0) -> float:
    """Independent Paretos of known tail indices.

    >>> known_tails(Pareto(cost=1.0, reward=0.5), 1.0)
    0.07...
    """
    return _nearest(law, rate, worth, partial(_pareto, law.cost_tail), partial(_pareto, law.reward_tail))


def known_log_covariance(law: Lognormal, rate: float, worth: float = 0.0) -> float:
    """Jointly normal logarithms of known covariance; where ν = 0, D* = ln²(r/r_k)/(2 Var(ln R − ln X)).

    The pairs (u, w) of better laws are a convex set, so its distance is that of the farthest half-plane that holds it.
    At the slope p of w, the share of rX in rX + ν, that is w − pu ≥ w(0) − kl(p, p₀), p₀ = rX/(rX + ν), hence
    D* = max_p (w(0) − kl(p, p₀))²/(2 Var(ln R − p ln X)): a concave over a convex function, which has one peak.

    >>> law = Lognormal(cost=1.0, reward=0.5, cost_sd=1.0, reward_sd=0.5)
    >>> known_log_covariance(law, 1.0), math.log(2) / 4  # both logarithms have variance ln 2
    (0.173286795139..., 0.173286795139...)
    """
    from scipy.optimize import brentq, minimize_scalar

    s, t, c = law.cost_sigma, law.reward_sigma, law.log_correlation
    rise, share = rise_of(law, rate, worth, 0.0), rate * law.cost / (rate * law.cost + worth)

    def offset(p: float) -> float:
        return rise - binary_kl(p, share - p)

    def distance(p: float) -> float:
        variance = (t - p * c * s) ** 2 + (1.0 - c) * (1.0 + c) * (p * s) ** 2
        return offset(p) ** 2 / (2 * variance) if variance > _SINGULAR * (t * t + s * s) else math.inf

    if share in (0.0, 1.0):
        return distance(share)
    low, high = (end if offset(end) >= 0 else float(brentq(offset, share, end)) for end in (0.0, 1.0))
    flattest = min(max(c * t / s, low), high) if s > 0 else low
    if distance(flattest) == math.inf and offset(flattest) > 0:
        return math.inf
    width = _PRECISION * (high - low)
    return -float(minimize_scalar(lambda p: -distance(p), bounds=(low, high), options={"xatol": width}).fun)


def rise_of(law: Exponential | Gamma | Lognormal | Pareto, rate: float, worth: float, u: float) -> float:
    """w(u), exact where it is small and where it is large."""
    shortfall = rate * law.cost + worth - law.reward
    if shortfall > law.reward:
        return math.log(rate * law.cost * math.exp(u) + worth) - math.log(law.reward)
    return math.log1p((shortfall + rate * law.cost * math.expm1(u)) / law.reward)


def _nearest(
    law: Exponential | Gamma | Pareto,
    rate: float,
    worth: float,
    cost_kl: Callable[[float], float],
    reward_kl: Callable[[float], float],
) -> float:
    """The least of cost_kl(u) + reward_kl(w(u)) over u ≤ 0, which is convex in u; a reward need not fall."""
    from scipy.optimize import minimize_scalar

    rise, dues = rise_of(law, rate, worth, 0.0), rate * law.cost
    shortfall = dues + worth - law.reward
    most = 1.0 if worth == 0 else math.inf  # the −u/rise at which the reward need not rise at all
    if worth > 0 and shortfall < dues:
        most = -math.log1p(-shortfall / dues) / rise

    def both(share: float) -> float:
        u = -share * rise
        return cost_kl(u) + reward_kl(max(0.0, rise_of(law, rate, worth, u)))

    if rate == 0:
        return both(0.0)
    end = min(1.0, most)
    while both(end) > both(0.0):
        end /= 2.0
    while both(2.0 * end) < both(end):
        end *= 2.0
    last = min(2.0 * end, most)  # convex: the least is not beyond
    close = _PRECISION * last
    return float(minimize_scalar(both, bounds=(0.0, last), method="bounded", options={"xatol": close}).fun)


def gamma_kl(shape: float, log_scale: float) -> float:
    """KL from a gamma law to one whose scale is larger by the factor exp(log_scale): a(u + e⁻ᵘ − 1)."""
    if log_scale < -_LARGEST:
        return math.inf
    if abs(log_scale) > 1.0:
        return shape * (log_scale + math.expm1(-log_scale))
    return -shape * float(log_remainder(-math.expm1(-log_scale)))


def _pareto(tail: float, log_scale: float) -> float:
    """KL from a Pareto (Lomax) law to one whose scale is larger by the factor exp(log_scale).

    u − (a+1) E ln((1 + X)/(1 + X e⁻ᵘ)) = −L(g) + (a+1) E L(gY), with L(x) = ln(1 − x) + x, g = 1 − e⁻ᵘ and
    Y = X/(1 + X) = 1 − exp(−T/a), T a standard exponential: the terms of first order in u cancel.
    """
    if abs(log_scale) > 5.0:  # the linear terms would cancel; 1 − gY = 1 − Y + Y e⁻ᵘ
        log_y = np.log(-np.expm1(-EXPONENTIAL / tail))
        return log_scale + (tail + 1.0) * float(WEIGHTS @ np.logaddexp(-EXPONENTIAL / tail, log_y - log_scale))
    g = -math.expm1(-log_scale)
    inner = float(WEIGHTS @ log_remainder(-g * np.expm1(-EXPONENTIAL / tail)))
    return (tail + 1.0) * inner - float(log_remainder(g))
