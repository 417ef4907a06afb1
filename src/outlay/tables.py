"""One table of text for a terminal, Markdown, CSV, LaTeX and HTML."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from outlay.text import Html, cut, listed

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult

GAP = 2  # characters between two columns of a terminal
FOLDED = 12  # characters that a column of text is given at least
WIDE = 60  # characters, from which a table of a two-column paper stands across both columns
CELL = "padding: .2em .7em; border-bottom: 1px solid #8884"
TEX = str.maketrans(
    {
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "[": "{[}", "*": "{*}", "−": "$-$", "±": r"$\pm$", "÷": r"$\div$", "·": r"$\cdot$",
        "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "∞": r"$\infty$",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """A table of cells: `rich.print(Table(["arm", "rate"], [["a", "0.5"], ["b", "12.25"]]))`.

    Args:
        headings: one per column.
        rows: cells as text; `csv` takes numbers too.
        caption: what the table shows, in a line.
        drop_first: the columns that a narrow terminal does without, by heading, the first one first; then go the last
            ones, down to two.
        texts: the columns of text, by heading, to the left and folded where there is no room; by default the first.
        notes: what columns mean, by heading, shown if these are; other notes by any other key.
        total: whether the last row is a sum of the others.
        styles: of the rows in a terminal.
        one_line: whether every row takes one line of a terminal: text is cut in its middle, not folded.

    >>> print(Table(["arm", "rate"], [["a", "0.5"], ["b", "12.25"]]).terminal(), end="")
    arm   rate
    ──────────
    a      0.5
    b    12.25
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""
    drop_first: Sequence[str] = ()
    texts: Collection[str] | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    total: bool = False
    styles: Sequence[str] = ()
    one_line: bool = False

    def terminal(self, width: int = 160) -> str:
        """What a terminal of so many characters per line shows, without colours."""
        from rich.console import Console

        console = Console(width=width, file=io.StringIO(), color_system=None, highlight=False, legacy_windows=False)
        with console.capture() as printed:
            console.print(self)
        return "\n".join(line.rstrip() for line in printed.get().rstrip().splitlines()) + "\n"

    def markdown(self) -> str:
        """A table of GitHub's Markdown below its caption."""

        def line(cells: Iterable[object]) -> str:
            text = (" ".join(str(cell).split()).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
            return f"| {' | '.join(cell.replace('<', '&lt;') for cell in text)} |"

        sides = "|".join(":--" if self._is_text(each) else "--:" for each in range(len(self.headings)))
        caption = [self.caption, ""] if self.caption else []
        return "\n".join([*caption, line(self.headings), f"|{sides}|", *map(line, self.rows), ""])

    def csv(self) -> str:
        """Headings and rows, numbers with all their digits; what is missing is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.headings)
        for row in self.rows:
            writer.writerow("" if cell is None or cell != cell else cell for cell in row)
        return text.getvalue()

    def latex(self, label: str, best: Collection[tuple[int, int]] = ()) -> str:
        """A table for a paper that uses booktabs, across both columns where it is wide; cells in `best` are bold."""
        environment = "table*" if sum(self._width(each) + GAP for each in range(len(self.headings))) > WIDE else "table"
        sides = "".join("l" if self._is_text(each) else "r" for each in range(len(self.headings)))
        lines = [
            r"% \usepackage{booktabs}",
            rf"\begin{{{environment}}}[t]",
            r"\centering\footnotesize",
            rf"\caption{{{tex(self.caption)}.}}",
            rf"\label{{tab:{slug(label)}}}",
            rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}",
            r"\toprule",
            " & ".join(map(tex, self.headings)) + r" \\",
            r"\midrule",
        ]
        for i, row in enumerate(self.rows):
            cells = (rf"\textbf{{{tex(cell)}}}" if (i, k) in best else tex(cell) for k, cell in enumerate(row))
            lines.append(" & ".join(cells) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", rf"\end{{{environment}}}", ""])

    def html(self) -> str:
        """A table in the colours of a notebook; all but `Html` is escaped."""

        def line(tag: str, cells: Iterable[object]) -> str:
            inner = []
            for column, cell in enumerate(cells):
                side = "left" if self._is_text(column) else "right"
                text = cell if isinstance(cell, Html) else escape(str(cell))
                inner.append(f'<{tag} style="text-align: {side}; {CELL}">{text}</{tag}>')
            return f"<tr>{''.join(inner)}</tr>"

        lines = ['<table style="border-collapse: collapse; font-variant-numeric: tabular-nums">']
        if self.caption:
            style = "text-align: left; padding: .2em .7em; white-space: nowrap"
            lines.append(f'<caption style="{style}">{escape(self.caption)}</caption>')
        lines.append(f"<thead>{line('th', self.headings)}</thead><tbody>")
        return "\n".join([*lines, *(line("td", row) for row in self.rows), "</tbody></table>"])

    def within(self, width: int) -> list[int]:
        """The columns that fit a terminal of so many characters."""
        shown = list(range(len(self.headings)))
        others = [heading for heading in reversed(self.headings) if heading not in self.drop_first]
        for heading in (*self.drop_first, *others):
            if len(shown) <= 2 or sum(map(self._least, shown)) + GAP * (len(shown) - 1) <= width:
                break
            shown = [each for each in shown if self.headings[each] != heading or each == 0]
        return shown

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """The caption, the table, what it leaves out, the notes, an empty line."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        if self.caption:
            yield Text(self.caption, "bold")
            yield Text()
        shown = self.within(options.max_width)
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_edge=False)
        widths = self._widths(shown, options.max_width)
        for each, wide in widths.items():
            side: JustifyMethod = "left" if self._is_text(each) else "right"
            table.add_column(Text(self.headings[each]), justify=side, width=wide, overflow="fold")
        for i, row in enumerate(self.rows):
            style = self.styles[i] if self.styles else ""
            ends = self.total and i == len(self.rows) - 2
            cells = ((str(row[each]), wide) for each, wide in widths.items())
            texts = (Text(cut(cell, wide) if self.one_line else cell) for cell, wide in cells)
            table.add_row(*texts, end_section=ends, style=style)
        yield table
        left_out = [heading for i, heading in enumerate(self.headings) if i not in shown]
        if left_out:
            yield Text(f"no room for {listed(left_out, None)}", "dim")
        if notes := "; ".join(note for heading, note in self.notes.items() if heading not in left_out):
            yield Text(notes, "dim")
        yield Text()

    def _is_text(self, column: int) -> bool:
        return column == 0 if self.texts is None else self.headings[column] in self.texts

    def _width(self, column: int) -> int:
        """What its cells take, and the longest word of its heading, which may be folded between words."""
        from rich.cells import cell_len

        heading = self.headings[column]
        words = [heading] if self.one_line else heading.split()
        return max(map(cell_len, (*words, *(str(row[column]) for row in self.rows))), default=0)

    def _least(self, column: int) -> int:
        return min(FOLDED, self._width(column)) if self._is_text(column) else self._width(column)

    def _widths(self, columns: Sequence[int], width: int) -> dict[int, int]:
        """What columns get that fit: the least, then text as much as it needs, then headings one line."""
        from rich.cells import cell_len

        widths = {each: self._least(each) for each in columns}
        spare = width - sum(widths.values()) - GAP * (len(columns) - 1)
        for each in sorted(columns, key=self._is_text, reverse=True):
            wanted = max(self._width(each), cell_len(self.headings[each])) - widths[each]
            given = max(0, min(wanted, spare))
            widths[each] += given
            spare -= given
        return widths


def tex(text: object) -> str:
    """Text on one line with nothing in it that LaTeX would take for a command."""
    return " ".join(str(text).split()).translate(TEX)


def slug(text: str) -> str:
    """Text as a part of a label, in letters that LaTeX takes; signs of numbers and foreign letters still tell.

    >>> slug("Two arms, correlation = −0.5"), slug("γ = 2")
    ('Two-arms-correlation-minus-0.5', 'u03b3-2')
    """
    plain = re.sub(r"(?<![A-Za-z0-9])[−-](?=\d)", " minus ", text).encode("ascii", "backslashreplace").decode()
    return re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")
