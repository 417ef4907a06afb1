"""By how much the budget is exceeded, on average: of one arm pulled alone, and of any policy (Propositions 1 and 3).

The paper proves that every policy's mean overshoot E[S_N] − B is below one constant G; here G is a formula.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.arms import (
    AnyLaw,
    Beta,
    Exponential,
    Gamma,
    Gaussian,
    LawMoments,
    Lognormal,
    Pareto,
    Problem,
    StudentT,
    Uniform,
    support_of,
    tails_of,
)
from outlay.arms.problem import checked_problem
from outlay.checks import Vector
from outlay.theory.optimum.lattice import cost_side, cost_table


class GapConstant(NamedTuple):
    """G, in units of cost, and where it comes from; None where it is not explicit."""

    value: float | None
    reason: str


def longest_rest(law: AnyLaw) -> float:
    """The largest E[X − y | X > y] over y ≥ 0: what a cost still adds, on average, once it has reached a level.

    Exact for tables, and for costs whose hazard rate is monotone: exponential, gamma, Gaussian, uniform and Betas with
    both shapes ≥ 1, of which it is the value at y = 0 (gammas of a shape below 1: the limit, their scale). The largest
    cost for other bounded laws, ∞ for heavy tails.

    >>> longest_rest(Exponential(cost=2.0, reward=1.0)), longest_rest(Gamma(1.0, 1.0, cost_sd=2.0, reward_sd=1.0))
    (2.0, 4.0)
    """
    cost = cost_side(law)
    table = cost_table(cost)
    if table is not None:
        return _longest_in(*table)
    mean, _, variance, *_ = LawMoments(*cost.moments())
    match cost:
        case Exponential():
            return mean
        case Gamma():
            return max(mean, variance / mean)
        case Gaussian():
            z = mean / cost.cost_sd
            mills = math.sqrt(2.0 / math.pi) * math.exp(-z * z / 2.0) / math.erfc(-z / math.sqrt(2.0))
            return mean + cost.cost_sd * mills
        case Uniform():
            return mean if cost.cost_low >= 0 else cost.cost_high / 2.0
        case Beta():
            share = mean / cost.cost_bound
            size = share * (1.0 - share) * cost.cost_bound**2 / variance - 1.0  # of both shapes together
            return mean if min(share, 1.0 - share) * size >= 1.0 else cost.cost_bound
    return support_of(cost).cost_high


def overshoot_bound(law: AnyLaw) -> float:
    """A bound on E[S_N] − B of one arm for every B: Lorden's E[(X⁺)²]/μ ≤ E[X²]/μ, or `longest_rest` if smaller.

    ∞ for unbounded costs without a variance.

    >>> from outlay.arms import Lognormal
    >>> overshoot_bound(Lognormal(cost=2.0, reward=1.0, cost_sd=1.0, reward_sd=1.0))
    2.5
    """
    mean, _, variance, *_ = LawMoments(*cost_side(law).moments())
    return min(mean + variance / mean, longest_rest(law))


def gap_constant(problem: Problem) -> GapConstant:
    """G with E[S_N] ≤ B + G under every policy and for every B, and where it comes from; None if not explicit.

    The pull that crosses the budget with y ≥ 0 left exceeds it by E[X_k − y | X_k > y] on average, so G = max_k of
    `longest_rest` will do: it is at most the largest cost, and max μ_k for exponential costs. Where all costs have one
    law, S_n is its random walk whatever is pulled, and Lorden's inequality gives G = E[X²]/μ. Finite variances: with
    κ_k = E[X_k²]/μ_k, κ = max_k κ_k, s as below and D = (s + κ + √(κ² + 2sκ))/2,

        G = D                                   if no cost is negative,
        G = s/2 + D·(1 + max_k √(E[X_k²])/μ_k)/2    otherwise.

    s is Σ_k κ_k over the different costs. Costs of one family that differ in scale and spread alone (lognormal,
    Pareto, Student's t of one tail; equal laws) may count together, as max μ_k·(1 + max_k Var(X_k)/μ_k²) if that is
    less, so that G does not grow with arms that are alike.

    Proof, for g(y) = max_k E[(X_k − y)⁺]/μ_k, J(y) = ∫_y^∞ g and any c with g(c) < 1. Let w be 0 up to −c, then rise
    with slope g(0)/(1 − g(c)) up to 0 and with slope g(y) + g(c + y)·g(0)/(1 − g(c)) after: concave above −c. If y is
    left, a pull of arm k overshoots by E[(X_k − y)⁺] ≤ μ_k·g(y) on average and changes w by at most −μ_k·w'(y) (the
    tangent) plus w'(0)·E[(X_k − y − c)⁺] (the bend at −c): in sum nothing is gained, so the mean overshoot is at
    most w(∞) = J(0) + (c + J(c))·g(0)/(1 − g(c)). Then J(c) ≤ J(0) ≤ s/2, g(c) ≤ κ/(4c), g(0) = max_k E[X_k⁺]/μ_k ≤
    (1 + max_k √(E[X_k²])/μ_k)/2, and the best c give the second line. If no cost is negative, what is left only
    falls: μ_I summed over the pulls with at most y left has mean ≤ (y + c)/(1 − g(c)), and summing g over them gives
    (J(0) + c)/(1 − g(c)), the first line. J(0) ≤ s/2: ∫ E[(X − y)⁺]/μ dy over y ≥ 0 is E[(X⁺)²]/(2μ) ≤ κ/2, and
    within a family E[(X/μ − y)⁺] grows with the spread (each law is the conditional mean of a wider one), so one law
    with the largest mean and the largest spread bounds all. Lorden's max_k κ_k, true of one arm, is not enough when a
    policy adapts.

    >>> gap_constant(Problem([Exponential(1.0, 1.0), Exponential(2.0, 1.0)]))
    GapConstant(value=2.0, reason='what a cost adds beyond any level, on average')
    >>> gap_constant(Problem([Lognormal(1.0, 1.0, 1.0, 1.0), Uniform(1.0, 1.0, 0.0, 1.0)]))
    GapConstant(value=4.5, reason='second moments of costs that are never negative')
    """
    checked_problem("gap_constant", problem)
    costs = [cost_side(law) for law in problem.arms]
    boxes = [support_of(cost) for cost in costs]
    most, rest = max(box.cost_high for box in boxes), max(longest_rest(cost) for cost in costs)
    found = [
        GapConstant(most, "no cost exceeds it"),
        GapConstant(rest, "what a cost adds beyond any level, on average"),
    ]
    mean, variance = problem.mean_costs, problem.second_moments()["var_cost"]
    kappa = mean + variance / mean
    if len({_cost_law(cost) for cost in costs}) == 1:
        found.append(GapConstant(float(kappa[0]), "Lorden's inequality: all costs have one law"))
    total, largest = _summed(costs, mean, variance), float(kappa.max())
    settled = (total + largest + math.sqrt(largest * (largest + 2 * total))) / 2
    if min(box.cost_low for box in boxes) >= 0:
        found.append(GapConstant(settled, "second moments of costs that are never negative"))
    else:
        reach = (1 + float(np.sqrt(1 + variance / mean**2).max())) / 2
        found.append(GapConstant(total / 2 + reach * settled, "second moments of the costs"))
    least = min(found, key=lambda candidate: candidate.value or 0.0)
    if math.isfinite(least.value or 0.0):
        return least
    wild = problem.names[int(np.argmax(~np.isfinite(variance)))]
    return GapConstant(
        None, f"not explicit: the cost of arm {wild!r} is unbounded with infinite variance (Assumption 1)"
    )


def _longest_in(costs: Vector, chances: Vector) -> float:
    """The largest mean rest of a table: it falls between two costs, so y is 0 or a cost."""
    levels = np.unique(np.append(costs[costs >= 0], 0.0))[:-1]  # the largest cost has nothing beyond it
    above = np.searchsorted(costs, levels, side="right")
    beyond, weighted = np.cumsum(chances[::-1])[::-1], np.cumsum((chances * costs)[::-1])[::-1]
    return float((weighted[above] / beyond[above] - levels).max())


def _summed(costs: list[AnyLaw], mean: Vector, variance: Vector) -> float:
    """s: Σ κ over the arms, those of a family counted together where that is less."""
    families: dict[object, list[int]] = {}
    for k, cost in enumerate(costs):
        families.setdefault(_family(cost), []).append(k)
    total = 0.0
    for members in families.values():
        m, v = mean[members], variance[members]
        total += min(float((m + v / m).sum()), float(m.max() * (1.0 + (v / m**2).max())))
    return total


def _family(cost: AnyLaw) -> object:
    """What two costs share if one of them, scaled, is a conditional mean of the other."""
    match cost:
        case Lognormal() | Pareto():
            return type(cost)
        case StudentT():
            return type(cost), cost.tail
    return _cost_law(cost)


def _cost_law(cost: AnyLaw) -> object:
    """What two costs share if they have one law, whatever the rewards; laws that are not ours must be equal."""
    table = cost_table(cost)
    if table is not None:
        return tuple(map(tuple, table))
    if type(cost).__module__.startswith("outlay.arms."):
        mean, _, variance, *_ = cost.moments()
        return type(cost), mean, variance, support_of(cost)[:2], tails_of(cost).cost
    try:
        return hash(cost), cost
    except TypeError:
        return id(cost)
