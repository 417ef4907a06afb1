"""Draw the figures of docs/leaderboard.md from its tables: leaderboard.svg and leaderboard-problems.svg."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from outlay.report.style import FAINT, INK, PALETTE, SOFT, blank, frame, sheet_of, svg_text

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "leaderboard.md"
OVERALL, PROBLEMS = "All 117 cells", "Budget 10,000 mean costs"
TOLD = {"nothing": "o", "budget": "D", "bounds": "s", "moments": "^"}  # what a policy is told, and its mark
LETTERS = 7.0  # points
LARGEST = 20.0  # ratios above this have the darkest colour


Box = tuple[float, float, float, float]  # left, bottom, right, top


class Table(NamedTuple):
    """A table of the page."""

    headings: list[str]
    rows: list[list[str]]

    def column(self, heading: str) -> list[str]:
        """The cells below a heading."""
        return [row[self.headings.index(heading)] for row in self.rows]


def table_of(page: str, title: str) -> Table:
    """The first table below a heading of the page."""
    section = page.partition(f"### {title}\n")[2].partition("\n### ")[0]
    lines = re.findall(r"^\|(.*)\|$", section, re.M)
    headings, _, *rows = [[cell.strip(" *") for cell in line.split("|")] for line in lines]
    return Table(headings, rows)


def number(text: str) -> float:
    """A number of a table; nan for a dash."""
    return float("nan") if text == "–" else float(text.replace(",", "").rstrip("%"))


def safety_figure(table: Table) -> Figure:
    """A dot per policy: its ratio to the best over its long runs; down and to the left is better."""
    sheet = sheet_of("leaderboard", "page")
    figure, (axes,) = blank(sheet, 5.0)
    frame(
        axes, sheet, "Each policy over all cells that it played", "long runs, % of its runs", "mean regret ÷ the best's"
    )
    axes.set_xscale("function", functions=(np.sqrt, np.square))
    axes.set_yscale("log")
    axes.set(xlim=(0, 22), ylim=(1, 25))
    axes.set_xticks([0, 0.5, 1, 2, 5, 10, 15], ["0", "0.5", "1", "2", "5", "10", "15"])
    axes.set_yticks([1, 1.5, 2, 3, 5, 10, 20], ["1", "1.5", "2", "3", "5", "10", "20"])
    axes.yaxis.set_minor_locator(NullLocator())
    figure.draw_without_rendering()
    names = ("policy", "told", "÷ best", "long runs", "front")
    points = list(zip(*map(table.column, names), strict=True))
    dots = [
        axes.transData.transform((number(long), number(ratio))) * 72.0 / figure.dpi for _, _, ratio, long, _ in points
    ]
    taken: list[Box] = [(0.0, 0.0, min(x for x, _ in dots) - 4, 1e9)]  # the numbers of the axis, then the dots
    taken += [(x - 3, y - 3, x + 3, y + 3) for x, y in dots]
    for (policy, told, ratio, long, front), dot in zip(points, dots, strict=True):
        best, at = front == "●", (number(long), number(ratio))
        colour = PALETTE[0] if policy == "Thrifty" else INK if best else SOFT
        axes.plot(*at, TOLD[told], color=colour, markersize=6, mfc=colour if best else "none", clip_on=False)
        axes.annotate(
            policy, at, free_place(dot, policy, taken), textcoords="offset points", color=colour, fontsize=LETTERS
        )
    for told, mark in TOLD.items():
        axes.plot([], [], mark, color=SOFT, label=f"told {told}")
    axes.legend(frameon=False, fontsize=8, loc="upper right")
    return figure


def free_place(dot: Any, word: str, taken: list[Box]) -> tuple[float, float]:
    """Where a word beside a dot covers no other, in points from the dot; what it covers is taken then."""
    width, height = 0.6 * LETTERS * len(word), 1.1 * LETTERS
    places = [(x, y) for y in (-2.5, 4.0, -9.0, 10.0, -15.0, 16.0) for x in (7.0, -7.0 - width)]
    boxes = [(dot[0] + x, dot[1] + y, dot[0] + x + width, dot[1] + y + height) for x, y in places]
    free = [not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in taken) for a in boxes]
    best = free.index(True) if any(free) else 0
    taken.append(boxes[best])
    return places[best]


def problems_figure(table: Table) -> Figure:
    """The ratio of every policy on every problem, as a colour."""
    sheet = sheet_of("leaderboard", "page")
    policies, problems = table.headings[3:], table.column("problem")
    ratios = np.array([[number(cell) for cell in row[3:]] for row in table.rows]).T
    figure, (axes,) = blank(sheet, 5.6)
    frame(axes, sheet, "Mean regret ÷ that of the best, at 10,000 mean costs", grid="")
    colours: Any = {"norm": LogNorm(1.0, LARGEST), "cmap": "YlGnBu", "edgecolors": "white", "linewidth": 0.4}
    mesh = axes.pcolormesh(np.clip(ratios, 1.0, LARGEST), **colours)
    axes.set_xticks(np.arange(len(problems)) + 0.5, problems, rotation=90, fontsize=6.5)
    axes.set_yticks(np.arange(len(policies)) + 0.5, policies, fontsize=6.5)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.set_facecolor(FAINT)
    bar = figure.colorbar(mesh, ax=axes, pad=0.01, fraction=0.03)
    bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.set_ticks([1, 2, 5, 10, 20], labels=["1×", "2×", "5×", "10×", "20×+"])
    bar.ax.tick_params(labelsize=7, colors=INK)
    bar.outline.set_visible(False)
    return figure


def drawn() -> dict[str, str]:
    """The files, by name, as the page's tables have them."""
    page = PAGE.read_text(encoding="utf-8")
    return {
        "leaderboard.svg": svg_text(safety_figure(table_of(page, OVERALL))),
        "leaderboard-problems.svg": svg_text(problems_figure(table_of(page, PROBLEMS))),
    }


if __name__ == "__main__":
    for name, text in drawn().items():
        (HERE / name).write_text(text, encoding="utf-8")
