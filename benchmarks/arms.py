"""What a pull costs as arms are added, from ten to a hundred thousand: `python -m benchmarks.arms`.

Prints a table and draws docs/figures/arms.svg. The problems are those of benchmarks/engine.py, with rates from 0.2 to
1, the budget is a million pulls; one run each, in CPU seconds.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console

from benchmarks.engine import columns, policies_for, problem_of
from outlay.engine import threads
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.policies.protocol import wants_budget
from outlay.report.style import FAINT, INK, PALETTE, svg_text

NAMES = ("Thrifty", "Frugal", "UCBB1")
ARMS = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SLOW = {"Frugal": 10_000}  # the most arms that a policy is timed with, where more would take long
FIGURE = Path(__file__).resolve().parents[1] / "docs" / "figures" / "arms.svg"


def microseconds(name: str, arms: int, budget: float) -> float:
    """CPU time per pull of one run."""
    problem = problem_of(arms)
    policy = policies_for(problem)[name]
    if wants_budget(policy):
        policy = policy._replace(budget=budget)
    play = Task(problem, name, policy, np.array([budget]), 0, 10**9, Crossings.blank(1, 1, arms))
    start = time.process_time()
    threads.run([play], 1, report=lambda _: None)
    return 1e6 * (time.process_time() - start) / float(play.crossings.pulls.sum())


def drawn(found: dict[str, list[float]], arms: list[int]) -> Figure:
    """Microseconds per pull over the number of arms, and what would be in proportion to it."""
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    least = min(values[0] for values in found.values())
    axes.loglog(arms, least * np.array(arms) / arms[0], color=FAINT, linestyle="--", label="in proportion to the arms")
    for colour, (name, values) in zip(PALETTE, found.items(), strict=False):
        axes.loglog(arms[: len(values)], values, color=colour, marker="o", markersize=4, label=name)
    axes.set(xlabel="arms", ylabel="microseconds per pull")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    axes.legend(frameon=False)
    return figure


def main() -> None:
    """Print the table, draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=1e6, help="in pulls; a million")
    parser.add_argument("--most", type=int, default=ARMS[-1], help="arms; a hundred thousand")
    chosen = parser.parse_args()
    arms = [count for count in ARMS if count <= chosen.most]
    console = Console(width=100, highlight=False)
    found: dict[str, list[float]] = {}
    for name in NAMES:
        microseconds(name, 2, 10.0)  # compiles
        with console.status(f"{name} ..."):
            few = [count for count in arms if count <= SLOW.get(name, count)]
            found[name] = [microseconds(name, count, chosen.budget) for count in few]
    table = columns("arms", *(f"{name}, µs per pull" for name in NAMES))
    for i, count in enumerate(arms):
        table.add_row(f"{count:,}", *(f"{found[name][i]:.3g}" if i < len(found[name]) else "–" for name in NAMES))
    console.print(f"One run of {chosen.budget:,.0f} pulls on one core")
    console.print(table)
    FIGURE.write_text(svg_text(drawn(found, arms)), encoding="utf-8")


if __name__ == "__main__":
    main()
