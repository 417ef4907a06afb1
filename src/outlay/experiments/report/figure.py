"""Drawing a sweep: no arithmetic, only lines, bands and names."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from outlay.experiments.report.chart import Panel, SweepChart
from outlay.report.figures.colours import looks
from outlay.report.figures.style import (
    INK,
    Sheet,
    Width,
    band,
    blank,
    folded,
    frame,
    legend,
    set_scale,
    sheet_of,
)
from outlay.text import tick

_COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2}  # of panels, by their number; more than four stand in threes


def sweep_figure(chart: SweepChart, width: Width = "page", *, title: bool = True) -> Figure:
    """Regret against the swept value, with 95 % bands and the lower bound, dashed, where there is one."""
    sheet = sheet_of("sweep_figure", width)
    columns = 1 if sheet.narrow else _COLUMNS.get(len(chart.panels), 3)
    rows = -(-len(chart.panels) // columns)
    figure, panels = blank(sheet, (4.2 if columns == 1 else 3.0) * rows, rows, columns, sharey=True)
    named: dict[str, Line2D] = {}
    for i, (axes, panel) in enumerate(zip(panels, chart.panels, strict=False)):
        frame(axes, sheet, panel.title, chart.name, "regret" if i % columns == 0 else "")
        set_scale(axes.xaxis, chart.across.scale, chart.across.bottom, chart.across.top)
        set_scale(axes.yaxis, chart.axis.scale, chart.axis.bottom, chart.axis.top)
        if chart.words or 0 < len(chart.ticks) <= (8 if columns == 1 else 5):
            axes.set_xticks(chart.ticks, chart.words or list(map(tick, chart.ticks)), parse_math=False)
        named |= _lines(axes, panel, sheet, bool(chart.words))
    for axes in panels[len(chart.panels) :]:
        axes.set_visible(False)
    if len(chart.panels) == 1 and not chart.panels[0].title:
        frame(panels[0], sheet, chart.title if title else "", chart.name, "regret")
    elif title:
        figure.suptitle(folded(chart.title, sheet), x=0.01, ha="left", fontsize=sheet.text + 0.5, color=INK)
    legend(figure, sheet, list(named.values()), list(named))
    return figure


def _lines(axes: Axes, panel: Panel, sheet: Sheet, apart: bool) -> dict[str, Line2D]:
    """Each policy as a line with its band, or, where the values are words, as points with bars."""
    drawn = {}
    chosen = looks([curve.label for curve in panel.curves])
    for curve, (colour, mark) in zip(panel.curves, chosen, strict=True):
        if apart:
            axes.vlines(curve.budgets, curve.low, curve.high, color=colour, linewidth=sheet.line)
        else:
            band(axes, curve, colour)
        [drawn[curve.label]] = axes.plot(
            curve.budgets, curve.mean, color=colour, linestyle="" if apart else "-", linewidth=sheet.line,
            marker={"": "o", "o": "s"}.get(mark, mark), markersize=4.5 if mark else 3.5,
            markerfacecolor="white" if mark else colour,
        )  # fmt: skip
    if panel.floor:
        xs, values = panel.floor.budgets, panel.floor.values
        [drawn[panel.floor.label]] = axes.plot(
            xs,
            values,
            color=INK,
            linestyle="" if apart else (0, (5, 3)),
            linewidth=sheet.line / 1.6,
            marker="_",
            markersize=14 if apart else 6,
        )
    return drawn
