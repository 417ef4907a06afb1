"""The tables: as headings and rows of text, then for a terminal or in Markdown."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from benchmarks.leaderboard.cells import Row
from benchmarks.leaderboard.summary import Summary, by_group, summaries

NONE = "–"
CLOSE = 1.1  # ratios up to this are set in bold


class Grid(NamedTuple):
    """A table as text."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    left: int = 1  # columns of words, from the first

    def for_terminal(self) -> Table:
        """In the style of the library's tables, its title left to be printed above."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
        for i, heading in enumerate(self.headings):
            table.add_column(heading, justify="left" if i < self.left else "right", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def in_markdown(self) -> str:
        """With its title as a heading."""
        rules = ["---" if i < self.left else "--:" for i in range(len(self.headings))]
        lines = (f"| {' | '.join(cells)} |" for cells in (self.headings, rules, *self.rows))
        return f"### {self.title}\n\n" + "\n".join(lines) + "\n"


def summary_grid(rows: Sequence[Row]) -> Grid:
    """Every policy over all cells."""
    headings = (
        "policy", "told", "cells", "÷ best", "≤ 1.1×", "≤ 1.5×", "largest", "at", "long runs", "most", "won", "front",
    )  # fmt: skip
    cells = len({(row.problem, row.budget) for row in rows})
    return Grid(f"All {cells} cells", headings, [*map(_summary_cells, summaries(rows))], left=2)


def _summary_cells(each: Summary) -> tuple[str, ...]:
    return (
        each.policy,
        each.told,
        f"{each.cells}",
        f"{each.ratio:.2f}",
        f"{each.within_tenth:.0%}",
        f"{each.within_half:.0%}",
        number(each.largest, 2),
        each.hardest,
        f"{each.long:.1%}",
        f"{each.most_long:.1%}",
        f"{each.won}",
        "●" if each.frontier else "",
    )


def group_grid(rows: Sequence[Row]) -> Grid:
    """The mean ratio of every policy in each group of problems."""
    groups = by_group(rows)
    order = [each.policy for each in summaries(rows)]
    lines = [(policy, *(number(groups[group].get(policy), 2) for group in groups)) for policy in order]
    return Grid("÷ best, by group of problems", ("policy", *groups), lines)


def cell_grid(rows: Sequence[Row], budget: float) -> Grid:
    """Everything about each policy in each cell at one budget."""
    headings = ("problem", "policy", "regret ± stderr", "median", "q90", "worst run", "long runs", "÷ bound", "÷ best")
    lines = [
        (
            row.problem,
            row.policy,
            f"{number(row.mean)} ± {number(row.stderr)}",
            number(row.median),
            number(row.q90),
            number(row.worst),
            f"{row.long:.1%}",
            number(row.bound, 2),
            number(row.ratio, 2),
        )
        for row in rows
        if row.budget == budget
    ]
    return Grid(budget_title(budget), headings, lines, left=2)


def matrix_grid(rows: Sequence[Row], budget: float) -> Grid:
    """The ratios at one budget, a row for each problem: the best's regret, then everyone's ÷ that."""
    here = [row for row in rows if row.budget == budget]
    policies = [each.policy for each in summaries(rows)]
    lines = []
    for problem in dict.fromkeys(row.problem for row in here):
        found = {row.policy: row for row in here if row.problem == problem}
        best = next((row for row in found.values() if row.best), None)
        first = NONE if best is None else f"{number(best.mean)} ± {number(best.stderr)}"
        bound = NONE if best is None else number(best.bound, 2)
        lines.append((problem, first, bound, *(_ratio(found.get(policy)) for policy in policies)))
    return Grid(budget_title(budget), ("problem", "best regret", "÷ bound", *policies), lines)


def _ratio(row: Row | None) -> str:
    if row is None:
        return NONE
    text = number(row.ratio, 2)
    return f"**{text}**" if row.ratio <= CLOSE else text


def budget_title(budget: float) -> str:
    """What a table of one budget is called."""
    return f"Budget {budget:,g} mean costs"


def number(value: float | None, decimals: int = 1) -> str:
    """With so many decimals from 1 to 1000, three digits below, a dash for none."""
    if value is None or math.isnan(value):
        return NONE
    if 0.0 < abs(value) < 1.0:
        return f"{value:.3g}"
    return f"{value:,.{decimals if abs(value) < 1000 else 0}f}"
