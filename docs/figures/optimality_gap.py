"""Draw docs/figures/optimality-gap.svg and print the numbers of docs/optimum.md; run it from anywhere."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from outlay.arms import Discrete, Problem
from outlay.report.style import FAINT, INK, PALETTE, svg_text
from outlay.theory.optimum import DynamicOptimum, gap_constant, optimal_policy, optimality

THREE_SIZES = Problem(
    [
        Discrete(costs=[4, 6], rewards=[5, 5], probabilities=[0.5, 0.5]),
        Discrete(costs=[1, 2], rewards=[0.8, 1.9], probabilities=[0.5, 0.5]),
        Discrete(costs=[9, 15], rewards=[6, 12], probabilities=[0.5, 0.5]),
    ],
    names=["medium", "small", "large"],
)


def spread(arms: int) -> Problem:
    """Arms that cost 1, or rarely 2^j, and pay what they cost."""
    jumps = 2.0 ** np.arange(2, arms + 2)
    return Problem([Discrete([1, x], [1, x], [1 - x**-2, x**-2]) for x in jumps])


def drawn(found: DynamicOptimum, names: tuple[str, ...]) -> Figure:
    """The gap over the budget; the colour of a point is the arm that the optimal policy pulls there."""
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.plot(found.budgets, found.gap, color=FAINT, linewidth=1.2, zorder=1)
    for k, (name, colour) in enumerate(zip(names, PALETTE, strict=False)):
        here = found.arm == k
        axes.scatter(found.budgets[here], found.gap[here], color=colour, s=18, zorder=2, label=f"pull {name}")
    axes.set(xlabel="budget left", ylabel="optimum − best static policy", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    axes.legend(frameon=False, loc="lower right", ncols=len(names))
    return figure


def main() -> None:
    """Print the tables, draw the figure."""
    found = optimal_policy(THREE_SIZES, 10_000.0)
    print("optimal arm with 0, 1, …, 11 left:", found.arm[:12])
    print(f"with 3 left: optimum {found.value[3]:.3f}, best arm {found.static_value[3]:.1f}\n")
    print("budget   r*B   best arm   optimum   r*(B+G)    gap   of the optimum")
    for b in (1, 3, 10, 30, 100, 1000, 10_000):
        chain = optimality(THREE_SIZES, b)
        row = chain.lower, chain.static.value, found.value[b], chain.upper, found.gap[b]
        print(f"{b:>6,} {row[0]:>7,.1f} {row[1]:>9,.2f} {row[2]:>9,.2f} {row[3]:>9,.1f} {row[4]:>6.2f}", end=" ")
        print(f"{found.gap[b] / found.value[b]:>8.2%}")
    print(f"largest gap {found.gap.max():.3f} at budget {found.budgets[found.gap.argmax()]:g}")
    print(f"far from the end {found.gap[-1]:.2f} at even and {found.gap[-2]:.2f} at odd budgets")
    print("\narms   largest E[X²]/μ   largest mean overshoot of any policy   G")
    for arms in (1, 2, 4, 6, 8, 10, 12):
        problem = spread(arms)
        mean, variance = problem.mean_costs, problem.second_moments()["var_cost"]
        best = optimal_policy(problem, 20_000.0)
        most = (best.value - best.budgets).max()
        print(f"{arms:>4} {(mean + variance / mean).max():>12.3f} {most:>20.3f} {gap_constant(problem).value:>30.2f}")
    near = optimal_policy(THREE_SIZES, 60.0)
    svg = svg_text(drawn(near, THREE_SIZES.names))
    Path(__file__).with_name("optimality-gap.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
