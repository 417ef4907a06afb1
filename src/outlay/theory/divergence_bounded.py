"""Laws of which only the support or the outcomes are known: KL_inf of Z = R − rX − ν by its dual.

    D* = max over 0 ≤ λ ≤ 1/z of E ln(1 − λZ),   z the largest Z on the support   (Honda and Takemura 2010)

is the least KL(P ‖ Q) over laws Q on the support with E_Q[Z] ≥ 0. Where a request is worth nothing (ν = 0) and costs
can be negative, a mean cost > 0 is a second constraint. Its multiplier κ turns 1 − λZ into 1 − λ(R − (r − κ/λ)X), the
same with a lower rate: D* is then the largest value of the dual over the rates up to r. Bernoulli arms whose cost and
reward are known to be independent have a formula of their own.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from outlay.arms import AnyLaw, Bernoulli, Beta, Constant, Discrete, Empirical, Uniform
from outlay.arms.bounded import beta_quantile
from outlay.checks import Vector, real, vector
from outlay.errors import BadParameter, NotCovered, needed

_TINY = 1e-300
_FAR = 1e6  # of −Z/z, beyond which terms of first order would hide the others
_PRECISION = 1e-6  # of the peak's place; its height is then right to the square of that

_REACH = 8.5  # standard normals beyond this have probability 2e-17
_DENSITY, _MOST = 5.0, 40.0  # grid points per unit of a standard normal
_FINER = 8.0  # the knots between which Beta quantiles are interpolated lie this much closer

_STEEPEST = 1e300  # what stands for an infinite slope
_DEAR = 1e6  # of rp, where costs must nearly vanish

_CLOSE = 0.02  # nearer to 0 the series is exact, and the difference is not
_POWERS = range(10, 1, -1)

Tabled = Bernoulli | Constant | Discrete | Empirical


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
        allowed = "as many rewards, and probabilities, as costs"
        raise BadParameter("kl_inf", "points and edge", allowed, len(points.costs))
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
    x, r = edge
    if not (r[x == 0] > 0).any():
        least = float((r[x > 0] / x[x > 0]).max())
        if least <= min(rate, float((r[x < 0] / x[x < 0]).min())):
            return math.inf  # a rate up to `rate` leaves no Z > 0 on the edge
    own = mean_reward / mean_cost
    here, precision = dual(rate), _PRECISION * (rate - own)
    if here >= dual(rate - precision):
        return here
    peak = minimize_scalar(lambda at: -dual(at), bounds=(own, rate), method="bounded", options={"xatol": precision})
    return -float(peak.fun)


def on_its_outcomes(law: Tabled, rate: float, worth: float = 0.0) -> float:
    """D* among the laws on the outcomes of the table, those of probability 0 included."""
    points = outcomes(law)
    return nearest(law, points, Edge(points.costs, points.rewards), rate, worth)


def on_its_box(law: Tabled | Beta | Uniform, rate: float, worth: float = 0.0) -> float:
    """D* among all laws on the smallest box that holds every pair."""
    x_low, x_high, r_low, r_high = law.support()
    box = Edge(np.array([x_low, x_low, x_high, x_high]), np.array([r_low, r_high, r_low, r_high]))
    return nearest(law, outcomes(law), box, rate, worth)


def outcomes(law: AnyLaw) -> Points:
    """The outcomes of a law with their probabilities, or a fine grid that stands for them; `NotCovered` for others."""
    match law:
        case Beta() | Uniform():
            return _grid(law)
        case Bernoulli(p, q, both=both):
            chances = np.array([max(0.0, 1 - p - q + both), q - both, p - both, both])
            return Points(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]), chances)
        case Discrete():
            return Points(law.costs, law.rewards, law.probabilities / math.fsum(law.probabilities))
        case Empirical():
            return Points(law.costs, law.rewards, np.full(len(law.costs), 1.0 / len(law.costs)))
        case Constant():
            return Points(np.array([law.cost]), np.array([law.reward]), np.ones(1))
    raise NotCovered(f"no table or grid of {type(law).__name__} is known here: theory/divergence_bounded.py has them")


def _grid(law: Beta | Uniform) -> Points:
    """The pairs that a grid of two standard normals gives: trapezoids, which leave D* a relative error below 1e-9.

    Steps get shorter for the U-shaped Betas, whose quantile function is nearly a step (1e-4 for the most extreme ones).
    """
    from scipy.interpolate import CubicSpline
    from scipy.special import ndtr

    density = _DENSITY
    if isinstance(law, Beta):
        cost, reward = (law.cost, law.cost_sd, law.cost_bound), (law.reward, law.reward_sd, law.reward_bound)
        least = min(min(m, b - m) / b * (m * (b - m) / (s * s) - 1.0) for m, s, b in (cost, reward))  # of the shapes
        density = min(_MOST, max(density, 1.0 / least))
    axis = np.arange(-_REACH, _REACH, 1.0 / density)
    z, v = np.meshgrid(axis, axis)
    inside = z * z + v * v < _REACH * _REACH
    z, v = z[inside], v[inside]
    weights = np.exp(-0.5 * (z * z + v * v))
    c = law.copula if isinstance(law, Beta) else 2.0 * math.sin(law.correlation * math.pi / 6.0)
    w = c * z + math.sqrt((1.0 - c) * (1.0 + c)) * v
    if isinstance(law, Uniform):
        costs = law.cost_low + (law.cost_high - law.cost_low) * np.asarray(ndtr(z))
        rewards = law.reward_low + (law.reward_high - law.reward_low) * np.asarray(ndtr(w))
    else:
        knots = np.arange(-_REACH, _REACH, 1.0 / (_FINER * density))
        tables = law.cost_table, law.reward_table
        read = [CubicSpline(knots, [beta_quantile(table, at) for at in knots]) for table in tables]
        costs = law.cost_bound * np.clip(read[0](z), 0.0, 1.0)
        rewards = law.reward_bound * np.clip(read[1](w), 0.0, 1.0)
    return Points(costs, rewards, weights / weights.sum())


def independent(law: Bernoulli, rate: float, worth: float = 0.0) -> float:
    """D* = min kl(p, t) + kl(q, rt + ν) over t, the chance of a cost: convex, so where the slope is 0, or at an end.

    Searched for d = t − p ≤ 0; with m = rp + ν − q the shortfall, the chance of a reward changes by m + rd.
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
    """kl(p, p + d) = −p L(−d/p) − (1−p) L(d/(1−p)) with L(x) = ln(1 − x) + x, whose terms tend to ±d at p = 0, 1."""
    one = -p * log_remainder(-change / p) if p > 0 else change
    zero = -(1 - p) * log_remainder(change / (1 - p)) if p < 1 else -change
    return float(one + zero)


def log_remainder(x: ArrayLike) -> Vector:
    """ln(1 − x) + x = −x²/2 − x³/3 − …, without cancellation for small x; −∞ at 1.

    Divergences are sums of it, which stay exact however close the two laws are.
    """
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        series = np.zeros_like(x)
        for power in _POWERS:
            series = x * (1.0 / power + series)
        remainder: Vector = np.where(np.abs(x) < _CLOSE, -x * series, np.log1p(-x) + x)
    return remainder
