"""Tables for a terminal of any width, which never lose a digit.

Where there is no room for all columns, those that matter least are left out, and said to be; where there is none for
the others either, each row becomes a list of its own. Names may be folded; numbers never are.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from outlay.words import listed

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
    from rich.measure import Measurement
    from rich.table import Table

GAP = 2  # characters between two columns
NAMES = 12  # characters that names are given at least


class Column(NamedTuple):
    """A column of a table; those of a high `rank` go first where there is no room, and those of rank 0 stay.

    A heading may be folded at its spaces, unless they are no-break ones.
    """

    heading: str
    cells: Sequence[str]
    rank: int = 0
    right: bool = False  # whether its cells are to the right
    name: bool = False  # whether its cells may be folded

    @property
    def title(self) -> str:
        """The heading as it is printed."""
        return self.heading.replace("\u00a0", " ")

    @property
    def width(self) -> int:
        """What its cells take, and the longest word of its heading, which may be folded between words."""
        from rich.cells import cell_len

        return max(map(cell_len, (*self.heading.split(" "), *self.cells)))

    @property
    def least(self) -> int:
        """What it takes at least."""
        return min(NAMES, self.width) if self.name else self.width


@dataclass(frozen=True)
class Columns:
    """A table that fits: `rich.print(Columns([Column("arm", ["a", "b"]), Column("rate", ["0.5", "12.25"])]))`."""

    columns: Sequence[Column]
    title: str = ""
    total: bool = False  # whether the last row is a sum of the others
    more: str = ""  # a last line
    style: Callable[[int], str] = lambda _: ""  # of a row

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.columns[0].cells)

    def within(self, width: int) -> "tuple[list[Column], list[Column]]":
        """The columns that fit, none if not even those that matter most do; and those that are left out.

        >>> table = Columns([Column("arm", ["a"]), Column("pulls", ["12"], rank=1), Column("rate", ["0.25"])])
        >>> [[column.heading for column in part] for part in table.within(10)]
        [['arm', 'rate'], ['pulls']]
        """
        shown, left = list(self.columns), []
        while _room(shown) > width:
            last = max(shown, key=lambda column: column.rank)
            if last.rank == 0:
                return [], []
            shown.remove(last)
            left.append(last)
        return shown, left

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        """The table, or its rows one by one; what it leaves out, in words; the last line; an empty one."""
        from rich.text import Text

        if self.title:
            yield Text(self.title, "bold")
            yield Text()
        shown, left = self.within(options.max_width)
        if shown:
            yield self._table(shown, options.max_width)
        else:
            yield from self._lists(options.max_width)
        if left:
            yield Text(f"no room for {listed([column.title for column in left], None)}", "dim")
        if self.more:
            yield Text(self.more, "dim")
        yield Text()

    def __rich_measure__(self, console: "Console", options: "ConsoleOptions") -> "Measurement":
        """At least what rows one by one take, and at most what all columns do."""
        from rich.measure import Measurement

        most = sum(column.width + GAP for column in self.columns)
        return Measurement(min(20, most), most).with_maximum(options.max_width)

    def _table(self, shown: Sequence[Column], width: int) -> "Table":
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_edge=False)
        for each, wide in zip(shown, _widths(shown, width), strict=True):
            side: JustifyMethod = "right" if each.right else "left"
            table.add_column(Text(each.title), justify=side, width=wide, overflow="fold")
        for row in range(self.rows):
            ends = self.total and row == self.rows - 2
            table.add_row(*(Text(each.cells[row]) for each in shown), end_section=ends, style=self.style(row))
        return table

    def _lists(self, width: int) -> "Iterator[RenderableType]":
        """Every row as lines of a heading and a cell, after the first cell; in two lines where one is too short."""
        from rich.cells import cell_len
        from rich.padding import Padding
        from rich.text import Text

        first, *others = self.columns
        wide = max((cell_len(each.heading) for each in others), default=0)
        for row in range(self.rows):
            yield Text(first.cells[row] or "–", self.style(row) or "bold", overflow="fold")
            for each in others:
                cell = each.cells[row] or "–"
                if wide + cell_len(cell) + 4 <= width:
                    yield Text(f"  {each.title:<{wide}}  {cell}")
                else:
                    yield Padding(Text(each.title), (0, 0, 0, 2))
                    yield Padding(Text(cell, overflow="fold"), (0, 0, 0, 4))


def of_rows(headings: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str] = ()) -> list[Column]:
    """Columns of a table given by rows: the first of names, the others to the right; `spare` go first, in this order.

    >>> [column.rank for column in of_rows(["arm", "rate", "pulls"], [["a", "0.5", "9"]], spare=["pulls", "rate"])]
    [0, 1, 2]
    """
    ranks = {heading: len(spare) - place for place, heading in enumerate(spare)}
    cells = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [
        Column(heading, column, rank=ranks.get(heading, 0), right=place > 0, name=place == 0)
        for place, (heading, column) in enumerate(zip(headings, cells, strict=True))
    ]


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """What columns get that fit: names as much as they need, if there is so much, then headings one line."""
    from rich.cells import cell_len

    widths, spare = [column.least for column in columns], width - _room(columns)
    for wanted in ([column.width for column in columns], [cell_len(column.heading) for column in columns]):
        for i, want in enumerate(wanted):
            given = max(0, min(want - widths[i], spare))
            widths[i] += given
            spare -= given
    return widths


def _room(columns: Sequence[Column]) -> int:
    """What the columns take at least."""
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)
