"""The numbers of a regret figure: curves with bands, bounds from below and above, the axis and where labels go."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

import numpy as np

from outlay.arms import Problem
from outlay.checks import word
from outlay.errors import BadParameter, NotCovered
from outlay.results import Floats, RegretKind, Result, axis_of, regret_summary
from outlay.text import shortened
from outlay.theory import lower_bound, rates, upper_bound

_LOG_FROM = 20.0  # a linear axis hides what is this many times smaller than the largest regret
# A bound is drawn if it is at most this many times the largest regret: a larger one would flatten the rest.
FLOOR_HELPS = {"linear": 5.0, "log": 100.0}
_CEILING_HELPS = {"linear": 1.5, "log": 10.0}
Scale = Literal["linear", "log"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Centre = Literal["mean", "median"]
CENTRES: tuple[Centre, ...] = get_args(Centre)
_COLUMNS = {"mean": ("mean", "low", "high"), "median": ("q50", "q10", "q90")}
LOWER_BOUND, PRINTED_BOUND = "lower bound as B grows", "the same, as printed"
REQUESTS_BOUND = "lower bound as N grows"
LABEL_GAP = 0.055  # least distance of two labels, of the axis


class Curve(NamedTuple):
    """Mean regret of one policy over budgets, with the 95 % interval of the mean; or its median, with q10 and q90."""

    label: str
    budgets: Floats
    mean: Floats
    low: Floats
    high: Floats


class Line(NamedTuple):
    """A bound: a curve without a band. `policy` is the index of the curve that it is about, if it is about one."""

    label: str
    budgets: Floats
    values: Floats
    policy: int | None = None


class Floor(NamedTuple):
    """The lower bound's coefficient of ln B, of which the paper prints half, or None and the reason for that.

    With `requests`, N, it is a coefficient of ln N, and the paper prints none.
    """

    sharp: float | None
    reason: str = ""
    requests: int | None = None

    def at(self, budget: float) -> float | None:
        """The sharp bound at `budget`, or at its requests, where that is positive, else None."""
        size = budget if self.requests is None else self.requests
        if not self.sharp or size <= 1:
            return None
        return self.sharp * math.log(size)


class Axis(NamedTuple):
    """The regret axis: "linear" or "log", and its ends."""

    scale: Scale
    bottom: float
    top: float

    def height(self, value: float) -> float:
        """Where `value` stands on the axis: 0 at the bottom, 1 at the top."""
        ends = np.array([self.bottom, value, self.top])
        if self.scale == "log":
            ends = np.log(np.maximum(ends, self.bottom))
        return float(np.clip((ends[1] - ends[0]) / (ends[2] - ends[0]), 0.0, 1.0))


class Chart(NamedTuple):
    """Everything a regret figure shows."""

    title: str
    curves: list[Curve]
    bounds: list[Line]
    axis: Axis
    across: str = "budget"  # what the curves are over

    @property
    def heights(self) -> list[float]:
        """Those of the labels: the curves' in order, then the bounds'."""
        ends = [float(curve.mean[-1]) for curve in self.curves] + [float(line.values[-1]) for line in self.bounds]
        return spread([self.axis.height(end) for end in ends], LABEL_GAP)


def regret_chart(
    result: Result,
    bounds: bool = True,
    kind: RegretKind = "pseudo",
    scale: Scale | None = None,
    floor: Floor | None = None,
    centre: Centre = "mean",
) -> Chart:
    """The figure of `result` in numbers; `floor` is its lower bound, if that is known already."""
    curves = regret_curves(result, kind, centre)
    axis, lines = regret_axis(curves, [], scale), list[Line]()
    if bounds:
        most = max(float(curve.mean.max()) for curve in curves)
        lines = [line for line in bound_lines(result, floor) if line.values[-1] <= most * FLOOR_HELPS[axis.scale]]
        lines += [line for line in ceiling_lines(result) if line.values[-1] <= most * _CEILING_HELPS[axis.scale]]
        axis = regret_axis(curves, lines, axis.scale)
    bands = "95 % bands" if centre == "mean" else "with the middle 80 %"
    runs = "1 run" if result.runs == 1 else f"{centre} of {result.runs} runs, {bands}"
    name = "Pseudo-regret" if kind == "pseudo" else "Realised regret"
    across = axis_of(result)[0]
    if across == "budget" and result.requests is not None and len(set(result.requests.tolist())) > 1:
        across = "budget, and requests with it"  # a point is for its own requests
    return Chart(f"{name}, {runs}", curves, lines, axis, across)


def regret_curves(result: Result, kind: RegretKind = "pseudo", centre: Centre = "mean") -> list[Curve]:
    """One curve per policy, in the result's order."""
    names = _COLUMNS[word("regret_figure", "centre", centre, CENTRES)]
    summary = regret_summary(result, kind)
    across = axis_of(result)[1].astype(np.float64)
    shown = np.isfinite(across)  # an infinite budget beside others has no place on the axis
    return [
        Curve(shortened(label), across[shown], *(values[shown] for values in numbers))
        for label, *numbers in zip(result.labels, *(getattr(summary, name) for name in names), strict=True)
    ]


def floor_of(problem: Problem, budget: float | None = None, requests: int | None = None) -> Floor:
    """The lower bound of `problem`, or why the theory gives none; with requests, for B and N in this proportion."""
    if problem.later:
        return Floor(None, "no lower bound: the arms of this problem change", requests)
    try:
        sharp = lower_bound(problem) if requests is None else lower_bound(problem, budget=budget, requests=requests)
    except NotCovered as reason:
        return Floor(None, str(reason), requests)
    except BadParameter:  # rates beyond what the theory calculates with
        return Floor(None, "no lower bound: the numbers of this problem are too large or too small for it", requests)
    return Floor(sharp, requests=requests)


def floor_for(result: Result) -> Floor:
    """The lower bound at the last budget of a result, or why there is none."""
    if result.requests is None:
        return floor_of(result.problem)
    return floor_of(result.problem, float(result.budgets[-1]), int(result.requests[-1]))


def bound_lines(result: Result, floor: Floor | None = None) -> list[Line]:
    """The lower bound at the budgets above 1, sharp and as printed; nothing where there is no bound to draw."""
    floor = floor or floor_for(result)
    if not floor.sharp:
        return []
    if result.requests is not None:
        # The bound is for budgets in proportion to the requests, infinite ones among them.
        across, several = axis_of(result)[1].astype(np.float64), result.requests > 1
        each = result.budgets / result.requests
        alike = bool(((each == each[0]) | np.isclose(each, each[0], rtol=1e-9)).all())
        values = floor.sharp * np.log(result.requests[several])
        return [Line(REQUESTS_BOUND, across[several], values)] if alike and several.any() else []
    budgets = result.budgets[result.budgets > 1]
    if budgets.size == 0:
        return []
    values = floor.sharp * np.log(budgets)
    return [Line(LOWER_BOUND, budgets, values), Line(PRINTED_BOUND, budgets, values / 2)]


def ceiling_lines(result: Result) -> list[Line]:
    """Per policy that a theorem covers, the leading term of its bound from above: α·ln(2B/μ_*)·Σ C_k."""
    lines: list[Line] = []
    if result.requests is not None:  # no theorem is about them
        return lines
    for index, (label, policy) in enumerate(result.policies.items()):
        try:
            bound = upper_bound(result.problem, policy, float(result.budgets[-1]))
        except NotCovered:
            continue
        if not 0.0 < bound.value < math.inf:
            continue
        least = rates(result.problem).min_mean_cost
        budgets = result.budgets[result.budgets > least / 2.0]
        name = f"{bound.theorem.partition(' (')[0]} for {label}"
        lines.append(Line(shortened(name), budgets, bound.value * levels(budgets, least), index))
    return lines


def levels(budgets: Floats, least: float) -> Floats:
    """ln(2B/μ_*), a factor of every theorem's bound, as a part of its value at the last budget."""
    found: Floats = np.log(budgets) - math.log(least / 2.0)
    return np.asarray(found / found[-1])


def regret_axis(curves: Sequence[Curve], bounds: Sequence[Line], scale: Scale | None = None) -> Axis:
    """Linear from zero, or logarithmic where one policy would flatten the others; or `scale`, if anything is > 0."""
    if scale is not None:
        word("regret_figure", "scale", scale, SCALES)
    means = np.concatenate([curve.mean for curve in curves])
    highs = np.concatenate([curve.high for curve in curves] + [means] + [line.values for line in bounds])
    lows = np.concatenate([curve.low for curve in curves] + [means])
    top = float(np.nanmax(highs))
    finals = np.array([curve.mean[-1] for curve in curves])
    apart = np.count_nonzero(finals > 0) > 1 and finals.max() > _LOG_FROM * finals[finals > 0].min()
    if (scale == "log" or (scale is None and apart)) and (means > 0).any():
        return Axis("log", float(means[means > 0].min()) / 1.5, top * 1.5)
    bottom = min(0.0, float(np.nanmin(lows)))
    return Axis("linear", bottom * 1.05, top + 0.05 * (top - bottom) if top > bottom else bottom + 1.0)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Heights in [0, 1] moved as little as a simple sweep can so that neighbours are `gap` apart, in the same order."""
    count = len(heights)
    gap = min(gap, 1.0 / max(count - 1, 1))
    order = sorted(range(count), key=lambda i: heights[i])
    moved = list(heights)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + gap)
    for rank, i in enumerate(reversed(order)):
        moved[i] = min(moved[i], 1.0 - rank * gap)
    return moved
