"""The tables: as headings and rows of text, then for a terminal or in Markdown."""

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

from benchmarks.leaderboard.cells import Row
from benchmarks.leaderboard.summary import Summary, ratios_by, summaries

NONE = "–"
BUDGET, PER_ARM = "Budget {:,g} mean costs", "Many arms, {:,g} mean costs per arm: per cent of r*·B"  # titles
PER_REQUEST = "{:g} costs of the best-paid arm for each request: per cent of N·f"
MONEY = "Arms that change, budget {:,g}"
FEATURES = "Requests with features, {:g} for each: per cent of what the best rule earns"
CLOSE = 1.1  # ratios up to this are set in bold


class Grid(NamedTuple):
    """A table as text."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    left: int = 1  # columns of words, from the first
    folded: str = ""  # in Markdown, the words that the table is hidden behind

    def for_terminal(self) -> Table:
        """In the style of the library's tables, its title left to be printed above."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
        for i, heading in enumerate(self.headings):
            table.add_column(heading, justify="left" if i < self.left else "right", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def in_markdown(self) -> str:
        """With its title as a heading; a folded table opens with a click."""
        rules = ["---" if i < self.left else "--:" for i in range(len(self.headings))]
        lines = (f"| {' | '.join(cells)} |" for cells in (self.headings, rules, *self.rows))
        table = "\n".join(lines)
        if self.folded:
            table = f"<details markdown>\n<summary>{self.folded}</summary>\n\n{table}\n\n</details>"
        return f"### {self.title}\n\n{table}\n"


def overall(rows: Sequence[Row]) -> list[Grid]:
    """Every policy over all cells; many arms, requests, arms that change and features have tables of their own."""
    few, many, rationed, changing, contextual = split(rows)
    return [
        *([summary_grid(few)] if few else []),
        *([group_grid([*few, *many])] if few else []),
        *(many_grids(many) if many else []),
        *(request_grids(rationed) if rationed else []),
        *(drift_grids(changing) if changing else []),
        *(context_grids(contextual) if contextual else []),
    ]


def details(rows: Sequence[Row], grid: Callable[[Sequence[Row], float, str], Grid]) -> list[Grid]:
    """A table for each budget."""
    titles = (BUDGET, PER_ARM, PER_REQUEST, MONEY, FEATURES)
    return [
        grid(some, budget, title)
        for some, title in zip(split(rows), titles, strict=True)
        for budget in sorted({row.budget for row in some})
    ]


def split(rows: Sequence[Row]) -> tuple[list[Row], list[Row], list[Row], list[Row], list[Row]]:
    """The rows of problems that are always the same, drawn, with requests, whose arms change, and with features."""
    few = [row for row in rows if not (row.family or row.requests or row.changing or row.contexts)]
    many, rationed = [row for row in rows if row.family], [row for row in rows if row.requests]
    return few, many, rationed, [row for row in rows if row.changing], [row for row in rows if row.contexts]


def summary_grid(rows: Sequence[Row], title: str = "All {} cells") -> Grid:
    """Every policy over all cells, whose number goes into the title."""
    headings = (
        "policy", "told", "cells", "÷ best", "≤ 1.1×", "≤ 1.5×", "largest", "at", "long runs", "most", "won", "front",
    )  # fmt: skip
    cells = len({(row.problem, row.budget) for row in rows})
    return Grid(title.format(cells), headings, [*map(_summary_cells, summaries(rows))], left=2)


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
    return part_grid(rows, "÷ best, by group of problems", lambda row: row.group)


def many_grids(rows: Sequence[Row]) -> list[Grid]:
    """Every policy over the problems with many arms: over all cells, and by what they differ in."""
    return [
        summary_grid(rows, "All {} cells with many arms"),
        part_grid(rows, "÷ best with many arms, by mean costs per arm", lambda row: f"{row.budget:g}"),
        part_grid(rows, "÷ best with many arms, by their number", lambda row: f"{row.arms}"),
        part_grid(rows, "÷ best with many arms, by family of rates", lambda row: row.family),
    ]


def request_grids(rows: Sequence[Row]) -> list[Grid]:
    """Every policy over the problems with requests: over all cells, and by what they differ in."""
    return [
        summary_grid(rows, "All {} cells with requests"),
        mean_grid(rows, "Mean regret in per cent of N·f, by number of requests", lambda row: f"{row.requests}"),
        part_grid(rows, "÷ best, by number of requests", lambda row: f"{row.requests}"),
        part_grid(rows, "÷ best, by money for each request", lambda row: f"{row.budget:g}"),
        part_grid(rows, "÷ best, by problem", lambda row: row.problem.partition("×")[0].removeprefix("ration-")),
    ]


def drift_grids(rows: Sequence[Row]) -> list[Grid]:
    """Every policy over the problems whose arms change: over all cells, and by kind of problem."""
    title = "÷ best where arms change, by kind of problem"
    return [
        summary_grid(rows, "All {} cells where arms change"),
        part_grid(rows, title, lambda row: row.changing.removeprefix("drift-")),
    ]


def context_grids(rows: Sequence[Row]) -> list[Grid]:
    """Every policy over the problems whose requests carry features: over all cells, and by kind and features."""
    title = "Mean regret in per cent of what the best rule earns, by kind of problem and number of features"
    return [
        summary_grid(rows, "All {} cells where requests carry features"),
        mean_grid(rows, title, lambda row: row.contexts),
        part_grid(rows, "÷ best where requests carry features", lambda row: row.contexts),
    ]


def mean_grid(rows: Sequence[Row], title: str, part_of: Callable[[Row], str]) -> Grid:
    """The mean regret of every policy that played all cells, and the same in each part of them; least first."""
    cells = len({(row.problem, row.budget) for row in rows})
    parts = {"all": rows}
    for part in dict.fromkeys(map(part_of, rows)):
        parts[part] = [row for row in rows if part_of(row) == part]
    means = {}
    for policy in dict.fromkeys(row.policy for row in rows):
        if sum(row.policy == policy for row in rows) == cells:
            means[policy] = [fmean(row.mean for row in some if row.policy == policy) for some in parts.values()]
    lines = [(policy, *map(number, means[policy])) for policy in sorted(means, key=lambda each: means[each][0])]
    return Grid(title, ("policy", *parts), lines)


def part_grid(rows: Sequence[Row], title: str, part_of: Callable[[Row], str]) -> Grid:
    """The mean ratio of every policy in each part of the cells."""
    parts = ratios_by(rows, part_of)
    order = [each.policy for each in summaries(rows)]
    lines = [(policy, *(number(parts[part].get(policy), 2) for part in parts)) for policy in order]
    return Grid(title, ("policy", *parts), lines)


def cell_grid(rows: Sequence[Row], budget: float, title: str = BUDGET) -> Grid:
    """Everything about each policy in each cell at one budget, which goes into the title."""
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
    return Grid(title.format(budget), headings, lines, left=2)


def matrix_grid(rows: Sequence[Row], budget: float, title: str = BUDGET) -> Grid:
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
    size = f"{len(lines)} problems × {len(policies)} policies"
    return Grid(title.format(budget), ("problem", "best regret", "÷ bound", *policies), lines, folded=size)


def _ratio(row: Row | None) -> str:
    if row is None:
        return NONE
    text = number(row.ratio, 2)
    return f"**{text}**" if row.ratio <= CLOSE else text


def number(value: float | None, decimals: int = 1) -> str:
    """With so many decimals from 1 to 1000, three digits below, a dash for none."""
    if value is None or math.isnan(value):
        return NONE
    if 0.0 < abs(value) < 1.0:
        return f"{value:.3g}"
    return f"{value:,.{decimals if abs(value) < 1000 else 0}f}"
