"""The numbers of a regret figure: curves with bands, the lower bound, the axis and where labels go."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.arms import Problem
from bursar.engine.result import Result
from bursar.errors import NotCovered
from bursar.theory import lower_bound

Floats = NDArray[np.float64]

# A linear axis hides what is this many times smaller than the largest regret.
_LOG_FROM = 20.0
_LONGEST_LABEL = 28

LOWER_BOUND = "lower bound as B grows"
LABEL_GAP = 0.055  # least distance of two labels, of the axis


class Curve(NamedTuple):
    """Mean regret of one policy over budgets, with the 95 % interval of the mean."""

    label: str
    budgets: Floats
    mean: Floats
    low: Floats
    high: Floats


class Line(NamedTuple):
    """A curve without a band."""

    label: str
    budgets: Floats
    values: Floats


class Floor(NamedTuple):
    """The lower bound's coefficients of ln B, sharp and as printed in the paper, or None and the reason for that."""

    sharp: float | None
    printed: float | None
    reason: str = ""

    def at(self, budget: float) -> float | None:
        """The sharp bound at `budget` where that is positive, else None."""
        if not self.sharp or budget <= 1:
            return None
        return self.sharp * math.log(budget)


class Axis(NamedTuple):
    """The regret axis: "linear" or "log", and its ends."""

    scale: str
    bottom: float
    top: float

    def height(self, value: float) -> float:
        """Where `value` stands on the axis: 0 at the bottom, 1 at the top."""
        ends = np.array([self.bottom, value, self.top])
        if self.scale == "log":
            ends = np.log(np.maximum(ends, self.bottom))
        return float(np.clip((ends[1] - ends[0]) / (ends[2] - ends[0]), 0.0, 1.0))


class Chart(NamedTuple):
    """Everything a regret figure shows; `heights` places the labels: the curves' in order, then the bounds'."""

    title: str
    curves: list[Curve]
    bounds: list[Line]
    axis: Axis
    heights: list[float]


def regret_chart(result: Result, bounds: bool = True, kind: str = "pseudo") -> Chart:
    """The figure of `result` in numbers."""
    curves = regret_curves(result, kind)
    lines = bound_lines(result) if bounds else []
    axis = regret_axis(curves, lines)
    ends = [float(curve.mean[-1]) for curve in curves] + [float(line.values[-1]) for line in lines]
    runs = "1 run" if result.runs == 1 else f"mean of {result.runs} runs, 95 % bands"
    name = "Pseudo-regret" if kind == "pseudo" else "Realised regret"
    return Chart(f"{name}, {runs}", curves, lines, axis, spread([axis.height(end) for end in ends], LABEL_GAP))


def regret_curves(result: Result, kind: str = "pseudo") -> list[Curve]:
    """One curve per policy, in the result's order."""
    frame = result.regret(kind)
    columns = [
        frame[name].to_numpy(dtype=np.float64).reshape(len(result.labels), -1) for name in ("mean", "low", "high")
    ]
    return [
        Curve(shortened(label), result.budgets, *numbers)
        for label, *numbers in zip(result.labels, *columns, strict=True)
    ]


def floor_of(problem: Problem) -> Floor:
    """The lower bound of `problem`, or why the theory gives none."""
    try:
        return Floor(lower_bound(problem), lower_bound(problem, sharp=False))
    except NotCovered as reason:
        return Floor(None, None, str(reason))


def bound_lines(result: Result) -> list[Line]:
    """The sharp bound at the budgets above 1; nothing where there is no bound to draw."""
    coefficient = floor_of(result.problem).sharp
    budgets = result.budgets[result.budgets > 1]
    if not coefficient or budgets.size == 0:
        return []
    return [Line(LOWER_BOUND, budgets, coefficient * np.log(budgets))]


def regret_axis(curves: Sequence[Curve], bounds: Sequence[Line]) -> Axis:
    """Linear from zero, or logarithmic when one policy would flatten the others."""
    means = np.concatenate([curve.mean for curve in curves])
    highs = np.concatenate([curve.high for curve in curves] + [means] + [line.values for line in bounds])
    lows = np.concatenate([curve.low for curve in curves] + [means])
    top = float(np.nanmax(highs))
    finals = np.array([curve.mean[-1] for curve in curves])
    if np.count_nonzero(finals > 0) > 1 and finals.max() > _LOG_FROM * finals[finals > 0].min():
        return Axis("log", float(means[means > 0].min()) / 1.5, top * 1.5)
    bottom = min(0.0, float(np.nanmin(lows)))
    return Axis("linear", bottom * 1.05, top + 0.05 * (top - bottom) if top > bottom else bottom + 1.0)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Heights in [0, 1] moved as little as a simple sweep can so that neighbours are `gap` apart, in the same order.

    >>> [round(height, 3) for height in spread([0.5, 0.5, 0.98, 1.0], 0.1)]
    [0.5, 0.6, 0.9, 1.0]
    """
    count = len(heights)
    gap = min(gap, 1.0 / max(count - 1, 1))
    order = sorted(range(count), key=lambda i: heights[i])
    moved = list(heights)
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + gap)
    for rank, i in enumerate(reversed(order)):
        moved[i] = min(moved[i], 1.0 - rank * gap)
    return moved


def shortened(label: str) -> str:
    """A label on one line that leaves room for the picture."""
    text = " ".join(label.split())
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
