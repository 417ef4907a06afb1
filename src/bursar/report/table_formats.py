"""The regret table as text, Markdown, CSV and LaTeX: the same rows, the same bytes from the same result."""

import csv
import io
from collections.abc import Callable

from bursar.engine.result import Result, checked
from bursar.parameters import place_of
from bursar.report.curves import floor_of
from bursar.report.tables import HEADINGS, bound_sentence, caption, regret_rows, regret_table

_WIDTH = 160  # characters of a terminal, for a table that is read in a file
_TEX_HEADINGS = ("policy", "regret ± s.e.", "median", "80% of runs", "best", "÷ bound")
_COLUMN, _BETWEEN = 3.3 * 72.27, 5.0  # points: a column of a two-column paper, and what is between two of a table
_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': "''", "[": "{[}", "*": "{*}", "≤": r"$\leq$", "≥": r"$\geq$", "×": r"$\times$",
    "±": r"$\pm$", "–": "--", "−": "$-$", "÷": r"$\div$", "·": r"$\cdot$",
}  # fmt: skip


def table(result: Result, format: str = "text", kind: str = "pseudo") -> str:  # noqa: A002 (the word for it)
    r"""The regret table at the largest budget, as text.

    Args:
        result: of `simulate`.
        format: "text", as on a terminal; "markdown"; "csv", with all digits; "latex", with booktabs' rules, for one
            column of a two-column paper or, where it is too wide for that, across both.
        kind: "pseudo" or "realised", as for `Result.regret`.

    >>> import bursar
    >>> problem = bursar.arms.catalogue.load("G")
    >>> result = bursar.simulate(problem, bursar.policies.Uniform(), budgets=[1000], runs=5)
    >>> print(table(result, "csv").splitlines()[0])
    policy,budget,regret,stderr,median,q10,q90,best_share,bound_ratio
    """
    checked("table", result)
    place_of("table", "format", format, tuple(_WRITERS))
    return _WRITERS[format](result, kind)


def _text(result: Result, kind: str) -> str:
    from rich.console import Console

    console = Console(width=_WIDTH, file=io.StringIO(), color_system=None, highlight=False, legacy_windows=False)
    with console.capture() as printed:
        console.print(regret_table(result, kind))
    lines = [line.rstrip() for line in printed.get().splitlines()]
    return "\n".join([*lines, bound_sentence(floor_of(result.problem)), ""])


def _markdown(result: Result, kind: str) -> str:
    def line(cells: tuple[str, ...]) -> str:
        plain = (
            " ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;") for cell in cells
        )
        return f"| {' | '.join(plain)} |"

    rule = "|".join(["", ":--", *["--:"] * (len(HEADINGS) - 1), ""])
    lines = [line(HEADINGS), rule, *(line(row.cells()) for row in regret_rows(result, kind))]
    return "\n".join([f"{caption(result)}", "", *lines, "", bound_sentence(floor_of(result.problem)), ""])


def _csv(result: Result, kind: str) -> str:
    """Numbers in full; what is missing is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("policy", "budget", "regret", "stderr", "median", "q10", "q90", "best_share", "bound_ratio")
    writer.writerow(names)
    for row in regret_rows(result, kind):
        numbers = ["" if value is None or value != value else repr(float(value)) for value in row[1:]]
        writer.writerow([row.policy, repr(float(result.budgets[-1])), *numbers])
    return text.getvalue()


def _latex(result: Result, kind: str) -> str:
    cells = [tuple(cell.replace(" – ", "–") for cell in row.cells()) for row in regret_rows(result, kind)]
    widest = [max(map(_points, column)) for column in zip(_TEX_HEADINGS, *cells, strict=True)]
    place = "table" if sum(widest) + (len(widest) - 1) * _BETWEEN <= _COLUMN else "table*"
    heading, *body = (" & ".join(map(tex, row)) + r" \\" for row in (_TEX_HEADINGS, *cells))
    floor = floor_of(result.problem)
    bound = tex(floor.reason)
    if floor.sharp is not None and floor.printed is not None:
        bound = rf"lower bound: ${floor.sharp:.4g}\ln B$ (sharp), ${floor.printed:.4g}\ln B$ (as printed)"
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{{place}}}[t]",
        r"\centering\footnotesize",
        rf"\setlength{{\tabcolsep}}{{{_BETWEEN / 2:g}pt}}",
        rf"\caption{{{tex(caption(result))}; {bound}.}}",
        r"\label{tab:regret}",
        r"\begin{tabular}{@{}l" + "r" * (len(heading.split("&")) - 1) + "@{}}",
        r"\toprule",
        heading,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\end{{{place}}}",
    ]
    return "\n".join([*lines, ""])


def _points(text: str) -> float:
    r"""About how wide it is in \footnotesize, 8 points: digits are 4.25."""
    return sum(2.4 if letter in " .,il" else 6.0 if letter.isupper() or letter in "±÷%mw" else 4.3 for letter in text)


def tex(text: str) -> str:
    r"""Text with nothing in it that LaTeX would take for a command, nor, after a row's end, for its argument.

    >>> print(tex("50% of $x_1$ ± 2"))
    50\% of \$x\_1\$ $\pm$ 2
    """
    return "".join(_TEX.get(character, character) for character in " ".join(text.split()))


_WRITERS: dict[str, Callable[[Result, str], str]] = {
    "text": _text, "markdown": _markdown, "csv": _csv, "latex": _latex,
}  # fmt: skip
