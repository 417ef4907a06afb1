"""What the theory says of a problem at a budget: a row of bounds per arm, and the bounds as curves."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from outlay.arms import Problem
from outlay.checks import real
from outlay.errors import NotCovered
from outlay.knowledge import policy_for
from outlay.report.numbers.curves import (
    LABEL_GAP,
    LOWER_BOUND,
    PRINTED_BOUND,
    Chart,
    Curve,
    Floats,
    Line,
    floor_of,
    levels,
    regret_axis,
    spread,
)
from outlay.theory import divergence, model_of, rates, upper_bound
from outlay.theory.arm_rates import suboptimal

_WITH_A_THEOREM = ("UCBB1", "UCBM1", "UCBB2", "UCBB2C")
_POINTS = 25  # of a curve, log-spaced from a thousandth of the budget


class ArmBounds(NamedTuple):
    """One arm, or several summed, at a budget B; None where there is no number."""

    arm: str
    rate: float | None
    gap: float | None  # 0 for a best arm
    sigma2: float | None  # σ² = Var(R − r*X)
    divergence: float | None  # D*, to the nearest law of its model that would be as good as the best arm
    pulls: float | None  # ln B/D*: how often a policy that learns pulls it, as B grows
    lower: float | None  # μΔ·ln B/D*: what that costs (sharp)
    upper: dict[str, float]  # by policy: the leading term of its theorem

    @property
    def printed(self) -> float | None:
        """The lower bound as the paper prints it: half the sharp one."""
        return None if self.lower is None else self.lower / 2.0


class ProblemBounds(NamedTuple):
    """Bounds on regret at a budget, and where they are from."""

    budget: float
    arms: list[ArmBounds]
    theorems: dict[str, str]  # by policy: the theorem that covers it
    uncovered: dict[str, str]  # by policy: why none does
    models: dict[str, list[str]]  # by model: the arms that D* judges in it
    reason: str  # why there is no lower bound, or ""

    @property
    def total(self) -> ArmBounds:
        """The bounds on regret: sums over the arms."""
        return summed("all arms", self.arms, self.theorems)


def problem_bounds(problem: Problem, budget: float) -> ProblemBounds:
    """Every bound of the paper on `problem` at `budget`, arm by arm.

    The policies are told what they may know of the problem, as by `outlay compare`.

    >>> from outlay.arms import catalogue
    >>> total = problem_bounds(catalogue.load("G"), 1e5).total
    >>> round(total.lower, 1), {name: round(value) for name, value in total.upper.items()}
    (48.1, {'UCBB1': 599, 'UCBM1': 54560})
    """
    budget = real("problem_bounds", "budget", budget, above=0)
    found, upper, uncovered = rates(problem), {}, {}
    for policy in _WITH_A_THEOREM:
        try:
            upper[policy] = upper_bound(problem, policy_for(problem, policy), budget)
        except NotCovered as why:
            uncovered[policy] = str(why).removeprefix(f"{policy} ")
    rows, distances = [], _distances(problem)
    models: dict[str, list[str]] = {}
    for k, name in enumerate(problem.names):
        rate, gap, sigma2, cost = (float(x[k]) for x in (found.rate, found.gap, found.sigma2, found.mean_cost))
        distance, pulls = distances.get(k), None
        if distance is not None:
            models.setdefault(model_of(problem.arms[k]), []).append(name)
            if budget > 1:
                pulls = math.log(budget) / distance if distance > 0 else math.inf
        lower = None if pulls is None else cost * gap * pulls
        terms = {policy: bound.terms[name] for policy, bound in upper.items() if name in bound.terms}
        rows.append(ArmBounds(name, rate, gap, sigma2, distance, pulls, lower, terms))
    theorems = {policy: bound.theorem for policy, bound in upper.items()}
    reason = "" if budget > 1 else "no lower bound: it is a multiple of ln B, and B ≤ 1"
    if len(distances) < len(suboptimal(problem)) or not np.isfinite(_variances(problem)).all():
        reason = floor_of(problem).reason or reason
    return ProblemBounds(budget, rows, theorems, uncovered, models, reason)


def summed(name: str, rows: Sequence[ArmBounds], policies: Iterable[str]) -> ArmBounds:
    """Pulls and bounds of several arms, added up: best arms add nothing, and one that is missing leaves no sum."""
    worse = [row for row in rows if row.gap]
    upper = {policy: sum(row.upper[policy] for row in worse) for policy in policies}
    return ArmBounds(
        name, None, None, None, None, _sum(row.pulls for row in worse), _sum(row.lower for row in worse), upper
    )


def bounds_chart(problem: Problem, budget: float) -> Chart:
    """The bounds over budgets from a thousandth of `budget` up: the theorems' as curves, the lower ones dashed."""
    budgets = np.geomspace(budget / 1000.0, budget, _POINTS)
    at_budget = problem_bounds(problem, budget)
    total, least = at_budget.total, rates(problem).min_mean_cost
    curves = []
    for policy, theorem in at_budget.theorems.items():
        here = budgets[budgets >= min(budget, least)]
        values = total.upper[policy] * levels(here, least)
        curves.append(_curve(f"{policy}, {theorem}", here, values))
    here, lower = budgets[budgets >= min(budget, 2.0)], total.lower
    lines = []
    if lower and math.isfinite(lower):
        sharp = lower / math.log(budget) * np.log(here)
        lines = [Line(LOWER_BOUND, here, sharp), Line(PRINTED_BOUND, here, sharp / 2.0)]
    if not any(curve.mean.any() for curve in curves) and not lines:
        raise NotCovered(f"no bound to draw: {at_budget.reason or 'all of them are 0'}")
    axis = regret_axis([*curves, *(_curve(*line[:3]) for line in lines)], [])
    ends = [float(curve.mean[-1]) for curve in curves] + [float(line.values[-1]) for line in lines]
    missing = [] if curves else ["no theorem bounds it from above"]
    missing += [] if lines else ["no lower bound"]
    return Chart(
        ", ".join(["Bounds on regret", *missing]),
        curves,
        lines,
        axis,
        spread([axis.height(end) for end in ends], LABEL_GAP),
    )


def _distances(problem: Problem) -> dict[int, float]:
    """D* of the arms with a gap, by index, where Theorem 3 and a formula cover them."""
    distances = {}
    if np.isfinite(_variances(problem)).all():
        for k in suboptimal(problem):
            with suppress(NotCovered):
                distances[k] = divergence(problem.arms[k], problem.rate)
    return distances


def _variances(problem: Problem) -> list[Floats]:
    moments = problem.second_moments()
    return [moments["var_cost"], moments["var_reward"]]


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else math.fsum(value for value in known if value is not None)


def _curve(label: str, budgets: Floats, values: Floats) -> Curve:
    return Curve(label, budgets, values, values, values)
