"""The regret of every run."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from outlay.report.figures.colours import looks
from outlay.report.figures.style import INK, SOFT, Width, blank, frame, legend, set_scale, sheet_of, stacked
from outlay.report.numbers.distribution import distribution
from outlay.results import RegretKind, Result, checked
from outlay.text import counted


def distribution_figure(
    result: Result, kind: RegretKind = "pseudo", *, width: Width = "page", title: bool = True
) -> Figure:
    """Regret at the largest budget, one dot per run, with mean and median; of more than 300 runs, 300 evenly by rank.

    Often there are two humps: most runs find the best arm soon, and a few stay with another arm for a long time. Then
    the mean lies where there is no run. On a logarithmic axis, runs without regret stand at the left end.
    """
    sheet = sheet_of("distribution_figure", width)
    numbers = distribution(checked("distribution_figure", result), kind)
    axis, strips = numbers.axis, numbers.strips
    figure, [axes] = blank(sheet, 1.0 + (0.75 if sheet.narrow else 0.48) * len(strips))
    words = f"Regret of {counted(result.runs, 'run')} at {numbers.end}" if title else ""
    frame(axes, sheet, words, "regret", grid="x")
    set_scale(axes.xaxis, axis.scale, axis.bottom, axis.top)
    marks = {
        "a run": Line2D([], [], marker="o", linestyle="", color=SOFT, markersize=sheet.line * 1.6, mew=0),
        "median": Line2D([], [], marker="|", linestyle="", color=INK, markersize=sheet.text * 1.6, mew=sheet.line),
        "mean": Line2D([], [], marker="D", linestyle="", color=INK, markersize=sheet.line * 2.4, mew=0),
    }
    colours = [colour for colour, _ in looks([strip.label for strip in strips])]
    for row, strip in enumerate(strips):
        _draw(axes, marks["a run"], colours[row], strip.regret, row + 0.6 * strip.height, alpha=0.6)
        _draw(axes, marks["median"], INK, [strip.median], [row])
        _draw(axes, marks["mean"], INK, [strip.mean], [row])
    axes.set_yticks(range(len(strips)), [stacked(strip.label, sheet) for strip in strips], parse_math=False)
    axes.set_ylim(len(strips) - 0.5, -0.5)
    legend(figure, sheet, list(marks.values()), list(marks))
    return figure


def _draw(axes: Axes, like: Line2D, colour: str, x: ArrayLike, y: ArrayLike, alpha: float = 1.0) -> None:
    """Marks like the one in the legend."""
    axes.plot(
        x,
        y,
        linestyle="",
        marker=like.get_marker(),
        color=colour,
        markersize=like.get_markersize(),
        mew=like.get_markeredgewidth(),
        clip_on=False,
        alpha=alpha,
    )
