"""The numbers of a sweep's figure: regret against the swept value, one panel per combination of the other sweeps."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.experiments.report.summary import Row, where
from outlay.experiments.setup.plan import title_of
from outlay.experiments.setup.sweep import Sweep
from outlay.report.numbers.curves import (
    FLOOR_HELPS,
    LOWER_BOUND,
    REQUESTS_BOUND,
    Axis,
    Curve,
    Floats,
    Line,
    Scale,
    regret_axis,
)  # fmt: skip
from outlay.text import shortened

_LOG_FROM = 20.0  # largest ÷ smallest
_APART = 0.08  # between the points of two policies at a word
_TICKS_APART = 0.09  # of the axis: closer ones could overlap


class Panel(NamedTuple):
    """The curves at one combination of the other sweeps' values."""

    title: str
    curves: list[Curve]
    floor: Line | None


class SweepChart(NamedTuple):
    """Everything the figure shows.

    `ticks` are the values, empty where they stand too close to be named; where they are `words`, 0, 1, 2 and so on.
    `unbounded` says that a lower bound was left out since it is far above all regrets, and would flatten them.
    """

    title: str
    name: str
    ticks: list[float]
    words: list[str]
    across: Axis
    axis: Axis
    panels: list[Panel]
    unbounded: bool


def sweep_chart(sweeps: Sequence[Sweep], rows: Sequence[Row], runs: int) -> SweepChart:
    """The figure of a sweep in numbers: the first sweep goes along the axis."""
    first = sweeps[0]
    words = [str(value) for value in first.values] if isinstance(first.values[0], str) else []
    order = np.argsort([0.0] * len(words) if words else [float(value) for value in first.values], kind="stable")
    xs = np.arange(len(words), dtype=float) if words else np.sort(np.array(first.values, dtype=float))
    groups: dict[str, list[Row]] = {}
    for row in rows:
        others = {name: value for name, value in row.values.items() if name != first.name}
        groups.setdefault(title_of(others), []).append(row)
    panels = [_panel(title, group, xs, order, _APART if words else 0.0) for title, group in groups.items()]
    curves = [curve for panel in panels for curve in panel.curves]
    tops = np.array([curve.mean.max() for curve in curves])
    apart = (tops > 0).any() and tops.max() > _LOG_FROM * tops[tops > 0].min()
    means = f"mean of {runs} runs, 95 % bands" if runs > 1 else "1 run"
    scale: Scale = "log" if apart else "linear"
    high = float(tops.max()) * FLOOR_HELPS[scale]
    kept = [panel._replace(floor=None) if _highest(panel) > high else panel for panel in panels]
    axis = regret_axis(curves, [panel.floor for panel in kept if panel.floor], scale)
    title = f"Regret at {where(rows)}, {means}"
    across = _across(xs, words)
    heights = [across.height(x) for x in xs.tolist()]
    near = not words and any(after - before < _TICKS_APART for before, after in pairwise(heights))
    return SweepChart(title, first.name, [] if near else xs.tolist(), words, across, axis, kept, kept != panels)


def _panel(title: str, rows: Sequence[Row], xs: Floats, order: NDArray[np.intp], apart: float) -> Panel:
    labels = list(dict.fromkeys(row.policy for row in rows))
    curves = []
    for i, label in enumerate(labels):
        mine = [row for row in rows if row.policy == label]
        mean, low, high = (
            np.array(column)[order] for column in zip(*((r.mean, r.low, r.high) for r in mine), strict=True)
        )
        aside = apart * (i - (len(labels) - 1) / 2)
        curves.append(Curve(shortened(label), xs + aside, mean, low, high))
    floor = np.array([row.lower_bound for row in rows if row.policy == rows[0].policy])[order]
    name = LOWER_BOUND if rows[0].requests is None else REQUESTS_BOUND
    return Panel(title, curves, None if np.isnan(floor).all() else Line(name, xs, floor))


def _highest(panel: Panel) -> float:
    return -np.inf if panel.floor is None else float(np.nanmax(panel.floor.values))


def _across(xs: Floats, words: list[str]) -> Axis:
    """The axis of the swept values: logarithmic where they are positive and far apart."""
    low, high = float(xs[0]), float(xs[-1])
    if low > 0 and high > _LOG_FROM * low:
        return Axis("log", low / 1.1, high * 1.1)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return Axis("linear", low - (0.3 if words else margin), high + (0.3 if words else margin))
