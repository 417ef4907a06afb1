"""The picture of Proposition 2: estimates in a box around the truth, and the rates they give."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from outlay.report.figures.shown import ShownFigure
from outlay.report.figures.style import FAINT, INK, PALETTE
from outlay.theory.arm_rates import RateBox


def rate_box_figure(box: RateBox) -> Figure:
    """Draw the box A(η, ε) around (θ1, θ2), the extreme rates as slopes, and the corner where the rate is farthest off.

    >>> from outlay.theory.arm_rates import rate_box
    >>> rate_box_figure(rate_box(cost=2.0, reward=1.0, cost_radius=0.4, reward_radius=0.2)).axes[0].get_xlabel()
    'cost'
    """
    figure = ShownFigure(figsize=(5.6, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    blue, orange = PALETTE[0], PALETTE[1]
    axes.add_patch(Rectangle(box.corner, *box.sides, facecolor=blue, alpha=0.15, edgecolor=blue))
    for through, style in ((box.low, "--"), ((box.cost, box.reward), "-"), (box.high, "--")):
        axes.axline((0.0, 0.0), through, color=INK, linestyle=style, linewidth=1.0)
    axes.plot(box.cost, box.reward, "o", color=INK, markersize=5)
    axes.annotate("(θ₁, θ₂)", (box.cost, box.reward), (8, -14), textcoords="offset points", color=INK)
    axes.plot(*box.worst, "o", color=orange, markersize=7)
    axes.annotate(
        f"farthest off: {box.deviation:.3f}\nProposition 2 allows {box.bound:.3f}",
        box.worst,
        (-10, 14),
        textcoords="offset points",
        ha="right",
        color=orange,
    )
    axes.annotate("A(η, ε)", box.corner, (0, -14), textcoords="offset points", color=blue)
    axes.set_xlim(box.view[0])
    axes.set_ylim(box.view[1])
    axes.set_xlabel("cost", color=INK)
    axes.set_ylabel("reward", color=INK)
    axes.set_title("The rate of an estimate in the box: a slope between the dashed lines", loc="left", fontsize=10.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    return figure
