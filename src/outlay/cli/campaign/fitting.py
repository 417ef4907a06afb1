"""Text that fits a terminal: tables that leave out what matters least, and facts in as many lines as they need."""

from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from outlay.columns import GAP, NAMES, Column
from outlay.words import cut


def fitted(columns: Sequence[Column], width: int, style: Callable[[int], str] = lambda _: "", more: str = "") -> Table:
    """A table of those columns for which there is room; `style` is that of a row, and `more` a last line.

    >>> [column.header for column in fitted([Column("arm", ["a"]), Column("rate", ["0.5"], 1)], 8).columns]
    ['arm']
    """
    shown = list(columns)
    while _least(shown) + 1 > width and any(column.rank for column in shown):
        shown.remove(max(shown, key=lambda column: column.rank))
    room = width - 1 - sum(_whole(column) for column in shown if not column.name) - GAP * (len(shown) - 1)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), header_style="bold", show_edge=False)
    cut: list[Sequence[str]] = []
    for column in shown:
        side = "right" if column.right else "left"
        table.add_column(column.heading, justify=side, no_wrap=True)  # type: ignore[arg-type]
        cut.append([within(cell, max(NAMES, room)) for cell in column.cells] if column.name else column.cells)
    for row, cells in enumerate(zip(*cut, strict=True)):
        table.add_row(*map(Text, cells), style=style(row))
    if more:
        table.caption, table.caption_justify, table.caption_style = more, "left", "dim"
    return table


def within(name: str, width: int) -> str:
    """A name in so many columns of a terminal, where some characters take two.

    >>> within("a rather long name, 12", 12), within("北京北京北京北京", 8)
    ('a rathe…, 12', '北京…京')
    """
    most = width
    while cell_len(short := cut(name, most)) > width:
        most -= 1
    return short


def flowed(facts: Sequence[str], width: int) -> Iterator[str]:
    """Facts in lines of this width, with some room between two of them.

    >>> list(flowed(["spent 3", "left 4", "reward 12"], 18))
    ['spent 3   left 4', 'reward 12']
    """
    line = ""
    for fact in facts:
        if line and cell_len(line) + 3 + cell_len(fact) > width:
            yield line
            line = ""
        line = f"{line}   {fact}" if line else fact
    if line:
        yield line


def _whole(column: Column) -> int:
    """What it takes to show a column with its heading in one line."""
    return max(cell_len(column.heading), column.width)


def _least(columns: Sequence[Column]) -> int:
    """What the columns take at least."""
    wholes = (min(NAMES, _whole(each)) if each.name else _whole(each) for each in columns)
    return sum(wholes) + GAP * (len(columns) - 1)
