"""What the theory says of a problem at a budget: a row of bounds per arm."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple, get_args

import numpy as np

from outlay.arms import Problem
from outlay.checks import real, word
from outlay.errors import BadParameter, NotCovered
from outlay.policies import UCBB1, UCBB2C
from outlay.problem_policies import policy_for
from outlay.report.numbers.curves import Floats, floor_of
from outlay.theory import divergence, finite_bound, model_of, outlasting, rates, upper_bound, worst_case_bound
from outlay.theory.arm_rates import cost_table, suboptimal

Constants = Literal["both", "proved", "printed"]
CONSTANTS: tuple[Constants, ...] = get_args(Constants)
_WITH_A_THEOREM = ("UCBB1", "UCBM1", "UCBB2", "UCBB2C")


class Column(NamedTuple):
    """An upper bound: of which policy, with which constants, by which theorem."""

    policy: str
    constants: str  # "proved" or "printed"
    theorem: str
    terms: dict[str, float]  # by arm: the leading term, however large
    setting: str = ""  # what the policy must be told for the proof, if that is not what it usually is
    exceeded: tuple[str, ...] = ()  # the arms that the policy pulls more often than is printed

    @property
    def label(self) -> str:
        """Its heading: what is printed says so."""
        return f"{self.policy} ≤" if self.constants == "proved" else f"{self.policy} printed"


class ArmBounds(NamedTuple):
    """One arm, or several summed, at a budget B; None where there is no number. No bound exceeds the gap times B."""

    arm: str
    rate: float | None
    gap: float | None  # 0 for a best arm
    sigma2: float | None  # σ² = Var(R − r*X)
    divergence: float | None  # D*, to the nearest law of its model that would be as good as the best arm
    pulls: float | None  # ln B/D*: how often a policy that learns pulls it, as B grows; at most B/μ
    lower: float | None  # μΔ·ln B/D*: what that costs (sharp)
    printed: float | None  # half of that, as the paper has it
    upper: dict[str, float]  # by the label of a column: the leading term


class ProblemBounds(NamedTuple):
    """Bounds on regret at a budget, and where they are from."""

    budget: float
    arms: list[ArmBounds]
    columns: list[Column]
    uncovered: dict[str, str]  # by policy, or policy and constants: why there is no bound
    models: dict[str, list[str]]  # by model: the arms that D* judges in it
    reason: str  # why there is no lower bound, or ""
    capped: list[str]  # arms of which the lower bound is more than can be lost at this budget
    worst: float | None  # what every policy loses on some problem of arms like the best one
    best: str  # that arm
    near: float | None = None  # what every policy loses on this problem, or on one that a better arm makes of it

    @property
    def total(self) -> ArmBounds:
        """The bounds on regret: sums over the arms, at most the largest gap times the budget."""
        return summed("all arms", self.arms, self.columns, max(row.gap or 0.0 for row in self.arms) * self.budget)


def problem_bounds(problem: Problem, budget: float, constants: Constants = "both") -> ProblemBounds:
    """Every bound on `problem` at `budget`, arm by arm; `constants` are those of the upper bounds.

    The policies are told what they may know of the problem, as by `outlay compare`; what a proof asks for beyond that
    is in `setting`.

    >>> from outlay.arms import catalogue
    >>> total = problem_bounds(catalogue.load("G"), 1e5).total
    >>> round(total.lower, 1), {name: round(value) for name, value in total.upper.items()}
    (48.1, {'UCBB1 ≤': 457, 'UCBB1 printed': 599, 'UCBM1 ≤': 50000, 'UCBM1 printed': 43796})
    """
    budget = real("problem_bounds", "budget", budget, above=0)
    word("problem_bounds", "constants", constants, CONSTANTS)
    found, rows, distances = rates(problem), [], _distances(problem)
    columns, uncovered = _columns(problem, budget, constants)
    models: dict[str, list[str]] = {}
    capped = []
    for k, name in enumerate(problem.names):
        rate, gap, sigma2, cost = (float(x[k]) for x in (found.rate, found.gap, found.sigma2, found.mean_cost))
        distance, pulls, lower, printed = distances.get(k), None, None, None
        if distance is not None:
            models.setdefault(model_of(problem.arms[k]), []).append(name)
            if budget > 1:
                wanted = math.log(budget) / distance if distance > 0 else math.inf
                pulls = min(wanted, budget / cost)
                lower, printed = gap * cost * pulls, min(gap * cost * wanted / 2.0, gap * budget)
                capped += [name] if wanted > pulls else []
        terms = {column.label: min(column.terms[name], gap * budget) for column in columns if name in column.terms}
        rows.append(ArmBounds(name, rate, gap, sigma2, distance, pulls, lower, printed, terms))
    reason = "" if budget > 1 else "no lower bound: it is a multiple of ln B, and B ≤ 1"
    if len(distances) < len(suboptimal(problem)) or not np.isfinite(_variances(problem)).all():
        reason = floor_of(problem).reason or reason
    worst, near = None, None
    with suppress(NotCovered, BadParameter):  # rates beyond what the theory calculates with
        worst = worst_case_bound(problem, budget)
    with suppress(NotCovered, BadParameter):
        near = finite_bound(problem, budget).value
    best = problem.names[problem.best]
    return ProblemBounds(budget, rows, columns, uncovered, models, reason, capped, worst, best, near)


def _columns(problem: Problem, budget: float, constants: Constants) -> tuple[list[Column], dict[str, str]]:
    """The upper bounds, and why others are missing."""
    found: list[Column] = []
    uncovered: dict[str, str] = {}
    kinds = ("proved", "printed") if constants == "both" else (constants,)
    for name in _WITH_A_THEOREM:
        try:
            usual = policy_for(problem, name)
        except NotCovered as why:
            uncovered[name] = str(why).removeprefix(f"{name} ")
            continue
        for kind in kinds:
            policy, setting = provable(problem, usual) if kind == "proved" else (usual, "")
            try:
                bound = upper_bound(problem, policy, budget, kind)
            except NotCovered as why:
                uncovered[f"{name} {kind}"] = str(why)
                continue
            exceeded = tuple(outlasting(problem, policy)) if kind == "printed" else ()
            found.append(Column(name, kind, bound.theorem, bound.terms, setting, exceeded))
    return found, uncovered


def provable(problem: Problem, policy: object) -> tuple[object, str]:
    """The policy with what a proof asks for, and that in words: L = 1 for Gaussian pairs, ω̄ ≥ M_R/c for two costs."""
    if isinstance(policy, UCBB1) and policy.chosen_factor < 1.0:
        return policy._replace(variance_factor=1.0), "variance_factor=1"
    if isinstance(policy, UCBB2C):
        tables = [cost_table(law) for law in problem.arms]
        least = min((float(table[0][table[0] > 0].min()) for table in tables if table is not None), default=math.inf)
        slope = policy.reward_bound / least
        if slope > policy.slope_bound:
            return policy._replace(slope_bound=slope), f"slope_bound={slope:.3g}"
    return policy, ""


def summed(name: str, rows: Sequence[ArmBounds], columns: Iterable[Column], most: float = math.inf) -> ArmBounds:
    """Pulls and bounds of several arms, added up: best arms add nothing, and one that is missing leaves no sum."""
    worse = [row for row in rows if row.gap]
    upper = {c.label: min(sum(row.upper[c.label] for row in worse), most) for c in columns}
    pulls, lower, printed = (
        _sum(row.pulls for row in worse),
        _sum((row.lower for row in worse), most),
        _sum((row.printed for row in worse), most),
    )
    return ArmBounds(name, None, None, None, None, pulls, lower, printed, upper)


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


def _sum(values: Iterable[float | None], most: float = math.inf) -> float | None:
    known = list(values)
    return None if None in known else min(most, math.fsum(value for value in known if value is not None))
