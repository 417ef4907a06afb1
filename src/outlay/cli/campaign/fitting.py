"""Text that fits a terminal: long names cut in their middle, and facts in as many lines as they need."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len

from outlay.columns import GAP, NAMES, Column, Columns
from outlay.words import cut


def fitted(
    columns: Sequence[Column], width: int, style: Callable[[int], str] = lambda _: "", more: str = ""
) -> Columns:
    """A table whose names take one line each; `style` is that of a row, and `more` a last line.

    >>> table = fitted([Column("arm", ["a rather long name, 12"], name=True), Column("rate", ["0.5"])], 18)
    >>> table.columns[0].cells
    ['a rathe…, 12']
    """
    table = Columns(
        [each._replace(heading=each.heading.replace(" ", "\u00a0")) for each in columns], more=more, style=style
    )
    shown, _ = table.within(width)
    room = width - sum(each.width for each in shown if not each.name) - GAP * (len(shown) - 1)
    most = max(NAMES, room) if shown else width - 4
    names = [each._replace(cells=[within(cell, most) for cell in each.cells]) for each in table.columns if each.name]
    return replace(table, columns=[names.pop(0) if each.name else each for each in table.columns])


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
