"""What each arm brought to each policy."""

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from outlay.report.figures.shares import arm_colours
from outlay.report.figures.style import INK, Width, blank, frame, legend, set_scale, sheet_of, stacked
from outlay.report.numbers.earnings import earnings
from outlay.results import Result, checked


def reward_figure(result: Result, *, width: Width = "page", title: bool = True) -> Figure:
    """Per policy, the reward that each arm brought at the largest budget, next to what the best arm alone earned.

    With requests it is next to the most that can be earned on average, which takes a mix of arms as a rule.
    An arm's part is the mean number of its pulls times its mean reward; arms that lose reward go to the left of 0.
    """
    sheet = sheet_of("reward_figure", width)
    numbers = earnings(checked("reward_figure", result))
    figure, [axes] = blank(sheet, 1.0 + (0.62 if sheet.narrow else 0.3) * len(numbers.policies))
    frame(axes, sheet, f"Reward by arm at {numbers.end}" if title else "", "reward", grid="x")
    rows = np.arange(len(numbers.policies))
    handles: list[Artist] = []
    gain, loss = np.zeros(len(rows)), np.zeros(len(rows))
    for part, colour in zip(numbers.expected.T, arm_colours(numbers.arms), strict=True):
        bars = axes.barh(rows, part, 0.66, np.where(part < 0, loss, gain), color=colour)
        handles.append(bars[0])
        gain, loss = gain + np.maximum(part, 0.0), loss + np.minimum(part, 0.0)
    handles.append(axes.axvline(numbers.best, color=INK, linewidth=sheet.line / 1.6, linestyle=(0, (5.0, 3.0))))
    axes.set_yticks(rows, [stacked(label, sheet) for label in numbers.policies], parse_math=False)
    axes.invert_yaxis()
    ends = np.array([*gain, *loss, numbers.best, 0.0])
    extent = max(float(np.ptp(ends)), 1e-300)
    low, high = float(ends.min()), float(ends.max())
    set_scale(axes.xaxis, "linear", low - 0.04 * extent * (low < 0), high + 0.04 * extent)
    legend(figure, sheet, handles, [*numbers.arms.labels, numbers.line])
    return figure
