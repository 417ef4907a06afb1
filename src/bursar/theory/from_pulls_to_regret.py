"""From pulls to regret: the budget is nearly always spent within 2B/μ_* pulls (Appendix B: Proposition 4, Lemma 1)."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from bursar.arms import Problem
from bursar.errors import BadParameter, NotCovered
from bursar.parameters import real
from bursar.theory.arm_rates import rates


class RegretBound(NamedTuple):
    """Reg(B) ≤ pulls + residual + optimality_gap."""

    value: float
    pulls: float  # Σ_k E[T_k(n₀)]·Δ_kμ_k
    residual: float  # for runs that last longer than n₀ pulls
    optimality_gap: float  # G*


def horizon(problem: Problem, budget: float) -> int:
    """n₀ = ⌈2B/μ_*⌉, the pulls within which the budget is nearly always spent (Lemma 1).

    >>> from bursar.arms import Constant, Problem
    >>> horizon(Problem([Constant(0.5, 1.0), Constant(2.0, 1.0)]), budget=10.0)
    40
    """
    return math.ceil(2.0 * real("horizon", "budget", budget, above=0) / rates(problem).min_mean_cost)


def late_passage(pulls: float, mean_cost: float, order: float, central_moment: float) -> float:
    """A bound on the chance that n ≥ 2B/μ pulls have not spent the budget B (Lemma 1); above 1 it says nothing.

    P(max_{i ≤ n} S_i ≤ B) ≤ (2p²/(p−1))^p·u / (μ^p·n^(p/2))

    Args:
        pulls: n.
        mean_cost: μ > 0, which every conditional mean of the costs reaches.
        order: p > 2.
        central_moment: u ≥ E|X − E[X]|^p of every cost.

    >>> late_passage(pulls=10_000, mean_cost=1.0, order=4.0, central_moment=0.001)
    1.2945...e-07
    """
    pulls = real("late_passage", "pulls", pulls, above=0)
    mean_cost = real("late_passage", "mean_cost", mean_cost, above=0)
    order = real("late_passage", "order", order, above=2)
    u = real("late_passage", "central_moment", central_moment, at_least=0)
    return _spread(order) * u / (math.pow(mean_cost, order) * math.pow(pulls, order / 2.0))


def regret_from_pulls(
    problem: Problem,
    pulls: Sequence[float],
    budget: float,
    order: float,
    central_moment: float,
    optimality_gap: float,
    constants: str = "proved",
) -> RegretBound:
    """Turn bounds on pulls into a bound on regret (Proposition 4).

    Reg(B) ≤ Σ_k E[T_k(n₀)]·Δ_kμ_k + (2p²/(p−1))^p·u / ((p/2−1)·D)·Σ_k Δ_kμ_k + G*,  n₀ = ⌈2B/μ_*⌉

    with D = (2B−μ_*)^(p/2−1)·μ_*^(p/2+1), the sum of Lemma 1 over n ≥ n₀; printed is (2B−μ_*)^(p/2)·μ_*^(p/2), too
    large by 2B/μ_* − 1. The proof in the paper adds c = r*·E[X²]/E[X] of the best arm, which can be spared:
    E[reward] = r*·E[S_N] − Σ E[T_k]Δ_kμ_k with S_N > B, and no policy earns more than r*B + G*.

    Args:
        problem: the arms; r* ≥ 0.
        pulls: bounds on E[T_k(n₀)], one per arm, from `pull_bound` at `horizon(problem, budget)`; 0 for best arms.
        budget: B > μ_*/2.
        order: p > 2.
        central_moment: u ≥ E|X_k − μ_k|^p of every arm (for costs in an interval of width w: w^(p−2)·Var).
        optimality_gap: G* of Proposition 1, what the optimal policy earns above r*B.
        constants: "proved" or "printed".

    >>> from bursar.arms import Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
    >>> bound = regret_from_pulls(problem, [0.0, 300.0], 1e6, order=4.0, central_moment=3 * 0.5**4, optimality_gap=1.0)
    >>> bound.pulls, round(bound.residual, 6), round(bound.value, 6)
    (150.0, 0.000607, 151.000607)
    """
    budget = real("regret_from_pulls", "budget", budget, above=0)
    order = real("regret_from_pulls", "order", order, above=2)
    u = real("regret_from_pulls", "central_moment", central_moment, at_least=0)
    gap = real("regret_from_pulls", "optimality_gap", optimality_gap, at_least=0)
    if len(pulls) != len(problem):
        raise BadParameter("regret_from_pulls", "pulls", f"{len(problem)} numbers, one per arm", pulls)
    if constants not in ("printed", "proved"):
        raise BadParameter("regret_from_pulls", "constants", "'printed' or 'proved'", constants)
    found = rates(problem)
    mean = found.min_mean_cost
    if found.best_rate < 0:
        raise NotCovered(f"Proposition 4 needs a best rate r* ≥ 0; it is {found.best_rate:g}")
    if not budget > mean / 2.0:
        raise NotCovered(
            f"Proposition 4 needs a budget above half of the smallest mean cost, {mean / 2:g}; got {budget:g}"
        )
    losses = [float(loss) for loss in found.gap * found.mean_cost]
    bounds = [real("regret_from_pulls", f"pulls of arm {k}", value, at_least=0) for k, value in enumerate(pulls)]
    half = order / 2.0
    denominator = (2.0 * budget - mean) ** (half - 1.0) * mean ** (half + 1.0)
    if constants == "printed":
        denominator *= 2.0 * budget / mean - 1.0
    residual = _spread(order) * u / ((half - 1.0) * denominator) * sum(losses)
    pulled = sum(loss * count for loss, count in zip(losses, bounds, strict=True))
    return RegretBound(pulled + residual + gap, pulled, residual, gap)


def _spread(order: float) -> float:
    return math.pow(2.0 * order**2 / (order - 1.0), order)
