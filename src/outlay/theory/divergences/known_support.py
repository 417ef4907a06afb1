"""Laws of which only the support is known: KL_inf of Z = R − rX − ν by its dual, one number to maximise over.

    D* = max over 0 ≤ λ ≤ 1/z of E ln(1 − λZ),   z the largest Z on the support   (Honda and Takemura 2010)

is the least KL(P ‖ Q) over laws Q on the support with E_Q[Z] ≥ 0. Where a request is worth nothing (ν = 0) and costs
can be negative, a mean cost > 0 is a second constraint. Its multiplier κ turns 1 − λZ into 1 − λ(R − (r − κ/λ)X), the
same with a lower rate: D* is then the largest value of the dual over the rates up to r.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.arms import AnyLaw
from outlay.checks import Vector, real, vector
from outlay.errors import BadParameter, NotCovered
from outlay.extras import needed
from outlay.theory.divergences.log_remainder import log_remainder

_TINY = 1e-300
_FAR = 1e6  # of −Z/z, beyond which terms of first order would hide the others
_PRECISION = 1e-6  # of the peak's place; its height is then right to the square of that


class Points(NamedTuple):
    """Outcomes with their probabilities: a law as it is, or a fine grid that stands for it."""

    costs: Vector
    rewards: Vector
    probabilities: Vector


class Edge(NamedTuple):
    """Pairs whose convex hull is that of the support: Z, linear in the pair, is largest at one of them."""

    costs: Vector
    rewards: Vector


@needed("theory.kl_inf")
def kl_inf(points: Points, shortfall: float, rate: float, edge: Edge, worth: float = 0.0) -> float:
    """KL_inf of a law P given by its outcomes: the least KL(P ‖ Q) over Q on a support with E[R] ≥ rate·E[X] + worth.

    It is the largest E ln(1 − λZ) over λ, for Z = R − rX − ν of mean −shortfall < 0; ∞ where the support has no Z > 0.
    `divergence` judges a law of outlay with it; this is for samples and for supports of your own.

    Args:
        points: P, its costs, rewards and probabilities.
        shortfall: −E[Z] = rate·E[X] + worth − E[R], above 0: given, since from nearly equal means it would be inexact.
        rate: r.
        edge: pairs whose convex hull is that of the support, such as the corners of a box.
        worth: ν.

    >>> coin = Points(np.array([1.0, 1.0]), np.array([0.0, 1.0]), np.array([0.75, 0.25]))
    >>> kl_inf(coin, shortfall=0.25, rate=0.5, edge=Edge(*coin[:2]))  # kl(¼, ½) = ¾ ln 3 − ln 2
    0.130812035941...
    """
    points = Points(*(vector("kl_inf", name, part) for name, part in zip(Points._fields, points, strict=True)))
    edge = Edge(*(vector("kl_inf", f"{name} of the edge", part) for name, part in zip(Edge._fields, edge, strict=True)))
    if len({len(part) for part in points}) > 1 or len({len(part) for part in edge}) > 1:
        raise BadParameter(
            "kl_inf", "points and edge", "as many rewards, and probabilities, as costs", len(points.costs)
        )
    if points.probabilities.min() < 0 or abs(math.fsum(points.probabilities) - 1.0) > 1e-6:
        raise BadParameter("kl_inf", "probabilities", "≥ 0, with a sum of 1", points.probabilities)
    shortfall = real("kl_inf", "shortfall", shortfall, above=0)
    rate, worth = real("kl_inf", "rate", rate), real("kl_inf", "worth", worth)
    return largest_dual(points, shortfall, rate, edge, worth)


def largest_dual(points: Points, shortfall: float, rate: float, edge: Edge, worth: float) -> float:
    """`kl_inf`, unchecked. With z the largest Z, w = Z/z and θ = λz, the peak has E[w/(1 − θw)] = 0, or else θ = 1."""
    from scipy.optimize import brentq

    with np.errstate(over="ignore"):
        largest = float((edge.rewards - rate * edge.costs - worth).max())
        if largest <= 0:
            return math.inf
        w = np.minimum((points.rewards - rate * points.costs - worth) / largest, 1.0)
    p, mean = points.probabilities, shortfall / largest
    if w.min() == -math.inf:
        raise NotCovered("its outcomes are too far apart for floating-point numbers")
    far = w.min() < -_FAR  # E[w] is −mean, exactly where means are nearly equal; but it would hide what is near

    def slope(theta: float) -> float:
        rest = np.maximum(1.0 - theta * w, _TINY)
        found = float((p * (w / rest)).sum()) if far else theta * float((p * (w * w / rest)).sum()) - mean
        return min(found, 1.0 / _TINY)

    with np.errstate(over="ignore"):
        theta = 1.0 if slope(1.0) <= 0 else float(brentq(slope, 0.0, 1.0, xtol=_TINY, rtol=1e-14, maxiter=10_000))
    x = np.minimum(theta * w, 1.0 - 1e-16)
    if x.min() < -_FAR:  # the linear terms would cancel
        return float((p * np.log1p(-x)).sum())
    return theta * mean + float((p * log_remainder(x)).sum())


def nearest(law: AnyLaw, points: Points, edge: Edge, rate: float, worth: float) -> float:
    """D* of a law given by points: the dual at `rate` or, where the mean cost must stay positive, its peak below.

    The dual is concave in both multipliers, so over the rates it rises to one peak.
    """
    from scipy.optimize import minimize_scalar

    mean_cost, mean_reward, *_ = law.moments()

    def dual(at: float) -> float:
        return largest_dual(points, at * mean_cost + worth - mean_reward, at, edge, worth)

    if worth > 0 or mean_cost <= 0 or edge.costs.min() >= 0:
        return dual(rate)
    if _capped(edge, rate):
        return math.inf
    own = mean_reward / mean_cost
    here, precision = dual(rate), _PRECISION * (rate - own)
    if here >= dual(rate - precision):
        return here
    peak = minimize_scalar(lambda at: -dual(at), bounds=(own, rate), method="bounded", options={"xatol": precision})
    return -float(peak.fun)


def _capped(edge: Edge, rate: float) -> bool:
    """Whether a rate up to `rate` leaves no Z > 0 on the edge, so that no law on it with a mean cost > 0 exceeds it."""
    x, r = edge
    if (r[x == 0] > 0).any():
        return False
    least = float((r[x > 0] / x[x > 0]).max())
    return least <= min(rate, float((r[x < 0] / x[x < 0]).min()))
