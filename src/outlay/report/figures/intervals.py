"""Confidence intervals of rates, closing in."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from outlay.arms import Problem
from outlay.policies.protocol import Policy
from outlay.report.figures.style import ARMS, INK, Width, blank, frame, legend, set_scale, sheet_of
from outlay.report.numbers.intervals import intervals

_TRUE = (0, (5.0, 3.0))


def intervals_figure(
    problem: Problem,
    policy: Policy | None = None,
    budget: float | None = None,
    seed: int = 0,
    coverage: float = 0.95,
    *,
    width: Width = "page",
    title: bool = True,
) -> Figure:
    """Fieller's confidence interval of each arm's rate along one run, next to the true rates (dashed).

    Where the policy pulls, an interval closes in; an arm that is hardly pulled keeps a wide one. That is not a
    flaw: the interval only has to end below the best arm's. At most six arms are shown, those with the largest rates.

    Args:
        problem: the arms.
        policy: `policies.default()` if None.
        budget: where the run ends; 1000 times the largest mean cost if None.
        seed: the run is the first one that `simulate` plays with it.
        coverage: of each interval, between 0 and 1.
        width: "page" or "column".
        title: False for a figure that a paper's caption explains.
    """
    sheet = sheet_of("intervals_figure", width)
    numbers = intervals(problem, policy, budget, seed, coverage)
    figure, [axes] = blank(sheet, 4.6 if sheet.narrow else 3.9)
    words = f"{100 * numbers.coverage:g} % intervals of the rates, a run of {numbers.policy}"
    frame(axes, sheet, words if title else "", "budget spent", "rate")
    handles = []
    for low, high, rate, colour in zip(numbers.low, numbers.high, numbers.rate, ARMS, strict=False):
        ends = np.where(np.isfinite([low, high]).all(axis=0), [low, high], np.nan)
        axes.fill_between(numbers.spent, ends[0], ends[1], color=colour, alpha=0.07, linewidth=0, step="post")
        handles.append(axes.step(numbers.spent, ends.T, color=colour, linewidth=sheet.line, where="post")[0])
        axes.axhline(rate, color=colour, linestyle=_TRUE, linewidth=sheet.line / 1.5)
    set_scale(axes.xaxis, "log", float(numbers.spent[0]), float(numbers.spent[-1]))
    set_scale(axes.yaxis, "linear", *numbers.view)
    handles.append(Line2D([], [], color=INK, linestyle=_TRUE, linewidth=sheet.line / 1.5))
    legend(figure, sheet, handles, [*numbers.arms, "true rate"])
    return figure
