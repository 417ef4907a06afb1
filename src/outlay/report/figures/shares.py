"""The share of pulls that each arm got, over the budget."""

from math import ceil

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from outlay.report.figures.style import ARMS, REST, Width, blank, frame, legend, set_scale, sheet_of
from outlay.report.numbers.shares import Grouping, shares
from outlay.results import Result, checked
from outlay.text import cut


def pulls_figure(result: Result, *, width: Width = "page") -> Figure:
    """Per policy, which part of its pulls up to each budget went to which arm; the best arm is at the bottom.

    A policy that learns fills its panel with the colour of the best arm. Of many arms the best one and those pulled
    most are shown by name.
    """
    sheet = sheet_of("pulls_figure", width)
    numbers = shares(checked("pulls_figure", result))
    columns = min(len(numbers.policies), 2 if sheet.narrow else 4)
    rows = ceil(len(numbers.policies) / columns)
    height = (2.3 if sheet.narrow else 1.5) * rows + 0.5
    room = 18 if columns > 2 or sheet.narrow else 28
    figure, panels = blank(sheet, height, rows, columns, sharex=True, sharey=True)
    colours = arm_colours(numbers.arms)
    budgets, share = numbers.budgets, numbers.share
    if len(budgets) == 1:  # one budget has no width to be filled: a bar
        budgets, share = budgets[0] * np.array([0.8, 1.25]), np.repeat(share, 2, axis=1)
    for axes, label, part in zip(panels, numbers.policies, share, strict=False):
        frame(axes, sheet, cut(label, room), grid="")
        axes.stackplot(budgets, part.T, colors=colours, linewidth=0)
        set_scale(axes.xaxis, "log", float(budgets[0]), float(budgets[-1]), ticks=3)
        axes.set_ylim(0.0, 1.0)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    for axes in panels[len(numbers.policies) :]:
        axes.set_visible(False)
    for index, axes in enumerate(panels[: len(numbers.policies)]):
        lowest = index + columns >= len(numbers.policies)
        axes.tick_params(labelbottom=lowest)
        axes.set_xlabel(numbers.axis if lowest else "")
    panels[0].set_ylabel("share of pulls")
    legend(figure, sheet, [Patch(color=colour) for colour in colours], numbers.arms.labels)
    return figure


def arm_colours(arms: Grouping) -> list[str]:
    """A colour for each arm that is shown, and grey for the others together."""
    named = [ARMS[index % len(ARMS)] for index in range(len(arms.named))]
    return [*named, REST] if arms.rest.size else named
