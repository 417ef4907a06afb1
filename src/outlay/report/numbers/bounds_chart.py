"""The bounds on a problem as curves over the budget."""

import math

import numpy as np

from outlay.arms import Problem
from outlay.errors import NotCovered
from outlay.report.numbers.bounds import Constants, problem_bounds
from outlay.report.numbers.curves import (
    LABEL_GAP,
    LOWER_BOUND,
    PRINTED_BOUND,
    Chart,
    Curve,
    Floats,
    Line,
    levels,
    regret_axis,
    spread,
)
from outlay.theory import rates, worst_case_bound

WORST_CASE = "any policy, worst case"
_POINTS = 25  # of a curve, log-spaced from a thousandth of the budget
_WORST_POINTS = 5  # of the worst case, whose logarithm is nearly a line


def bounds_chart(problem: Problem, budget: float, constants: Constants = "both") -> Chart:
    """The bounds over budgets from a thousandth of `budget` up: the theorems' as curves, the lower ones dashed."""
    budgets = np.geomspace(budget / 1000.0, budget, _POINTS)
    at_budget, found = problem_bounds(problem, budget, constants), rates(problem)
    gaps, least = dict(zip(problem.names, found.gap, strict=True)), found.min_mean_cost
    curves, here = [], budgets[budgets >= min(budget, least)]
    for column in at_budget.columns:
        values = _summed(column.terms, levels(here, least), gaps, here)
        curves.append(_curve(f"{column.policy}, {column.constants}", here, values))
    lines = []
    if at_budget.total.lower and math.isfinite(at_budget.total.lower):
        here = budgets[budgets >= min(budget, 2.0)]
        losses = dict(zip(problem.names, found.gap * found.mean_cost, strict=True))
        for label, share in ((LOWER_BOUND, 1.0), (PRINTED_BOUND, 0.5)):
            terms = {row.arm: share * losses[row.arm] / row.divergence for row in at_budget.arms if row.divergence}
            lines.append(Line(label, here, _summed(terms, np.log(here), gaps, here)))
    if at_budget.worst:
        few = np.geomspace(budgets[0], budget, _WORST_POINTS)
        values = np.array([worst_case_bound(problem, float(b)) for b in few[:-1]] + [at_budget.worst])
        if (values > 0).sum() > 1:
            lines.append(Line(WORST_CASE, few[values > 0], values[values > 0]))
    if not any(curve.mean.any() for curve in curves) and not lines:
        raise NotCovered(f"no bound to draw: {at_budget.reason or 'all of them are 0'}")
    axis = regret_axis([*curves, *(_curve(*line[:3]) for line in lines)], [])
    ends = [float(curve.mean[-1]) for curve in curves] + [float(line.values[-1]) for line in lines]
    missing = [] if curves else ["no theorem bounds it from above"]
    missing += [] if lines and lines[0].label == LOWER_BOUND else ["no lower bound"]
    heights = spread([axis.height(end) for end in ends], LABEL_GAP)
    return Chart(", ".join(["Bounds on regret", *missing]), curves, lines, axis, heights)


def _summed(terms: dict[str, float], share: Floats, gaps: dict[str, float], budgets: Floats) -> Floats:
    """What all arms add at each budget, an arm at most its gap times the budget, and all the largest gap times it."""
    total = sum((np.minimum(term * share, gaps[arm] * budgets) for arm, term in terms.items()), np.zeros(len(budgets)))
    return np.minimum(total, max(gaps.values()) * budgets)


def _curve(label: str, budgets: Floats, values: Floats) -> Curve:
    return Curve(label, budgets, values, values, values)
