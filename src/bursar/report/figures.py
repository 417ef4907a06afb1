"""Drawing: matplotlib figures from the numbers in `curves`, without pyplot and without a display."""

import io
from contextlib import AbstractContextManager
from itertools import cycle
from os import PathLike

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bursar.arms import Problem
from bursar.engine.result import Result
from bursar.report.bounds import bounds_chart
from bursar.report.curves import Chart, Curve, Line, regret_chart

# Okabe and Ito's palette, told apart with every common colour blindness; its yellow is too pale for a line.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, FAINT = "#333333", "#DDDDDD"
_DASHES = ((5, 3), (1, 2))


def regret_figure(result: Result, bounds: bool = True, kind: str = "pseudo") -> Figure:
    """Mean regret over the budget with its 95 % band, one line per policy, next to the lower bound where there is one.

    The budget axis is logarithmic: a policy at the limit of what is possible runs parallel to the dashed bound. The
    regret axis is logarithmic too when one policy would flatten the others. `kind` is that of `Result.regret`.
    """
    return draw(regret_chart(result, bounds, kind))


def bounds_figure(problem: Problem, budget: float) -> Figure:
    """Every bound on the regret of `problem`, from a thousandth of `budget` up to it."""
    return draw(bounds_chart(problem, budget))


def draw(chart: Chart) -> Figure:
    """A chart as a figure: lines with bands, their names at their ends."""
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _frame(axes, chart)
    styles = zip(cycle(PALETTE), cycle(["-"] * len(PALETTE) + ["-."] * len(PALETTE)), strict=False)
    for curve, height, (colour, style) in zip(chart.curves, chart.heights, styles, strict=False):
        if len(curve.budgets) == 1:
            axes.vlines(curve.budgets, curve.low, curve.high, color=colour, linewidth=1.8)
        axes.fill_between(curve.budgets, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(curve.budgets, curve.mean, color=colour, linestyle=style, linewidth=1.8, marker=_marker(curve, "o"))
        _label(axes, curve.label, height, colour)
    for line, height, dashes in zip(chart.bounds, chart.heights[len(chart.curves) :], _DASHES, strict=False):
        axes.plot(
            line.budgets,
            line.values,
            color=INK,
            linestyle=(0, dashes),
            linewidth=1.2,
            marker=_marker(line, "_"),
            markersize=14,
        )
        _label(axes, line.label, height, INK)
    return figure


def save_figure(figure: Figure, path: str | PathLike[str]) -> None:
    """Write `figure` in the format of the path's ending: .png at print resolution, .svg, .pdf."""
    dateless = {"Date": None} if str(path).endswith(".svg") else None
    with _svg_settings():
        figure.savefig(path, dpi=200, metadata=dateless)


def svg_text(figure: Figure) -> str:
    """The figure as an `<svg>` element to put into a page; every label in it is escaped."""
    text = io.StringIO()
    with _svg_settings():
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _svg_settings() -> AbstractContextManager[None]:
    """Text stays text in an SVG (small, searchable, editable), and the same figure gives the same file."""
    return mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "bursar"})


def _frame(axes: Axes, chart: Chart) -> None:
    axes.set_xscale("log")
    axes.set_yscale(chart.axis.scale)
    axes.set_ylim(chart.axis.bottom, chart.axis.top)
    lines: list[Curve | Line] = [*chart.curves, *chart.bounds]
    axes.margins(x=0.0 if len(lines[0].budgets) > 1 else 0.1)
    axes.set_title(chart.title, loc="left", fontsize=10.5, color=INK)
    axes.set_xlabel("budget", color=INK)
    axes.set_ylabel("regret", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#888888")
    axes.tick_params(which="both", colors=INK, labelsize=9)
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)


def _marker(curve: Curve | Line, marker: str) -> str:
    """A mark where there is only one point, and so no line."""
    return marker if len(curve.budgets) == 1 else ""


def _label(axes: Axes, text: str, height: float, colour: str) -> None:
    """Name a line at its right end; dollar signs are text, not mathematics."""
    axes.annotate(
        text, (1.015, height), xycoords="axes fraction", va="center", color=colour, fontsize=9.5, parse_math=False
    )
