"""Bounds on regret: numbers of each arm, curves over the budget, tables for a terminal, without and with requests."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from outlay import theory
from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import real, word
from outlay.errors import BadParameter, NotCovered
from outlay.policies import UCBB1, UCBB2C
from outlay.problem_policies import policy_for
from outlay.report import curves
from outlay.report.curves import Chart, Curve, Line
from outlay.results import Floats
from outlay.tables import Table
from outlay.text import cut, listed, number
from outlay.theory.arm_rates import cost_table, suboptimal
from outlay.theory.assumptions import GAUSSIAN, HEAVY_TAILED
from outlay.theory.fluid_optimum import Fluid, Price, gaps_at, right_prices
from outlay.theory.lower_bounds import distances_of

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table as Grid

Constants = Literal["both", "proved", "printed"]
CONSTANTS: tuple[Constants, ...] = get_args(Constants)
_WITH_A_THEOREM = ("UCBB1", "UCBM1", "UCBB2", "UCBB2C")
WORST_CASE = "any policy, worst case"
_POINTS = 25  # of a curve, log-spaced from a thousandth of the budget
_WORST_POINTS = 5  # of the worst case, whose logarithm is nearly a line
_HEADINGS = ("arm", "rate", "gap", "σ²", "D*", "pulls ≥", "regret ≥", "printed ≥")
_SPARED = ("printed ≥", "σ²", "D*", "pulls ≥")  # by a narrow terminal
_MOST_BEST = 2
_MOST_ROWS = 12  # arms shown; the others are summed up in a row
_LONGEST_NAME = 24


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
    checked_problem("bounds", problem, free=True)
    found, rows, distances = theory.rates(problem), [], dict[int, float]()  # D* by the index of the arm
    moments = problem.second_moments()
    finite = bool(np.isfinite([moments["var_cost"], moments["var_reward"]]).all())
    for k in suboptimal(problem) if finite else ():
        with suppress(NotCovered):
            distances[k] = theory.divergence(problem.arms[k], problem.rate)
    columns, uncovered = _columns(problem, budget, constants)
    models: dict[str, list[str]] = {}
    capped = []
    for k, name in enumerate(problem.names):
        rate, gap, sigma2, cost = (float(x[k]) for x in (found.rate, found.gap, found.sigma2, found.mean_cost))
        distance, pulls, lower, printed = distances.get(k), None, None, None
        if distance is not None:
            models.setdefault(theory.model_of(problem.arms[k]), []).append(name)
            if budget > 1:
                wanted = math.log(budget) / distance if distance > 0 else math.inf
                pulls = min(wanted, budget / cost)
                lower, printed = gap * cost * pulls, min(gap * cost * wanted / 2.0, gap * budget)
                capped += [name] if wanted > pulls else []
        terms = {column.label: min(column.terms[name], gap * budget) for column in columns if name in column.terms}
        rows.append(ArmBounds(name, rate, gap, sigma2, distance, pulls, lower, printed, terms))
    reason = "" if budget > 1 else "no lower bound: it is a multiple of ln B, and B ≤ 1"
    if len(distances) < len(suboptimal(problem)) or not finite:
        reason = curves.floor_of(problem).reason or reason
    worst, near = None, None
    with suppress(NotCovered, BadParameter):  # rates beyond what the theory calculates with
        worst = theory.worst_case_bound(problem, budget)
    with suppress(NotCovered, BadParameter):
        near = theory.finite_bound(problem, budget).value
    best = problem.names[problem.best]
    return ProblemBounds(budget, rows, columns, uncovered, models, reason, capped, worst, best, near)


def _columns(problem: Problem, budget: float, constants: Constants) -> tuple[list[Column], dict[str, str]]:
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
                bound = theory.upper_bound(problem, policy, budget, kind)
            except NotCovered as why:
                uncovered[f"{name} {kind}"] = str(why)
                continue
            exceeded = tuple(theory.outlasting(problem, policy)) if kind == "printed" else ()
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
    lower, printed = _sum((row.lower for row in worse), most), _sum((row.printed for row in worse), most)
    return ArmBounds(name, None, None, None, None, _sum(row.pulls for row in worse), lower, printed, upper)


def _sum(values: Iterable[float | None], most: float = math.inf) -> float | None:
    known = list(values)
    return None if None in known else min(most, math.fsum(value for value in known if value is not None))


def bounds_chart(problem: Problem, budget: float, constants: Constants = "both") -> Chart:
    """The bounds over budgets from a thousandth of `budget` up: the theorems' as curves, the lower ones dashed."""
    budgets = np.geomspace(budget / 1000.0, budget, _POINTS)
    at_budget, found = problem_bounds(problem, budget, constants), theory.rates(problem)
    gaps, least = dict(zip(problem.names, found.gap, strict=True)), found.min_mean_cost
    upper, here = [], budgets[budgets >= min(budget, least)]
    for column in at_budget.columns:
        values = _summed(column.terms, curves.levels(here, least), gaps, here)
        upper.append(_curve(f"{column.policy}, {column.constants}", here, values))
    lines = []
    if at_budget.total.lower and math.isfinite(at_budget.total.lower):
        here = budgets[budgets >= min(budget, 2.0)]
        losses = dict(zip(problem.names, found.gap * found.mean_cost, strict=True))
        for label, share in ((curves.LOWER_BOUND, 1.0), (curves.PRINTED_BOUND, 0.5)):
            terms = {row.arm: share * losses[row.arm] / row.divergence for row in at_budget.arms if row.divergence}
            lines.append(Line(label, here, _summed(terms, np.log(here), gaps, here)))
    if at_budget.worst:
        few = np.geomspace(budgets[0], budget, _WORST_POINTS)
        values = np.array([theory.worst_case_bound(problem, float(b)) for b in few[:-1]] + [at_budget.worst])
        if (values > 0).sum() > 1:
            lines.append(Line(WORST_CASE, few[values > 0], values[values > 0]))
    if not any(curve.mean.any() for curve in upper) and not lines:
        raise NotCovered(f"no bound to draw: {at_budget.reason or 'all of them are 0'}")
    axis = curves.regret_axis([*upper, *(_curve(*line[:3]) for line in lines)], [])
    missing = [] if upper else ["no theorem bounds it from above"]
    missing += [] if lines and lines[0].label == curves.LOWER_BOUND else ["no lower bound"]
    return Chart(", ".join(["Bounds on regret", *missing]), upper, lines, axis)


def _summed(terms: dict[str, float], share: Floats, gaps: dict[str, float], budgets: Floats) -> Floats:
    """What all arms add at each budget, an arm at most its gap times the budget, and all the largest gap times it."""
    total = sum((np.minimum(term * share, gaps[arm] * budgets) for arm, term in terms.items()), np.zeros(len(budgets)))
    return np.minimum(total, max(gaps.values()) * budgets)


def _curve(label: str, budgets: Floats, values: Floats) -> Curve:
    return Curve(label, budgets, values, values, values)


def bounds_table(bounds: ProblemBounds, width: int = 80) -> "Group":
    """The table for a terminal of `width` characters: `rich.print(bounds_table(problem_bounds(problem, 1e5)))`."""
    from rich.console import Group

    arms, rows = bounds.arms, []
    if len(arms) > _MOST_ROWS:  # some best arms and those that cost most, with the others summed up
        best = [row for row in arms if not row.gap][:_MOST_BEST]
        worse = [row for row in arms if row.gap]
        worse.sort(key=lambda row: (row.lower or 0.0, *row.upper.values()), reverse=True)
        shown = best + worse[: _MOST_ROWS - len(best)]
        others = [row for row in arms if row not in shown]
        arms = [*shown, summed(f"{len(others):,} more", others, bounds.columns)]
    for row in (*arms, bounds.total):
        numbers = (row.gap, row.sigma2, row.divergence, row.pulls, row.lower, row.printed)
        upper = (row.upper.get(column.label) for column in bounds.columns)
        rows.append([row.arm, cell(row.rate, digits=4), *map(cell, numbers), *map(cell, upper)])
    headings = [*_HEADINGS, *(column.label for column in bounds.columns)]
    title, cut = f"Bounds on regret at budget {bounds.budget:,.12g}", len(_HEADINGS)
    tables = [Table(headings, rows, title, total=True)]
    if bounds.columns and len(tables[0].within(width)) < len(headings):
        tables = [
            Table(headings[:cut], [row[:cut] for row in rows], title, drop_first=_SPARED, total=True),
            Table(["arm", *headings[cut:]], [[row[0], *row[cut:]] for row in rows], "Upper bounds", total=True),
        ]
    return Group(*tables, grid(notes(bounds)))


def notes(bounds: ProblemBounds) -> list[tuple[str, str]]:
    """Where the numbers are from and what is not covered: columns and a sentence each."""
    found = []
    if any(row.lower is not None for row in bounds.arms):
        found.append(("≥", "for every policy that learns on the whole model, as B grows; printed: as in the paper"))
        if bounds.capped:
            all_lost = f"shown of {_listed(bounds.capped)} is all that can be lost, gap times B"
            found.append(("", f"(this budget is too small for it: {all_lost})"))
    if bounds.near:
        here = "at this very budget, here, or else more where one arm is made better"
        found.append(("any policy ≥", f"{cell(bounds.near)} {here}"))
    if bounds.worst:
        some = f"{len(bounds.arms):,} arms like {bounds.best}, one of them a little better"
        found.append(("any policy ≥", f"{cell(bounds.worst)} at this very budget, on some problem of {some}"))
    found.append(("σ²", "the variance of R − r*X: of the reward less the best rate times the cost"))
    found += [("D*", f"{_listed(arms)}: {model}") for model, arms in bounds.models.items()]
    if bounds.reason:
        found.append(("≥", bounds.reason))
    return found + _upper_notes(bounds)


def _upper_notes(bounds: ProblemBounds) -> list[tuple[str, str]]:
    """Of the upper bounds: which theorem, with which constants, for which settings, and where what is printed fails."""
    found = []
    kinds = {column.constants for column in bounds.columns}
    if "proved" in kinds:
        found.append(("≤", "the term in ln B with proved constants and the default α, at most gap times B"))
        found.append(("", "(without O(1), which is not always small)"))
    if "printed" in kinds:
        found.append(("printed", "the same with the constants that the paper prints, which are not all right"))
    for column in bounds.columns:
        theorem = column.theorem
        if (theorem, column.constants) == (HEAVY_TAILED, "printed"):
            theorem = "Theorem 2, whose constant it leaves open, with that of Lemma 3"
        if column.constants == "proved" and column.setting:
            found.append((column.label, f"{theorem}, for {column.policy}({column.setting})"))
        elif column.constants == "printed" or "printed" not in kinds:
            found.append((column.label, theorem))
        if (column.theorem, column.constants) == (GAUSSIAN, "printed"):
            said = "(not a bound for every problem: on some, regret grows like a power of B; variance_factor=½)"
            found.append(("", said))
        if column.exceeded:
            found.append(("", f"(not a bound: {column.policy} exceeds it for {_listed(column.exceeded)} as B grows)"))
    policies: dict[str, list[str]] = {}
    for policy, reason in bounds.uncovered.items():
        policies.setdefault(reason, []).append(policy)
    return found + [(", ".join(names), f"no bound: {reason}") for reason, names in policies.items()]


def grid(rows: Sequence[tuple[str, str]], title: str = "") -> "Grid":
    """Columns and a sentence each, in two columns."""
    from rich.table import Table as Grid
    from rich.text import Text

    table = Grid.grid(padding=(0, 2, 0, 0))
    table.title, table.title_justify, table.title_style = title or None, "left", "bold"
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def cell(value: float | None, digits: int = 3) -> str:
    """A bound for a table, or in a sentence."""
    return number(value, digits, most=1e6)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_ROWS else f"{len(names):,} arms"


class RequestArm(NamedTuple):
    """One arm, or several summed, where N requests are to be served; None where there is no number."""

    arm: str
    cost: float | None  # E[X]
    reward: float | None  # E[R]
    share: float | None  # of the requests, in the fluid optimum
    gap: float | None  # Δ = ν + λE[X] − E[R]
    divergence: float | None  # D, to the nearest law of its model that would be worth a pull
    pulls: float | None  # ln N/D: how often a policy that learns pulls it, as N grows
    lower: float | None  # Δ·ln N/D: what that loses


class RequestBounds(NamedTuple):
    """What a budget and requests can bring, and what no policy that learns can avoid to lose."""

    budget: float
    requests: float
    fluid: Fluid
    prices: list[Price]  # those that are right: two at a vertex, of which all between are, too
    loss: float | None  # what the best policy loses that knows the means, but for O(1)
    arms: list[RequestArm]
    models: dict[str, list[str]]  # by model: the arms that D judges in it
    reason: str  # why a number is missing, or ""

    @property
    def total(self) -> RequestArm:
        """The bound on regret: the sum over the arms."""
        return summed_arms("all arms", self.arms)


def request_bounds(problem: Problem, budget: float, requests: float) -> RequestBounds:
    """The fluid optimum of `problem` at `budget` and `requests`, and the lower bound on regret, arm by arm.

    At a vertex the gaps are those at the price that gives the larger bound.

    >>> from outlay.arms import Bernoulli, Problem
    >>> problem = Problem([Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85)])
    >>> found = request_bounds(problem, budget=250.0, requests=1000)
    >>> round(found.fluid.value, 3), [round(row.share, 3) for row in found.arms], round(found.total.lower, 2)
    (0.45, [0.5, 0.5, 0.0], 14.33)
    """
    requests = real("request_bounds", "requests", requests, above=1)
    best, prices, reason = theory.fluid(problem, budget, requests), right_prices(problem, budget, requests), ""
    loss, distances = None, {}
    try:
        loss, distances = theory.fluid_loss(problem, budget, requests), distances_of(problem, prices)
    except NotCovered as why:
        reason = str(why)
    shares = {best.low: 1.0 - best.share, best.high: best.share}
    models: dict[str, list[str]] = {}
    for k in distances:
        models.setdefault(theory.model_of(problem.arms[k]), []).append(problem.names[k])
    tables = []
    for price in prices:
        gaps, rows = gaps_at(problem, *price), []
        for k, name in enumerate(problem.names):
            gap, distance = float(gaps[k]), distances.get(k)
            pulls = None if distance is None else math.log(requests) / distance if distance > 0 else math.inf
            lower = None if pulls is None else gap * pulls if gap > 0 else 0.0
            means = float(problem.mean_costs[k]), float(problem.mean_rewards[k])
            rows.append(RequestArm(name, *means, shares.get(k, 0.0), gap, distance, pulls, lower))
        tables.append(rows)
    worst = max(tables, key=lambda rows: summed_arms("", rows).lower or 0.0)
    return RequestBounds(float(budget), requests, best, prices, loss, worst, models, reason)


def summed_arms(name: str, rows: list[RequestArm]) -> RequestArm:
    """Shares, pulls and bounds of several arms, added up; one that has a gap and no bound leaves no sum."""
    judged = [row for row in rows if row.gap]
    lower = None if any(row.lower is None for row in judged) else math.fsum(row.lower or 0.0 for row in judged)
    pulls = None if lower is None else math.fsum(row.pulls or 0.0 for row in judged)
    return RequestArm(name, None, None, math.fsum(row.share or 0.0 for row in rows), None, None, pulls, lower)


def request_bounds_table(bounds: RequestBounds) -> "Group":
    """The table for a terminal: `rich.print(request_bounds_table(request_bounds(problem, 250, 1000)))`."""
    from rich.console import Group

    arms, rows = bounds.arms, []
    if len(arms) > _MOST_ROWS:  # the mix and those that cost most, with the others summed up
        ranked = sorted(arms, key=lambda row: (row.share or 0.0, row.lower or 0.0), reverse=True)
        arms = [*ranked[:_MOST_ROWS], summed_arms(f"{len(arms) - _MOST_ROWS:,} more", ranked[_MOST_ROWS:])]
    for row in (*arms, bounds.total):
        numbers = (row.gap, row.divergence, row.pulls, row.lower)
        share = "–" if not row.share else f"{number(100 * row.share, 3)} %"
        rows.append([row.arm, number(row.cost), number(row.reward), share, *map(cell, numbers)])
    headings = ("arm", "cost", "reward", "share", "gap", "D", "pulls ≥", "regret ≥")
    return Group(
        grid(answers(bounds), f"{bounds.requests:,.12g} requests for {number(bounds.budget, 12)}"),
        Table(headings, rows, drop_first=("pulls ≥", "D", "gap"), total=True),
        grid(request_notes(bounds)),
    )


def answers(bounds: RequestBounds) -> list[tuple[str, str]]:
    """What a request brings, what more money and more requests would: each with its sentence."""
    best, first, last = bounds.fluid, bounds.prices[0], bounds.prices[-1]
    total = best.value * bounds.requests
    price, worth = number(best.price), number(best.worth)
    if first != last:
        price = f"{number(last.price)} for more, {number(first.price)} for less"
        worth = f"{number(first.worth)} for more, {number(last.worth)} for less"
    return [
        ("a request brings", f"{number(best.value)} at most, all of them {number(total)}"),
        ("price of money", price),
        ("worth of a request", worth),
        ("the mix", mix(bounds)),
    ]


def mix(bounds: RequestBounds) -> str:
    """Which requests go where, such as 50 % to small, 50 % not served."""
    parts = [(row.share, f"to {cut(row.arm, _LONGEST_NAME)}") for row in bounds.arms if row.share]
    parts.append((1.0 - (bounds.total.share or 0.0), "not served"))
    return ", ".join(f"{number(100 * share, 3)} % {where}" for share, where in parts if share > 1e-12)


def request_notes(bounds: RequestBounds) -> list[tuple[str, str]]:
    """Where the numbers are from and what is not covered."""
    found = [("gap", "what a pull loses: a request and its cost at their prices, less the reward")]
    if bounds.reason:
        found.append(("≥", bounds.reason))
    else:
        found.append(("≥", "for every policy that learns on the whole model, as both grow in proportion"))
        most = bounds.fluid.value * bounds.requests
        if (bounds.total.lower or 0.0) > most:
            found.append(("", f"(so few requests are too few for it: about {cell(most)} is the most that can be lost)"))
    found += [("D", f"{listed(arms)}: {model}") for model, arms in bounds.models.items()]
    if bounds.loss is not None and bounds.loss >= 0.005 * max(1.0, bounds.total.lower or 0.0):
        lost = f"{cell(bounds.loss)} more is lost to chance by whoever knows the means: the budget is near a vertex"
        found.append(("", lost))
    return found
