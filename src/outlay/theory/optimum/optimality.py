"""How close always pulling the best arm comes to the true optimum: Proposition 1 as numbers.

For r* ≥ 0 and every budget, r*B ≤ E[REW_π*(B)] ≤ E[REW_opt(B)] ≤ r*(B + G): the last step needs a G that bounds the
mean overshoot E[S_N] − B of every policy. The paper proves that one exists; here it is a formula.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.arms import LawMoments, Problem, support_of
from outlay.arms.problem import checked_problem
from outlay.checks import real
from outlay.errors import NotCovered
from outlay.extras import needed
from outlay.theory.arm_rates import rates
from outlay.theory.optimum.static import Estimate, expected_reward


class Optimality(NamedTuple):
    """Proposition 1 at one budget."""

    lower: float  # r*B
    static: Estimate  # E[REW_π*(B)]
    upper: float  # r*(B + G); ∞ without a G
    gap_constant: float | None  # G, in units of cost
    reason: str  # where G comes from, or why it is not explicit


@needed("theory.optimality")
def optimality(problem: Problem, budget: float) -> Optimality:
    """Proposition 1's chain r*B ≤ E[REW_π*(B)] ≤ E[REW_opt(B)] ≤ r*(B + G), for r* ≥ 0.

    No policy, however it adapts, brings more than `upper`; pulling the best arm brings `static`.

    >>> from outlay.arms import Bernoulli, Problem
    >>> found = optimality(Problem([Bernoulli(0.5, 0.4), Bernoulli(0.25, 0.15)]), budget=100.0)
    >>> round(found.lower, 9), round(found.static.value, 9), round(found.upper, 9), found.gap_constant
    (80.0, 80.8, 80.8, 1.0)
    """
    limit = real("optimality", "budget", budget, above=0)
    best = rates(checked_problem("optimality", problem))
    if best.best_rate < 0:
        raise NotCovered(f"Proposition 1 needs a best rate r* ≥ 0; it is {best.best_rate:.6g}")
    static = expected_reward(problem.arms[best.best], limit)
    constant, reason = gap_constant(problem)
    upper = math.inf if constant is None else best.best_rate * (limit + constant)
    return Optimality(best.best_rate * limit, static, upper, constant, reason)


def gap_constant(problem: Problem) -> tuple[float | None, str]:
    """G with E[S_N] ≤ B + G under every policy and for every B, and where it comes from; None if not explicit.

    No cost exceeds M: the pull that crosses B overshoots by at most G = M. Finite variances: with κ_k = E[X_k²]/μ_k,
    s = Σ_k κ_k, κ = max_k κ_k and D = (s + κ + √(κ² + 2sκ))/2,

        G = D                                   if no cost is negative,
        G = s/2 + D·(1 + max_k √(E[X_k²])/μ_k)/2    otherwise.

    Proof, for g(y) = max_k E[(X_k − y)⁺]/μ_k, J(y) = ∫_y^∞ g and any c with g(c) < 1. Let w be 0 up to −c, then rise
    with slope g(0)/(1 − g(c)) up to 0 and with slope g(y) + g(c + y)·g(0)/(1 − g(c)) after: concave above −c. If y is
    left, a pull of arm k overshoots by E[(X_k − y)⁺] ≤ μ_k·g(y) on average and changes w by at most −μ_k·w'(y) (the
    tangent) plus w'(0)·E[(X_k − y − c)⁺] (the bend at −c): in sum nothing is gained, so the mean overshoot is at
    most w(∞) = J(0) + (c + J(c))·g(0)/(1 − g(c)). Then J(c) ≤ J(0) ≤ s/2, g(c) ≤ κ/(4c), g(0) = max_k E[X_k⁺]/μ_k ≤
    (1 + max_k √(E[X_k²])/μ_k)/2, and the best c give the second line. If no cost is negative, what is left only
    falls: μ_I summed over the pulls with at most y left has mean ≤ (y + c)/(1 − g(c)), and summing g over them gives
    (J(0) + c)/(1 − g(c)), the first line. Lorden's max_k κ_k, true of one arm, is not enough when a policy adapts.

    >>> from outlay.arms import Exponential, Problem
    >>> gap_constant(Problem([Exponential(1.0, 1.0), Exponential(2.0, 1.0)]))
    (9.0, 'second moments of costs that are never negative')
    """
    boxes = [support_of(law) for law in problem.arms]
    most = max(box.cost_high for box in boxes)
    found = [(most, "no cost exceeds it")] if math.isfinite(most) else []
    moments = [LawMoments(*law.moments()) for law in problem.arms]
    wild = [name for name, law in zip(problem.names, moments, strict=True) if not math.isfinite(law.var_cost)]
    if not wild:
        mean, variance = problem.mean_costs, problem.second_moments()["var_cost"]
        kappa = mean + variance / mean
        total, largest = float(kappa.sum()), float(kappa.max())
        settled = (total + largest + math.sqrt(largest * (largest + 2 * total))) / 2
        if min(box.cost_low for box in boxes) >= 0:
            found.append((settled, "second moments of costs that are never negative"))
        else:
            drift = (1 + float(np.sqrt(1 + variance / mean**2).max())) / 2
            found.append((total / 2 + drift * settled, "second moments of the costs"))
    if found:
        return min(found)
    return None, f"not explicit: the cost of arm {wild[0]!r} is unbounded with infinite variance (Assumption 1)"
