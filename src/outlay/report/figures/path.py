"""A sample path: one run over its budget."""

import numpy as np
from matplotlib.figure import Figure

from outlay.report.figures.colours import looks
from outlay.report.figures.shares import arm_colours
from outlay.report.figures.style import INK, Width, blank, frame, legend, set_scale, sheet_of
from outlay.report.numbers.paths import path
from outlay.results import Result, checked
from outlay.text import shortened


def path_figure(
    result: Result, policy: str | None = None, run: int = 0, *, width: Width = "page", title: bool = True
) -> Figure:
    """One run of one policy: the pulls of each arm, and the reward for each unit of budget, as the budget is spent.

    Args:
        result: of `simulate`; its budgets are the points that can be drawn.
        policy: its label; the first policy if None.
        run: its number, from 0.
        width: "page" or "column".
        title: False for a figure that a paper's caption explains.
    """
    sheet = sheet_of("path_figure", width)
    numbers = path(checked("path_figure", result), policy, run)
    across = (2, 1) if sheet.narrow else (1, 2)
    figure, [pulls, rate] = blank(sheet, 6.6 if sheet.narrow else 2.9, *across)
    words = f"{shortened(numbers.policy)}, run {numbers.run}" if title else ""
    frame(pulls, sheet, words, "" if sheet.narrow else numbers.across, "pulls")
    served = numbers.across == "requests served"
    frame(rate, sheet, "", numbers.across, "reward per request" if served else "reward per unit spent")
    ends = (float(numbers.spent[0]), float(numbers.spent[-1]))
    ends = ends if ends[0] < ends[1] else (0.8 * ends[0], 1.25 * ends[0])
    handles = []
    for count, colour in zip(numbers.pulls.T, arm_colours(numbers.arms), strict=True):
        shown = np.where(count > 0, count, np.nan)
        handles += pulls.plot(numbers.spent, shown, color=colour, linewidth=sheet.line, marker="o", markersize=2)
    [(colour, _)] = looks([numbers.policy])
    handles += rate.plot(numbers.spent, numbers.rate, color=colour, linewidth=sheet.line, marker="o", markersize=2)
    handles.append(rate.axhline(numbers.best_rate, color=INK, linestyle=(0, (5.0, 3.0)), linewidth=sheet.line / 1.6))
    set_scale(pulls.xaxis, "log", *ends)
    set_scale(rate.xaxis, "log", *ends)
    set_scale(pulls.yaxis, "log", 0.8, 1.6 * float(numbers.pulls.max()))
    lines = ("reward ÷ requests", "most per request") if served else ("reward ÷ cost", "best rate")
    legend(figure, sheet, handles, [*numbers.arms.labels, *lines])
    return figure
