"""Draw docs/figures/requests-hull.svg, the hull of docs/requests.md: python docs/figures/requests_hull.py."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from outlay.arms import Bernoulli, Problem
from outlay.report.style import FAINT, INK, PALETTE, svg_text
from outlay.theory import fluid

MODELS = Problem(
    [Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85), Bernoulli(0.6, 0.5)],
    names=["small", "medium", "large", "other"],
)
C = 0.25


def hull(axes: Axes) -> None:
    """The arms, the origin, and the largest reward at each cost."""
    costs = np.linspace(0.0, 1.2, 601)[1:]
    values = [fluid(MODELS, float(c), 1).value for c in costs]
    axes.plot([0.0, *costs], [0.0, *values], color=PALETTE[0], linewidth=2.0, zorder=2, label="f(c)")
    axes.scatter([0.0, *MODELS.mean_costs], [0.0, *MODELS.mean_rewards], color=INK, s=26, zorder=3)
    axes.annotate("not served", (0.0, 0.0), (14, 10), textcoords="offset points", va="center", color=INK)
    for name, x, y in zip(MODELS.names, MODELS.mean_costs, MODELS.mean_rewards, strict=True):
        axes.annotate(name, (x, y), (6, -12), textcoords="offset points", color=INK)


def prices(axes: Axes) -> None:
    """The line that touches the hull at c, its slope and intercept, and the gap of an arm below."""
    found = fluid(MODELS, C, 1)
    ends = np.array([0.0, 0.82])
    axes.plot(ends, found.worth + found.price * ends, color=PALETTE[1], linewidth=1.2, linestyle="--", zorder=1)
    axes.plot([C, C], [0.0, found.value], color=FAINT, linewidth=1.0, zorder=1)
    axes.scatter([C], [found.value], color=PALETTE[1], s=30, zorder=4)
    axes.annotate("f(c)", (C, found.value), (-6, 8), textcoords="offset points", ha="right", color=PALETTE[1])
    axes.annotate("intercept ν,\nworth of a request", (0.0, found.worth), (0.01, 0.7), textcoords="data",
                  color=PALETTE[1], fontsize=9, arrowprops={"arrowstyle": "-", "color": PALETTE[1]})  # fmt: skip
    axes.annotate("slope λ, price of money", (0.72, found.worth + 0.72 * found.price), (-8, 6), ha="right",
                  textcoords="offset points", color=PALETTE[1], fontsize=9)  # fmt: skip
    x, y = float(MODELS.mean_costs[3]), float(MODELS.mean_rewards[3])
    axes.annotate(
        "", (x, y + 0.012), (x, found.worth + found.price * x), arrowprops={"arrowstyle": "<->", "color": INK}
    )
    axes.annotate("gap Δ", (x, 0.66), (6, 0), textcoords="offset points", va="center", color=INK)


def main() -> None:
    """Draw and write the figure."""
    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    hull(axes)
    prices(axes)
    axes.set(xlabel="mean cost of a request", ylabel="mean reward", xlim=(-0.02, 1.2), ylim=(-0.02, 1.0))
    axes.set_xticks([0.0, C, 0.5, 1.0], ["0", "c = B/N", "0.5", "1"])
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    Path(__file__).with_name("requests-hull.svg").write_text(svg_text(figure), encoding="utf-8")


if __name__ == "__main__":
    main()
