"""A table of text cells in three dresses: for a terminal, Markdown and LaTeX."""

from collections.abc import Collection, Sequence

from outlay.columns import Columns, of_rows
from outlay.report.tables.formats import markdown_lines
from outlay.report.tables.latex import latex_table, slug
from outlay.report.tables.tex_text import tex

Lines = Sequence[Sequence[str]]


def rich_table(title: str, headings: Sequence[str], lines: Lines) -> Columns:
    """The table for a terminal."""
    columns = of_rows(headings, lines)
    return Columns([column._replace(right=column.heading != "policy", name=False) for column in columns], title)


def text(title: str, headings: Sequence[str], lines: Lines) -> str:
    """The same as plain text below its title, as wide as it needs to be."""
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=10_000, color_system=None)
    with console.capture() as capture:
        console.print(rich_table(title, headings, lines))
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines()) + "\n"


def markdown(title: str, headings: Sequence[str], lines: Lines) -> str:
    """A table of GitHub's Markdown below its title."""
    return "\n".join([title, "", *markdown_lines(headings, lines, ["--:"] * len(headings)), ""])


def latex(
    title: str,
    headings: Sequence[str],
    lines: Lines,
    key: int = 1,
    best: Collection[tuple[int, int]] = (),
    name: str | None = None,
) -> str:
    r"""A table for a two-column paper that uses booktabs; the first `key` columns say which point a line is about.

    Its label is made of the `name`, or of the title. The cells in `best`, by line and column, are bold.

    >>> print(latex("Two", ["K", "a_b"], [["−2", "1.5 ± 0.1"]]).splitlines()[10])
    $-$2 & 1.5 $\pm$ 0.1 \\
    """
    return latex_table(tex(title), f"sweep-{slug(name or title)}", headings, lines, key=key, bold=best)
