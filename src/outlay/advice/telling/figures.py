"""Drawing charts of dots, in the look of every other figure."""

from matplotlib.figure import Figure

from outlay.advice.telling.charts import KINDS, REFERENCE, Dots
from outlay.report.style import INK, PALETTE, REST, Width, blank, frame, set_scale, sheet_of
from outlay.text import cut

_COLOURS = dict(zip(KINDS, (PALETTE[2], PALETTE[0], PALETTE[4], REST, PALETTE[0], INK), strict=True))


def dots_figure(chart: Dots, width: Width = "page") -> Figure:
    """One line per dot, with its interval, and an arrow where that goes on; "page" is 7 inches wide, "column" 3.3."""
    sheet = sheet_of("dots_figure", width)
    figure, [axes] = blank(sheet, 1.6 + 0.44 * len(chart.dots) if sheet.narrow else 1.0 + 0.24 * len(chart.dots))
    if engine := figure.get_layout_engine():
        engine.set(w_pad=0.12)  # type: ignore[call-arg]  # fonts of a browser may be wider
    frame(axes, sheet, "", chart.axis, grid="x")
    figure.suptitle(chart.title, x=0.01, ha="left", fontsize=sheet.text + 0.5, color=INK)  # names take its place else
    left, right = chart.view
    set_scale(axes.xaxis, "linear", left, right, ticks=4 if sheet.narrow else 5)
    for row, dot in enumerate(chart.dots):
        colour = _COLOURS[dot.kind]
        axes.hlines(row, max(dot.low, left), min(dot.high, right), color=colour, linewidth=1.6 * sheet.line, alpha=0.6)
        for beyond, end, arrow in ((dot.low < left, left, "<"), (dot.high > right, right, ">")):
            if beyond:
                axes.plot(end, row, arrow, color=colour, markersize=2.6 * sheet.line, clip_on=False)
        axes.plot(dot.value, row, "o", color=colour, markersize=2.6 * sheet.line)
        if dot.kind == REFERENCE:
            axes.axvline(dot.value, color=INK, linestyle=(0, (5.0, 3.0)), linewidth=sheet.line / 1.5)
    axes.set_yticks(
        range(len(chart.dots)), [cut(dot.label, 22 if sheet.narrow else 28) for dot in chart.dots], parse_math=False
    )
    axes.set_ylim(len(chart.dots) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0.0, pad=6.0)
    axes.spines["left"].set_visible(False)
    return figure
