"""Policies by problems."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from outlay.report.figures.style import INK, PALETTE, Width, blank, frame, sheet_of, stacked
from outlay.report.numbers.heat import Measure, heat_map
from outlay.results import RegretKind, Result

_DARKEST = 0.65  # what ink is still read on


def heatmap_figure(
    results: Mapping[str, Result], measure: Measure = "lost", kind: RegretKind = "pseudo", *, width: Width = "page",
    title: bool = True,
) -> Figure:  # fmt: skip
    """A cell for each policy (row) and problem (column): the darker, the more was lost; the best of each is bold.

    Args:
        results: from a problem's name, or a parameter's value in a sweep, to its result.
        measure: "lost", the part of what the best arm alone would earn; "ratio", as a multiple of the best policy's
            regret.
        kind: "pseudo" or "realised", as for `Result.regret`.
        width: "page" or "column".
        title: False for a figure that a paper's caption explains.
    """
    sheet = sheet_of("heatmap_figure", width)
    numbers = heat_map(results, measure, kind)
    rows, columns = len(numbers.policies), len(numbers.problems)
    slant = 35 if columns > 3 and max(map(len, numbers.problems)) > 60 // columns else 0
    figure, [axes] = blank(sheet, (2.2 if slant else 0.8) + (0.62 if sheet.narrow else 0.34) * rows)
    frame(axes, sheet, numbers.title if title else "", grid="")
    small = sheet.text - (1.0 if columns > 6 else 0.0)
    for row in range(rows):
        for column in range(columns):
            shade = _DARKEST * float(numbers.shade[row, column])
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=PALETTE[0], alpha=shade, linewidth=0))
            weight = "bold" if numbers.smallest[row, column] else "normal"
            words = numbers.text[row][column]
            middle = (column + 0.5, row + 0.5)
            axes.text(*middle, words, ha="center", va="center", color=INK, fontsize=small, fontweight=weight)
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    names = [stacked(label, sheet) for label in numbers.policies]
    axes.set_yticks([row + 0.5 for row in range(rows)], names, parse_math=False)
    axes.set_xticks(
        [column + 0.5 for column in range(columns)], numbers.problems, parse_math=False, rotation=slant,
        ha="right" if slant else "center", rotation_mode="anchor",
    )  # fmt: skip
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure
