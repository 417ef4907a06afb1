"""How close always pulling the best arm comes to the true optimum: Proposition 1 as numbers.

For r* ≥ 0 and every budget, r*B ≤ E[REW_π*(B)] ≤ E[REW_opt(B)] ≤ r*(B + G): the last step needs a G that bounds the
mean overshoot E[S_N] − B of every policy. The paper proves that one exists; here it is a formula.
"""

import math
from typing import NamedTuple

from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import real
from outlay.errors import NotCovered
from outlay.extras import needed
from outlay.theory.arm_rates import rates
from outlay.theory.optimum.overshoot import gap_constant
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
