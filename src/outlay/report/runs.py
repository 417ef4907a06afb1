"""What the runs did: the regret of each, where the pulls went, what each arm earned; numbers first, then figures."""

from math import ceil
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray

from outlay.report.curves import Axis, Curve, regret_axis
from outlay.report.style import ARMS, INK, REST, SOFT, Width, blank, frame, legend, looks, set_scale, sheet_of, stacked
from outlay.results import Floats, RegretKind, Result, axis_of, checked, last_of
from outlay.text import counted, cut, shortened, tick

MOST_DOTS = 300  # of a policy; of more runs, as many that are evenly spaced in rank, the first and the last among them
_GOLDEN = 0.6180339887498949
MOST_ARMS = 6  # shown by name
LEAST_SEEN = 0.01  # of a policy's pulls


class Strip(NamedTuple):
    """One policy: a dot per run, from the smallest regret to the largest, each with a height so that few overlap."""

    label: str
    regret: Floats  # rising
    height: Floats  # in [−½, ½]
    mean: float
    median: float


def distribution(result: Result, kind: RegretKind = "pseudo") -> tuple[list[Strip], Axis]:
    """The numbers of `distribution_figure`: every policy's strip, and the axis that they share."""
    runs = result.run_regret(kind)[:, :, -1]
    strips = []
    for label, values in zip(result.labels, runs, strict=True):
        ranked = np.sort(values)
        if ranked.size > MOST_DOTS:
            ranked = ranked[np.linspace(0, ranked.size - 1, MOST_DOTS).round().astype(int)]
        height = np.asarray(np.arange(ranked.size) * _GOLDEN % 1.0 - 0.5, dtype=np.float64)
        strips.append(Strip(shortened(label), ranked, height, float(values.mean()), float(np.median(values))))
    ends = [Curve(one.label, np.ones(1), np.array([one.mean]), one.regret[:1], one.regret[-1:]) for one in strips]
    axis = regret_axis(ends, [])
    if axis.scale == "log":  # with room for every dot; what is not above 0 stands at the left end
        dots = np.concatenate([one.regret for one in strips])
        least = float(dots[dots > 0].min()) / 1.5
        axis = axis._replace(bottom=least)
        strips = [
            one._replace(regret=np.maximum(one.regret, least), mean=max(one.mean, least), median=max(one.median, least))
            for one in strips
        ]
    return strips, axis


def distribution_figure(
    result: Result, kind: RegretKind = "pseudo", *, width: Width = "page", title: bool = True
) -> Figure:
    """Regret at the largest budget, one dot per run, with mean and median; of more than 300 runs, 300 evenly by rank.

    Often there are two humps: most runs find the best arm soon, and a few stay with another arm for a long time. Then
    the mean lies where there is no run. On a logarithmic axis, runs without regret stand at the left end.
    """
    sheet = sheet_of("distribution_figure", width)
    strips, axis = distribution(checked("distribution_figure", result), kind)
    figure, [axes] = blank(sheet, 1.0 + (0.75 if sheet.narrow else 0.48) * len(strips))
    words = f"Regret of {counted(result.runs, 'run')} at {last_of(result, tick)}" if title else ""
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
    size, edge = like.get_markersize(), like.get_markeredgewidth()
    axes.plot(x, y, f"{like.get_marker()}", color=colour, markersize=size, mew=edge, clip_on=False, alpha=alpha)


class Grouping(NamedTuple):
    """The arms that a figure shows by name, best first, and one name for all others, if there are any."""

    named: list[int]
    rest: NDArray[np.int64]
    labels: list[str]

    def gathered(self, values: Floats) -> Floats:
        """Values over arms (the last axis) as values over what is shown."""
        shown = values[..., self.named]
        if not self.rest.size:
            return shown
        return np.concatenate([shown, values[..., self.rest].sum(axis=-1, keepdims=True)], axis=-1)


def grouping(result: Result) -> Grouping:
    """The best arm and those pulled most, ordered by their gaps; the others together, unless there is just one."""
    problem, count, gaps = result.problem, len(result.problem), result.gaps
    best = int(np.argmin(gaps))
    pulls = result.pulls[:, :, -1].sum(axis=1)
    seen = (pulls / np.maximum(pulls.sum(axis=1, keepdims=True), 1)).max(axis=0) >= LEAST_SEEN
    order = np.lexsort((-pulls.sum(axis=0), np.arange(count) != best)).tolist()
    chosen = order if count <= MOST_ARMS + 1 else [k for k in order if seen[k] or k == best][:MOST_ARMS]
    named = sorted(chosen, key=lambda k: (gaps[k], k != best, k))
    labels = [shortened(problem.names[k]) for k in named]
    rest = np.setdiff1d(np.arange(count), named)
    return Grouping(named, rest, [*labels, f"{rest.size:,} more arms"] if rest.size else labels)


class Shares(NamedTuple):
    """Per policy, how its pulls up to each budget were divided: they add up to 1 over the arms."""

    policies: list[str]
    axis: str  # "budget", or "requests" where it is these that grow
    budgets: Floats
    arms: Grouping
    share: Floats  # [policy, budget, what is shown]


def shares(result: Result) -> Shares:
    """The shares of all pulls, over runs."""
    pulls = result.pulls.sum(axis=1).astype(np.float64)
    arms = grouping(result)
    share = arms.gathered(pulls) / np.maximum(pulls.sum(axis=-1, keepdims=True), 1.0)  # in hard mode there may be none
    name, values = axis_of(result)
    return Shares([shortened(label) for label in result.labels], name, values.astype(np.float64), arms, share)


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
    for index, axes in enumerate(panels):
        axes.set_visible(index < len(numbers.policies))
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


class Earnings(NamedTuple):
    """Per policy, the mean number of an arm's pulls over runs times its mean reward."""

    policies: list[str]
    end: str  # the last budget, in words
    arms: Grouping
    expected: Floats  # [policy, what is shown]
    best: float  # what the best arm alone earned in the same runs; with requests, the most that can be earned
    line: str  # what that is called


def earnings(result: Result) -> Earnings:
    """The numbers of `reward_figure`."""
    arms = grouping(result)
    pulls = result.pulls[:, :, :, None] if result.piece_pulls is None else result.piece_pulls
    means = np.array([piece.mean_rewards for piece in result.problem.pieces])
    expected = (pulls[:, :, -1].mean(axis=1) * means).sum(axis=1)
    alone = "the best arm of each moment" if result.problem.later else "the best arm alone"
    return Earnings(
        [shortened(label) for label in result.labels],
        last_of(result, tick),
        arms,
        arms.gathered(expected),
        float(result.oracle_reward[:, -1].mean() if result.requests is None else result.attainable[-1]),
        alone if result.requests is None else "the most that can be earned",
    )


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
        handles.append(axes.barh(rows, part, 0.66, np.where(part < 0, loss, gain), color=colour)[0])
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
