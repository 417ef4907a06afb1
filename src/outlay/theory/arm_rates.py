"""Rates, gaps and slopes of a problem, and how far estimates of them can be off (Sections 2 to 4, Appendices D, F, G).

A ratio of two estimates (Proposition 2): if |θ̂1 − θ1| ≤ η and |θ̂2 − θ2| ≤ ε with η < θ1(λ−1)/λ, the rate r = θ2/θ1 is
estimated by θ̂2/θ̂1 within λ(ε + |r|η)/θ1. Proof: θ̂2/θ̂1 − r = ((θ̂2 − θ2) − r(θ̂1 − θ1))/θ̂1 and θ̂1 ≥ θ1 − η > θ1/λ.

A rate, a slope, a variance from samples (Propositions 5 and 6, Appendix F): each function gives a radius that is
exceeded with at most the stated chance, or raises `NotCovered` when there are too few samples for it to hold. Two
conditions differ from the printed ones, which fail (docs/errata.md shows how):
Proposition 5 needs Var(X)/E[X]², not Var(X); Proposition 6 needs M_Z ≥ M_R + |ω|M_X, not M_R + ωM_X.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from outlay.arms import AnyLaw, Bernoulli, Discrete, Empirical, Linear, Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector, real, whole
from outlay.errors import BadParameter, NotCovered

STRETCH = 1.28  # the paper's λ: the estimate is stable while η < 0.21875·θ1

SLOPE_STRETCH = 1.0 + 0.5 / math.sqrt(2.0)  # λ of Proposition 6
_ROUNDING = 1e-9  # relative


class Rates(NamedTuple):
    """First and second moments of every arm, as the theorems combine them; one entry per arm unless said otherwise."""

    rate: Vector  # r_k = E[R_k]/E[X_k]
    gap: Vector  # Δ_k = r* − r_k
    mean_cost: Vector  # μ_k = E[X_k]
    slope: Vector  # ω_k
    residual_variance: Vector  # V_k
    sigma2: Vector  # σ_k²
    best: int  # k*, the first arm with rate r*
    best_rate: float  # r*
    min_mean_cost: float  # μ_* = min_k μ_k


class RateBox(NamedTuple):
    """The box A(η, ε) of estimates around (θ1, θ2) and the rates in it: the paper's Figure 1 as numbers."""

    cost: float  # θ1
    reward: float  # θ2
    cost_radius: float  # η
    reward_radius: float  # ε
    rate: float  # r = θ2/θ1
    low: tuple[float, float]  # the corner of the smallest rate
    high: tuple[float, float]  # the corner of the largest rate
    worst: tuple[float, float]  # the corner farthest from r: (θ1 − η, θ2 ± ε) with the sign of r
    deviation: float  # how far it is: (ε + |r|η)/(θ1 − η)
    bound: float  # what Proposition 2 allows: λ(ε + |r|η)/θ1

    @property
    def corner(self) -> tuple[float, float]:
        """The lower left corner of the box."""
        return self.cost - self.cost_radius, self.reward - self.reward_radius

    @property
    def sides(self) -> tuple[float, float]:
        """Width and height of the box."""
        return 2.0 * self.cost_radius, 2.0 * self.reward_radius

    @property
    def view(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Limits of a picture that shows the origin and the box with room around it."""
        top, bottom = self.reward + self.reward_radius, self.reward - self.reward_radius
        margin = 0.25 * max(top, abs(bottom))
        return (0.0, 1.15 * (self.cost + self.cost_radius)), (min(0.0, bottom - margin), max(0.0, top + margin))


def rates(problem: Problem) -> Rates:
    """Rates, gaps, slopes, residual variances and the σ² of Theorem 1.

    ω_k = Cov(X_k, R_k)/Var(X_k), the slope of the best linear guess of the reward (0 where Var(X_k) = 0),
    V_k = min_ω Var(R_k − ωX_k) = Var(R_k) − ω_k² Var(X_k),
    σ_k² = V_k + (r* − ω_k)² Var(X_k) = Var(R_k − r*X_k).

    Where the cost has no finite variance no slope exists and 0 stands for it, so V_k = Var(R_k); σ_k² then is ∞ unless
    r* = 0.

    >>> from outlay.arms import Gaussian, Problem
    >>> found = rates(Problem([Gaussian(1.0, 2.0, 0.5, 1.0, 0.5), Gaussian(2.0, 1.0, 1.0, 1.0)]))
    >>> found.slope, found.residual_variance, found.sigma2
    (array([1., 0.]), array([0.75, 1.  ]), array([1., 5.]))
    """
    moments = checked_problem("rates", problem).second_moments()
    var_cost, var_reward, cov = moments["var_cost"], moments["var_reward"], moments["cov"]
    regular = (var_cost > 0) & np.isfinite(var_cost) & np.isfinite(cov)
    slope = np.divide(cov, var_cost, out=np.zeros(len(problem)), where=regular)
    residual = np.maximum(var_reward - slope * np.where(regular, cov, 0.0), 0.0)
    away = (problem.rate - slope) ** 2
    spread = np.multiply(away, var_cost, out=np.zeros(len(problem)), where=(away > 0) & (var_cost > 0))
    return Rates(
        rate=problem.rates,
        gap=problem.gaps,
        mean_cost=problem.mean_costs,
        slope=slope,
        residual_variance=residual,
        sigma2=residual + spread,
        best=problem.best,
        best_rate=problem.rate,
        min_mean_cost=float(problem.mean_costs.min()),
    )


def suboptimal(problem: Problem) -> list[int]:
    """The arms with a gap, by index."""
    return [int(arm) for arm in np.flatnonzero(problem.gaps > 0)]


def cost_side(law: AnyLaw) -> AnyLaw:
    """The law that draws the cost: a linear law's own cost law, else the law itself."""
    return cost_side(law.cost) if isinstance(law, Linear) else law


def cost_table(law: AnyLaw) -> tuple[Vector, Vector] | None:
    """The possible costs, rising, with their probabilities; None if they are not finitely many."""
    law = cost_side(law)
    match law:
        case Bernoulli():
            costs, chances = np.array([0.0, 1.0]), np.array([1.0 - law.cost, law.cost])
        case Discrete():
            costs, chances = law.costs, law.probabilities / math.fsum(law.probabilities)
        case Empirical():
            costs, chances = law.costs, np.full(len(law.costs), 1.0 / len(law.costs))
        case _:
            mean, _, variance, *_ = law.moments()
            if variance > 0:
                return None
            costs, chances = np.array([mean]), np.ones(1)
    different, which = np.unique(costs[chances > 0], return_inverse=True)
    return different, np.asarray(np.bincount(which, weights=chances[chances > 0]), dtype=np.float64)


def stable(cost: float, cost_radius: float, stretch: float = STRETCH) -> bool:
    """Whether the cost is known well enough for a rate: η < θ1(λ−1)/λ (Proposition 2; η = 0 always is).

    >>> stable(cost=1.0, cost_radius=0.21), stable(cost=1.0, cost_radius=0.22)
    (True, False)
    """
    cost, cost_radius, stretch = _box_checked("stable", cost, cost_radius, stretch)
    return cost_radius < cost * (stretch - 1.0) / stretch


def rate_deviation(
    cost: float, reward: float, cost_radius: float, reward_radius: float, stretch: float = STRETCH
) -> float:
    """The most that θ̂2/θ̂1 can be off: λ(ε + |r|η)/θ1 with r = θ2/θ1 (Proposition 2).

    Args:
        cost: θ1 > 0.
        reward: θ2; the paper has θ2 ≥ 0, with |r| for r any sign will do.
        cost_radius: η ≥ 0, how far the estimated cost may be off; `NotCovered` unless η < θ1(λ−1)/λ.
        reward_radius: ε ≥ 0, how far the estimated reward may be off.
        stretch: λ > 1.

    >>> rate_deviation(cost=2.0, reward=1.0, cost_radius=0.2, reward_radius=0.15)
    0.16
    >>> rate_deviation(cost=2.0, reward=1.0, cost_radius=0.5, reward_radius=0.15)
    Traceback (most recent call last):
    outlay.errors.NotCovered: Proposition 2 needs cost_radius < cost·(λ−1)/λ = 0.4375 with λ = 1.28; got 0.5
    """
    cost, cost_radius, stretch = _box_checked("rate_deviation", cost, cost_radius, stretch)
    reward = real("rate_deviation", "reward", reward)
    reward_radius = real("rate_deviation", "reward_radius", reward_radius, at_least=0)
    limit = cost * (stretch - 1.0) / stretch
    if cost_radius >= limit:
        need = f"cost_radius < cost·(λ−1)/λ = {limit:g} with λ = {stretch:g}"
        raise NotCovered(f"Proposition 2 needs {need}; got {cost_radius:g}")
    return stretch * (reward_radius + abs(reward / cost) * cost_radius) / cost


def rate_box(cost: float, reward: float, cost_radius: float, reward_radius: float, stretch: float = STRETCH) -> RateBox:
    """The box of Proposition 2, its extreme rates, its farthest corner; parameters as of `rate_deviation`.

    The paper's caption calls λ(ε + |r|η)/θ1 the largest deviation; it is attained only in the limit η = θ1(λ−1)/λ.

    >>> box = rate_box(cost=2.0, reward=1.0, cost_radius=0.25, reward_radius=0.1)
    >>> box.worst, round(box.deviation, 4), round(box.bound, 4)
    ((1.75, 1.1), 0.1286, 0.144)
    """
    bound = rate_deviation(cost, reward, cost_radius, reward_radius, stretch)
    rate = reward / cost
    corners = [(cost + i * cost_radius, reward + j * reward_radius) for i in (-1, 1) for j in (-1, 1)]
    return RateBox(
        cost,
        reward,
        cost_radius,
        reward_radius,
        rate,
        low=min(corners, key=lambda corner: corner[1] / corner[0]),
        high=max(corners, key=lambda corner: corner[1] / corner[0]),
        worst=max(corners, key=lambda corner: abs(corner[1] / corner[0] - rate)),
        deviation=(reward_radius + abs(rate) * cost_radius) / (cost - cost_radius),
        bound=bound,
    )


def _box_checked(owner: str, cost: float, cost_radius: float, stretch: float) -> tuple[float, float, float]:
    return (
        real(owner, "cost", cost, above=0),
        real(owner, "cost_radius", cost_radius, at_least=0),
        real(owner, "stretch", stretch, above=1),
    )


def blocks(chance: float) -> int:
    """The number m = ⌊3.5·ln(1/δ)⌋ + 1 of blocks whose median Proposition 5 takes."""
    return int(3.5 * _log_inverse("blocks", chance)) + 1


def median_rate_radius(
    samples: int, chance: float, mean_cost: float, var_cost: float, rate_variance: float, stretch: float = STRETCH
) -> float:
    """Radius of the median over blocks of the blocks' rates: exceeded with chance at most 1.4δ (Proposition 5).

    |r̄ − r| ≤ 22λ·√(σ²·ln(1/δ)/s)/E[X], once s ≥ 135·(λ/(λ−1))²·Var(X)/E[X]²·ln(1.4/δ) and every block has a sample.
    The printed condition lacks E[X]²: it changes with the unit of the cost.

    Args:
        samples: s, in m = ⌊3.5·ln(1/δ)⌋ + 1 blocks of ⌊s/m⌋.
        chance: δ in (0, 1).
        mean_cost: E[X] > 0.
        var_cost: Var(X).
        rate_variance: σ² ≥ Var(R − rX), r the arm's own rate; the paper's σ_k² is such a bound where ω_k ≤ r_k.
        stretch: λ > 1.

    >>> median_rate_radius(samples=20_000, chance=0.01, mean_cost=1.0, var_cost=0.25, rate_variance=0.04)
    0.0854...
    >>> median_rate_radius(samples=1_000, chance=0.01, mean_cost=1.0, var_cost=0.25, rate_variance=0.04)
    Traceback (most recent call last):
    outlay.errors.NotCovered: Proposition 5 needs samples ≥ 3486; got 1000
    """
    owner = "median_rate_radius"
    log = _log_inverse(owner, chance)
    mean_cost = real(owner, "mean_cost", mean_cost, above=0)
    var_cost = real(owner, "var_cost", var_cost, at_least=0)
    stretch = real(owner, "stretch", stretch, above=1)
    rate_variance = real(owner, "rate_variance", rate_variance, at_least=0)
    relative = stretch / (stretch - 1.0) * math.sqrt(var_cost) / mean_cost
    needed = max(135.0 * relative * relative * (log + math.log(1.4)), blocks(chance))
    samples = _enough(owner, "Proposition 5", samples, needed)
    return finite(owner, lambda: 22.0 * stretch / mean_cost * math.sqrt(rate_variance * log / samples))


def variance_radius(samples: int, chance: float, bound: float) -> float:
    """ν(X) of Appendix F: a sample variance (1/s) is this far below the true one with chance at most 3δ.

    Var(X) ≤ V̂ + M²·(√(ln(1/δ)/(2s)) + 7·ln(1/δ)/(6s)) for values in an interval of width M: V̂ is the mean of (X − μ)²
    less (X̄ − μ)², and Hoeffding's inequality bounds both (ln(1/δ)/(2s) would do for the second).

    Args:
        samples: s.
        chance: δ in (0, 1).
        bound: M.

    >>> variance_radius(samples=10_000, chance=0.01, bound=1.0)
    0.01571...
    """
    owner = "variance_radius"
    share = _log_inverse(owner, chance) / whole(owner, "samples", samples, at_least=1)
    bound = real(owner, "bound", bound, above=0)
    return finite(owner, lambda: bound**2 * (math.sqrt(share / 2.0) + 7.0 / 6.0 * share))


def slope_radius(samples: int, chance: float, var_cost: float, cost_bound: float, residual_bound: float) -> float:
    """Radius of the sample slope ω̂ = Ĉov/V̂(X): exceeded with chance at most 12δ (Proposition 6).

    |ω̂ − ω| ≤ λ·M_Z·M_X/Var(X)·√(ln(1/δ)/s), λ = 1 + 1/(2√2), once s ≥ 63·M_X⁴·ln(1/δ)/Var(X)².

    Args:
        samples: s, of pairs in [0, M_X] × [0, M_R].
        chance: δ in (0, 1).
        var_cost: Var(X) > 0; costs in [0, M_X] have at most M_X²/4.
        cost_bound: M_X.
        residual_bound: M_Z ≥ M_R + |ω|M_X.

    >>> slope_radius(samples=10_000, chance=0.01, var_cost=0.25, cost_bound=1.0, residual_bound=1.9)
    0.2207...
    """
    log, samples, var_cost, cost_bound, residual_bound = _slope_checked(
        "slope_radius", samples, chance, var_cost, cost_bound, residual_bound
    )
    radius = SLOPE_STRETCH * (residual_bound * (cost_bound / var_cost)) * math.sqrt(log / samples)
    return finite("slope_radius", lambda: radius)


def residual_variance_radius(
    samples: int, chance: float, var_cost: float, cost_bound: float, residual_bound: float
) -> float:
    """Radius of L̂ = V̂(R) − ω̂²V̂(X), the sample residual variance: exceeded with chance at most 18δ (Proposition 6).

    |L̂ − V| ≤ M_Z²·√(2·ln(1/δ)/s), under the condition and with the parameters of `slope_radius`.

    >>> residual_variance_radius(samples=10_000, chance=0.01, var_cost=0.25, cost_bound=1.0, residual_bound=1.9)
    0.1095...
    """
    log, samples, _, _, residual_bound = _slope_checked(
        "residual_variance_radius", samples, chance, var_cost, cost_bound, residual_bound
    )
    return finite("residual_variance_radius", lambda: residual_bound**2 * math.sqrt(2.0 * log / samples))


def _slope_checked(
    owner: str, samples: int, chance: float, var_cost: float, cost_bound: float, residual_bound: float
) -> tuple[float, int, float, float, float]:
    log = _log_inverse(owner, chance)
    var_cost = real(owner, "var_cost", var_cost, above=0)
    cost_bound = real(owner, "cost_bound", cost_bound, above=0)
    residual_bound = real(owner, "residual_bound", residual_bound, above=0)
    if math.sqrt(var_cost) > cost_bound / 2.0 * (1.0 + _ROUNDING):
        raise BadParameter(owner, "var_cost", f"at most cost_bound²/4, with cost_bound = {cost_bound:g}", var_cost)
    ratio = cost_bound / var_cost * cost_bound
    samples = _enough(owner, "Proposition 6", samples, 63.0 * ratio * ratio * log)
    return log, samples, var_cost, cost_bound, residual_bound


def _log_inverse(owner: str, chance: float) -> float:
    return -math.log(real(owner, "chance", chance, above=0, below=1))


def _enough(owner: str, proposition: str, samples: int, needed: float) -> int:
    samples = whole(owner, "samples", samples, at_least=1)
    if needed == math.inf:
        raise NotCovered(f"{proposition} needs more samples than a floating-point number can count; got {samples}")
    if samples < needed:
        raise NotCovered(f"{proposition} needs samples ≥ {math.ceil(needed)}; got {samples}")
    return samples


def finite(owner: str, compute: Callable[[], float]) -> float:
    """What `compute` gives; `NotCovered` if it or a step on the way is too large."""
    try:
        value = compute()
    except (OverflowError, ZeroDivisionError):
        value = math.inf
    if not math.isfinite(value):
        raise NotCovered(f"the value of {owner} is too large for a floating-point number")
    return value
