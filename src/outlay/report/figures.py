"""Regret against the budget as a figure, bounds alone, and the box of Proposition 2."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from outlay.arms import Problem
from outlay.checks import word
from outlay.report import style
from outlay.report.bounds import Constants, bounds_chart
from outlay.report.curves import SCALES, Centre, Chart, Scale, regret_chart
from outlay.results import RegretKind, Result, checked
from outlay.theory.arm_rates import RateBox

_DASHES = ((5.0, 3.0), (1.0, 2.0), (8.0, 2.0, 2.0, 2.0))  # of the lower bounds: sharp, printed, worst case
_FEW = 8  # budgets, up to which each has its mark
_CEILING = (0, (3.0, 1.5, 1.0, 1.5))


def regret_figure(
    result: Result,
    bounds: bool = True,
    kind: RegretKind = "pseudo",
    *,
    scale: Scale | None = None,
    budget_scale: Scale = "log",
    centre: Centre = "mean",
    width: style.Width = "page",
    title: bool = True,
) -> Figure:
    """Mean regret over the budget with its 95 % band, one line per policy, next to the bounds.

    Where the budget is the same for several numbers of requests, it is over the requests.

    The budget axis is logarithmic: a policy at the limit of what is possible runs parallel to the dashed lower bound,
    which is drawn sharp and as printed in the paper. A thin line in a policy's colour is what a theorem proves it not
    to exceed (the leading term), where that is near enough to help.

    Args:
        result: of `simulate`.
        bounds: whether to draw the bounds.
        kind: "pseudo" or "realised", as for `Result.regret`.
        scale: of the regret axis, "linear" or "log"; None chooses "log" when one policy would flatten the others.
        budget_scale: "log" or "linear".
        centre: "mean", with the 95 % interval of the mean; or "median", with the middle 80 % of the runs: where a few
            runs are far from the others, the interval of the mean may reach below 0 and say little.
        width: "page", or "column" for a column of a two-column paper, 3.3 inches.
        title: False for a figure that a paper's caption explains.
    """
    word("regret_figure", "budget_scale", budget_scale, SCALES)
    sheet = style.sheet_of("regret_figure", width)
    chart = regret_chart(checked("regret_figure", result), bounds, kind, scale, centre=centre)
    return draw(chart, sheet, budget_scale, title)


def bounds_figure(
    problem: Problem, budget: float, constants: Constants = "both", *, width: style.Width = "page", title: bool = True
) -> Figure:
    """Every bound on the regret of `problem`, from a thousandth of `budget` up to it.

    Args:
        problem: the arms.
        budget: the largest one.
        constants: those of the upper bounds: "proved", "printed" in the paper, or "both".
        width: "page", or "column" for a column of a two-column paper, 3.3 inches.
        title: False for a figure that a paper's caption explains.
    """
    return draw(bounds_chart(problem, budget, constants), style.sheet_of("bounds_figure", width), title=title)


def draw(chart: Chart, sheet: style.Sheet, budget_scale: Scale = "log", title: bool = True) -> Figure:
    """A chart as a figure: lines with bands, and their names at their ends, or below where there they cannot be."""
    figure, [axes] = style.blank(sheet, 4.6 if sheet.narrow else 4.2)
    style.frame(axes, sheet, chart.title if title else "", chart.across, "regret")
    budgets = chart.curves[0].budgets if chart.curves else chart.bounds[0].budgets
    low, high = (budgets[0], budgets[-1]) if len(budgets) > 1 else (0.8 * budgets[0], 1.25 * budgets[0])
    style.set_scale(axes.xaxis, budget_scale, low, high)
    style.set_scale(axes.yaxis, chart.axis.scale, chart.axis.bottom, chart.axis.top)
    chosen = style.looks([curve.label for curve in chart.curves])
    lines: list[Line2D] = []
    for index, (curve, (colour, mark)) in enumerate(zip(chart.curves, chosen, strict=True)):
        alone = len(curve.budgets) == 1
        if alone:
            axes.vlines(curve.budgets, curve.low, curve.high, color=colour, linewidth=sheet.line)
        style.band(axes, curve, colour)
        every = (index % 4, 4) if mark and len(curve.budgets) > _FEW else None
        lines += axes.plot(
            curve.budgets, curve.mean, color=colour, linewidth=sheet.line, marker=mark or "o" * alone, markersize=4.5,
            markerfacecolor="white" if mark else colour, markevery=every,
        )  # fmt: skip
    floors = iter(_DASHES)
    for line in chart.bounds:  # lower ones in ink, dashed; upper ones in the colour of their policy; both thin
        dashes, colour = ((0, next(floors)), style.INK) if line.policy is None else (_CEILING, chosen[line.policy][0])
        lines += axes.plot(
            line.budgets, line.values, color=colour, linestyle=dashes, linewidth=sheet.line / 1.6,
            marker="_" if len(line.budgets) == 1 else "", markersize=14,
        )  # fmt: skip
    labels = [curve.label for curve in chart.curves] + [line.label for line in chart.bounds]
    if sheet.narrow or any(mark for _, mark in chosen):
        style.legend(figure, sheet, lines, labels)
    else:
        for drawn, label, height in zip(lines, labels, chart.heights, strict=True):
            axes.annotate(
                label, (1.015, height), xycoords="axes fraction", color=drawn.get_color(), fontsize=sheet.text,
                parse_math=False, va="center",
            )  # fmt: skip
    return figure


def rate_box_figure(box: RateBox) -> Figure:
    """Draw the box A(η, ε) around (θ1, θ2), the extreme rates as slopes, and the corner where the rate is farthest off.

    >>> from outlay.theory.arm_rates import rate_box
    >>> rate_box_figure(rate_box(cost=2.0, reward=1.0, cost_radius=0.4, reward_radius=0.2)).axes[0].get_xlabel()
    'cost'
    """
    figure = style.ShownFigure(figsize=(5.6, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    blue, orange = style.PALETTE[0], style.PALETTE[1]
    axes.add_patch(Rectangle(box.corner, *box.sides, facecolor=blue, alpha=0.15, edgecolor=blue))
    for through, dashes in ((box.low, "--"), ((box.cost, box.reward), "-"), (box.high, "--")):
        axes.axline((0.0, 0.0), through, color=style.INK, linestyle=dashes, linewidth=1.0)
    axes.plot(box.cost, box.reward, "o", color=style.INK, markersize=5)
    axes.annotate("(θ₁, θ₂)", (box.cost, box.reward), (8, -14), textcoords="offset points", color=style.INK)
    axes.plot(*box.worst, "o", color=orange, markersize=7)
    words = f"farthest off: {box.deviation:.3f}\nProposition 2 allows {box.bound:.3f}"
    axes.annotate(words, box.worst, (-10, 14), textcoords="offset points", ha="right", color=orange)
    axes.annotate("A(η, ε)", box.corner, (0, -14), textcoords="offset points", color=blue)
    axes.set_xlim(box.view[0])
    axes.set_ylim(box.view[1])
    axes.set_xlabel("cost", color=style.INK)
    axes.set_ylabel("reward", color=style.INK)
    axes.set_title("The rate of an estimate in the box: a slope between the dashed lines", loc="left", fontsize=10.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=style.FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure
