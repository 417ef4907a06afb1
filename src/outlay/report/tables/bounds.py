"""The bounds on a problem for a terminal: a table, in two parts where that is narrow, and notes on what it says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from outlay.report.numbers.bounds import ArmBounds, ProblemBounds, summed
from outlay.tables import Table
from outlay.text import number
from outlay.theory.assumptions import GAUSSIAN, HEAVY_TAILED

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table as Grid

_HEADINGS = ("arm", "rate", "gap", "σ²", "D*", "pulls ≥", "regret ≥", "printed ≥")
_SPARED = ("printed ≥", "σ²", "D*", "pulls ≥")  # by a narrow terminal
_MOST_BEST, _MOST_ROWS = 2, 12  # arms shown; the others are summed up in a row
_LEMMA_3 = "Theorem 2, whose constant it leaves open, with that of Lemma 3"


def bounds_table(bounds: ProblemBounds, width: int = 80) -> "Group":
    """The table for a terminal of `width` characters: `rich.print(bounds_table(problem_bounds(problem, 1e5)))`."""
    from rich.console import Group

    rows = [_cells(row, bounds) for row in (*shown_rows(bounds), bounds.total)]
    headings = [*_HEADINGS, *(column.label for column in bounds.columns)]
    title, cut = f"Bounds on regret at budget {bounds.budget:,.12g}", len(_HEADINGS)
    tables = [Table(headings, rows, title, total=True)]
    if bounds.columns and len(tables[0].within(width)) < len(headings):
        upper = [[row[0], *row[cut:]] for row in rows]
        tables = [
            Table(headings[:cut], [row[:cut] for row in rows], title, drop_first=_SPARED, total=True),
            Table(["arm", *headings[cut:]], upper, "Upper bounds", total=True),
        ]
    return Group(*tables, grid(notes(bounds)))


def shown_rows(bounds: ProblemBounds) -> list[ArmBounds]:
    """Every arm or, of too many, some best arms and those that cost most, with the others summed up in a last row."""
    rows = bounds.arms
    if len(rows) <= _MOST_ROWS:
        return rows
    best = [row for row in rows if not row.gap][:_MOST_BEST]
    worse = sorted((row for row in rows if row.gap), key=_weight, reverse=True)
    shown = best + worse[: _MOST_ROWS - len(best)]
    names = {row.arm for row in shown}
    others = [row for row in rows if row.arm not in names]
    return [*shown, summed(f"{len(others):,} more", others, bounds.columns)]


def notes(bounds: ProblemBounds) -> list[tuple[str, str]]:
    """Where the numbers are from and what is not covered: columns and a sentence each."""
    found = []
    if any(row.lower is not None for row in bounds.arms):
        found.append(("≥", "for every policy that learns on the whole model, as B grows; printed: as in the paper"))
        if bounds.capped:
            arms = _listed(bounds.capped)
            found.append(
                ("", f"(this budget is too small for it: shown of {arms} is all that can be lost, gap times B)")
            )
    if bounds.near:
        found.append(
            (
                "any policy ≥",
                f"{cell(bounds.near)} at this very budget, here, or else more where one arm is made better",
            )
        )
    if bounds.worst:
        some = f"{len(bounds.arms):,} arms like {bounds.best}, one of them a little better"
        found.append(("any policy ≥", f"{cell(bounds.worst)} at this very budget, on some problem of {some}"))
    found.append(("σ²", "the variance of R − r*X: of the reward less the best rate times the cost"))
    found += [("D*", f"{_listed(arms)}: {model}") for model, arms in bounds.models.items()]
    if bounds.reason:
        found.append(("≥", bounds.reason))
    return found + _upper_notes(bounds)


def _upper_notes(bounds: ProblemBounds) -> list[tuple[str, str]]:
    """Of the upper bounds: which theorem, with which constants, for which settings, and where what is printed fails."""
    found = []
    kinds = {column.constants for column in bounds.columns}
    if "proved" in kinds:
        found.append(("≤", "the term in ln B with proved constants and the default α, at most gap times B"))
        found.append(("", "(without O(1), which is not always small)"))
    if "printed" in kinds:
        found.append(("printed", "the same with the constants that the paper prints, which are not all right"))
    for column in bounds.columns:
        theorem = _LEMMA_3 if (column.theorem, column.constants) == (HEAVY_TAILED, "printed") else column.theorem
        if column.constants == "proved" and column.setting:
            found.append((column.label, f"{theorem}, for {column.policy}({column.setting})"))
        elif column.constants == "printed" or "printed" not in kinds:
            found.append((column.label, theorem))
        if (column.theorem, column.constants) == (GAUSSIAN, "printed"):
            said = "(not a bound for every problem: on some, regret grows like a power of B; variance_factor=½)"
            found.append(("", said))
        if column.exceeded:
            found.append(("", f"(not a bound: {column.policy} exceeds it for {_listed(column.exceeded)} as B grows)"))
    policies: dict[str, list[str]] = {}
    for policy, reason in bounds.uncovered.items():
        policies.setdefault(reason, []).append(policy)
    return found + [(", ".join(names), f"no bound: {reason}") for reason, names in policies.items()]


def grid(rows: Sequence[tuple[str, str]], title: str = "") -> "Grid":
    """Columns and a sentence each, in two columns."""
    from rich.table import Table as Grid
    from rich.text import Text

    table = Grid.grid(padding=(0, 2, 0, 0))
    table.title, table.title_justify, table.title_style = title or None, "left", "bold"
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _cells(row: ArmBounds, bounds: ProblemBounds) -> list[str]:
    numbers = (row.gap, row.sigma2, row.divergence, row.pulls, row.lower, row.printed)
    upper = (row.upper.get(column.label) for column in bounds.columns)
    return [row.arm, cell(row.rate, digits=4), *map(cell, numbers), *map(cell, upper)]


def cell(value: float | None, digits: int = 3) -> str:
    """Three digits suffice for a bound."""
    return number(value, digits, most=1e6)


def _weight(row: ArmBounds) -> tuple[float, ...]:
    """What the arm costs a learner, as far as known."""
    return row.lower or 0.0, *row.upper.values()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_ROWS else f"{len(names):,} arms"
