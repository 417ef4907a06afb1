"""The regret table at the largest budget: as rows of numbers; for a terminal; as text, Markdown, CSV and LaTeX."""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from outlay.checks import line, word
from outlay.report.curves import Floor, floor_for
from outlay.results import RegretKind, Result, beside, best_shares, checked, last_of, regret_summary
from outlay.tables import Table
from outlay.text import amount, number, plural

Format = Literal["text", "markdown", "csv", "latex"]
HEADINGS = ("policy", "regret ± stderr", "median", "q10 – q90", "best arm", "÷ bound")


class RegretRow(NamedTuple):
    """One policy at the largest budget."""

    policy: str
    regret: float
    stderr: float
    median: float
    q10: float
    q90: float
    best_share: float  # of the pulls
    ratio: float | None  # regret ÷ the sharp lower bound at the budget; None where there is none

    def cells(self) -> tuple[str, ...]:
        """The row as text, one cell per heading."""
        return (
            self.policy,
            amount(self.regret) + ("" if np.isnan(self.stderr) else f" ± {amount(self.stderr)}"),
            amount(self.median),
            f"{amount(self.q10)} – {amount(self.q90)}",
            f"{self.best_share:.1%}",
            "–" if self.ratio is None else f"{self.ratio:,.2f}",
        )


class RegretTable(NamedTuple):
    """The table in numbers: its title, if any; what it shows, in a line; the budget; one row per policy; the bound."""

    title: str | None
    caption: str
    budget: float
    rows: list[RegretRow]
    floor: Floor

    def table(self) -> Table:
        """As text; a narrow terminal does without the spread first."""
        policy, regret, median, spread, best, ratio = HEADINGS
        if self.floor.requests is not None:
            best = "best arms"  # the best mix has two, as a rule
        headings = (policy, regret, median, spread, best, ratio)
        rows = [row.cells() for row in self.rows]
        return Table(headings, rows, self.caption, drop_first=(spread, best, median, ratio))


def regret_table(result: Result, kind: RegretKind = "pseudo", title: str | None = None) -> Table:
    """The table for a terminal: `rich.print(regret_table(result))`; `table` gives it as text in other formats."""
    return regret_numbers(checked("regret_table", result), kind, title).table()


def table(  # the word for it
    result: Result,
    format: Format = "text",  # noqa: A002
    kind: RegretKind = "pseudo",
    title: str | None = None,
) -> str:
    r"""The regret table at the largest budget, as text.

    Args:
        result: of `simulate`.
        format: "text", as on a terminal; "markdown"; "csv", with all digits; "latex", with booktabs' rules.
        kind: "pseudo" or "realised", as for `Result.regret`.
        title: of one line, before what the table shows; none in CSV.

    >>> import outlay
    >>> problem = outlay.arms.catalogue.load("G")
    >>> result = outlay.simulate(problem, outlay.policies.RoundRobin(), budgets=[1000], runs=5)
    >>> print(table(result, "csv").splitlines()[0])
    policy,budget,regret,stderr,median,q10,q90,best_share,bound_ratio
    """
    word("table", "format", format, ("text", "markdown", "csv", "latex"))
    return written(regret_numbers(result, kind, title), format)


def written(numbers: RegretTable, format: Format) -> str:  # noqa: A002
    """A table's numbers in one of the formats, the same bytes from the same result."""
    if format == "csv":
        limits: dict[str, object] = {"budget": numbers.budget}
        if numbers.floor.requests is not None:
            limits["requests"] = numbers.floor.requests
        headings = ["policy", *limits, *RegretRow._fields[1:-1], "bound_ratio"]
        return Table(headings, [[row.policy, *limits.values(), *row[1:]] for row in numbers.rows]).csv()
    shown, bound = numbers.table(), bound_sentence(numbers.floor)
    if format == "latex":
        label = f"regret-{numbers.title}" if numbers.title else "regret"
        return replace(shown, caption="; ".join(filter(None, [shown.caption, bound]))).latex(label)
    text = shown.markdown() if format == "markdown" else shown.terminal()
    return f"{text}\n{bound}\n" if bound else text


def regret_numbers(result: Result, kind: RegretKind = "pseudo", title: str | None = None) -> RegretTable:
    """What the table says in every format. The bound of many arms takes a while, so it is computed once."""
    named = checked_title("table", title)
    floor, budget = floor_for(checked("table", result)), float(result.budgets[-1])
    bound, summary = floor.at(budget), regret_summary(result, kind)
    numbers = (summary.mean, summary.stderr, summary.q50, summary.q10, summary.q90)
    columns = [*(values[:, -1].tolist() for values in numbers), best_shares(result)]
    rows = [
        RegretRow._make((label, mean, *spread, None if bound is None else mean / bound))
        for label, mean, *spread in zip(result.labels, *columns, strict=True)
    ]
    caption = headed(named, last_of(result) + beside(result.mode), result.runs, result.seed)
    return RegretTable(named, caption, budget, rows, floor)


def headed(title: str | None, where: str, runs: int, seed: int) -> str:
    """What a table shows, after the title of whatever it is part of."""
    shows = f"egret at {where}, {runs} {plural(runs, 'run')}, seed {seed}"
    if title is None:
        return f"R{shows}"
    return f"{title} R{shows}" if title.endswith((".", "?", "!", ":")) else f"{title}: r{shows}"


def checked_title(owner: str, title: object) -> str | None:
    """A title that the user gave, or None."""
    return None if title is None else line(owner, "title", title)


def bound_sentence(floor: Floor) -> str:
    """The lower bound in one line, or why there is none; nothing where it is 0 with requests."""
    if floor.sharp is None:
        return floor.reason
    if floor.requests is not None:
        return f"lower bound as B and N grow in proportion: {number(floor.sharp)} · ln N" if floor.sharp > 0 else ""
    sharp, printed = number(floor.sharp), number(floor.sharp / 2)
    return f"lower bound as B grows: {sharp} · ln B (sharp), {printed} · ln B (as printed in the paper)"
