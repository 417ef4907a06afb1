"""A table of text cells in three dresses: for a terminal, Markdown and LaTeX."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bursar.report.latex_table import latex_table
from bursar.report.tex_text import tex

if TYPE_CHECKING:
    from rich.table import Table

Lines = Sequence[Sequence[str]]


def rich_table(headings: Sequence[str], lines: Lines) -> "Table":
    """The table for a terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for heading in headings:
        table.add_column(Text(heading), justify="left" if heading == "policy" else "right", no_wrap=True)
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def text(title: str, headings: Sequence[str], lines: Lines) -> str:
    """The same as plain text below its title, as wide as it needs to be."""
    from io import StringIO

    from rich.console import Console

    console = Console(file=StringIO(), width=10_000, color_system=None)
    with console.capture() as capture:
        console.print(rich_table(headings, lines))
    return "\n".join([title, *(line.rstrip() for line in capture.get().rstrip().splitlines())]) + "\n"


def markdown(title: str, headings: Sequence[str], lines: Lines) -> str:
    r"""A table of GitHub's Markdown below its title.

    >>> print(markdown("Two", ["a|b"], [["1"]]))
    Two
    <BLANKLINE>
    | a\|b |
    |--:|
    | 1 |
    <BLANKLINE>
    """
    escapes = {"\\": r"\\", "|": r"\|", "<": "&lt;"}
    rows = [
        [re.sub(r"[\\|<]", lambda found: escapes[found[0]], " ".join(cell.split())) for cell in row]
        for row in [headings, *lines]
    ]
    written = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([title, "", written[0], "|" + "--:|" * len(headings), *written[1:], ""])


def latex(title: str, headings: Sequence[str], lines: Lines, key: int = 1) -> str:
    r"""A table for a two-column paper that uses booktabs; the first `key` columns say which point a line is about.

    >>> print(latex("Two", ["K", "a_b"], [["-2", "1.5 ± 0.1"]]).splitlines()[10])
    $-$2 & 1.5 $\pm$ 0.1 \\
    """
    rows = [[re.sub(r"^-(?=\d)", "−", cell) for cell in line] for line in lines]
    return latex_table(tex(title), "sweep", headings, rows, key=key)
