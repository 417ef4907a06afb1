"""The regret table as text, Markdown, CSV and LaTeX: the same rows, the same bytes from the same result."""

import csv
import io
from collections.abc import Callable, Sequence

from outlay.checks import word
from outlay.numerals import coefficient
from outlay.report.contents import Format
from outlay.report.tables.latex import latex_table, slug
from outlay.report.tables.regret import RegretTable, bound_sentence, regret_numbers, rich_table
from outlay.report.tables.tex_text import tex
from outlay.results.regret import RegretKind
from outlay.results.result import Result, checked

_WIDTH = 160  # characters of a terminal, for a table that is read in a file
_TEX_HEADINGS = ("policy", "regret ± s.e.", "median", "80% of runs", "best", "÷ bound")


def table(  # the word for it
    result: Result,
    format: Format = "text",  # noqa: A002
    kind: RegretKind = "pseudo",
    title: str | None = None,
) -> str:
    r"""The regret table at the largest budget, as text.

    Args:
        result: of `simulate`.
        format: "text", as on a terminal; "markdown"; "csv", with all digits; "latex", with booktabs' rules, for one
            column of a two-column paper or, where it is too wide for that, across both.
        kind: "pseudo" or "realised", as for `Result.regret`.
        title: of one line, before what the table shows; none in CSV.

    >>> import outlay
    >>> problem = outlay.arms.catalogue.load("G")
    >>> result = outlay.simulate(problem, outlay.policies.RoundRobin(), budgets=[1000], runs=5)
    >>> print(table(result, "csv").splitlines()[0])
    policy,budget,regret,stderr,median,q10,q90,best_share,bound_ratio
    """
    checked("table", result)
    word("table", "format", format, tuple(_WRITERS))
    return written(regret_numbers(result, kind, title), format)


def written(numbers: RegretTable, format: Format) -> str:  # noqa: A002
    """A table's numbers in one of the formats."""
    return _WRITERS[format](numbers)


def _text(numbers: RegretTable) -> str:
    from rich.console import Console

    console = Console(width=_WIDTH, file=io.StringIO(), color_system=None, highlight=False, legacy_windows=False)
    with console.capture() as printed:
        console.print(rich_table(numbers))
    lines = [line.rstrip() for line in printed.get().splitlines()]
    bound = bound_sentence(numbers.floor)
    return "\n".join([*lines, *([bound] if bound else []), ""])


def _markdown(numbers: RegretTable) -> str:
    sides = ":--", *["--:"] * (len(numbers.headings) - 1)
    lines = markdown_lines(numbers.headings, [row.cells() for row in numbers.rows], sides)
    bound = bound_sentence(numbers.floor)
    return "\n".join([numbers.caption, "", *lines, *(["", bound] if bound else []), ""])


def markdown_lines(headings: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[str]) -> list[str]:
    r"""A table of GitHub's Markdown; `sides` are its second line.

    >>> markdown_lines(["a|b"], [["1"]], ["--:"])
    ['| a\\|b |', '|--:|', '| 1 |']
    """

    def line(cells: Sequence[str]) -> str:
        plain = (
            " ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in cells
        )
        return f"| {' | '.join(plain)} |"

    return [line(headings), f"|{'|'.join(sides)}|", *map(line, rows)]


def _csv(numbers: RegretTable) -> str:
    """Numbers in full; what is missing is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    limits = {"budget": repr(numbers.budget)}
    if numbers.requests is not None:
        limits["requests"] = str(numbers.requests)
    writer.writerow(["policy", *limits, "regret", "stderr", "median", "q10", "q90", "best_share", "bound_ratio"])
    for row in numbers.rows:
        values = ["" if value is None or value != value else repr(float(value)) for value in row[1:]]
        writer.writerow([row.policy, *limits.values(), *values])
    return text.getvalue()


def _latex(numbers: RegretTable) -> str:
    cells = [[cell.replace(" – ", "–") for cell in row.cells()] for row in numbers.rows]
    floor = numbers.floor
    bound = tex(floor.reason)
    if floor.sharp is not None and floor.printed is not None:
        sharp, printed = map(coefficient, (floor.sharp, floor.printed))
        bound = rf"lower bound: {sharp}$\,\ln B$ (sharp), {printed}$\,\ln B$ (as printed)"
    elif floor.sharp:
        bound = rf"lower bound: {coefficient(floor.sharp)}$\,\ln N$"
    label = f"regret-{slug(numbers.title)}" if numbers.title else "regret"
    shows = "; ".join(filter(None, [tex(numbers.caption), bound]))
    return latex_table(shows, label, _TEX_HEADINGS, cells, left=1)


_WRITERS: dict[Format, Callable[[RegretTable], str]] = {
    "text": _text, "markdown": _markdown, "csv": _csv, "latex": _latex,
}  # fmt: skip
