"""Small pieces of HTML for notebooks: a table, its numbers, a line in a cell. They take the notebook's own colours."""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from html import escape

_CELL = "padding: .2em .7em; border-bottom: 1px solid #8884"
_DUST = 1e-6  # of the largest number in a column: what is less has no say in its decimals


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", left: int = 1) -> str:
    """A table, its first `left` columns to the left and the others to the right; all but `Html` is escaped.

    >>> html_table(["arm"], [["a<b"]]).count("a&lt;b")
    1
    """
    lines = ['<table style="border-collapse: collapse; font-variant-numeric: tabular-nums">']
    if caption:
        style = "text-align: left; padding: .2em .7em; white-space: nowrap"
        lines.append(f'<caption style="{style}">{escape(caption)}</caption>')
    lines.append(f"<thead>{_row('th', headings, left)}</thead><tbody>")
    lines += [_row("td", row, left) for row in rows]
    return "\n".join([*lines, "</tbody></table>"])


_LARGE = 1e9  # from here on numbers have exponents


def aligned(values: Sequence[float], digits: int) -> list[str]:
    """The numbers of a column, all with the decimals that show each of them to so many digits.

    >>> aligned([23.0, 17.625, 1204.0], 3)
    ['23.0', '17.6', '1,204.0']
    """
    finite = [abs(value) for value in values if math.isfinite(value)]
    least = _DUST * max(finite, default=0.0)
    shown = [Decimal(f"{value:.{digits}g}").normalize() for value in finite if value > least]
    decimals = max([0, *(-int(number.as_tuple().exponent) for number in shown)])
    if max(finite, default=0.0) >= _LARGE:
        return [_cell(f"{value:.{digits}g}") for value in values]
    return [_cell(f"{round(value, decimals) + 0.0:,.{decimals}f}") for value in values]


def _cell(number: str) -> str:
    return "–" if number == "nan" else number.replace("-", "−")


def sparkline(values: Sequence[float], lowest: float, highest: float) -> Html:
    """A line through values that are evenly spaced, between two ends that other lines may share.

    >>> sparkline([0.0, 1.0], 0.0, 1.0)
    '<svg width="120" height="24" ...<polyline points="2,22 118,2" .../></svg>'
    """
    span = (highest - lowest) or 1.0
    step = 116.0 / max(len(values) - 1, 1)
    points = " ".join(f"{2 + i * step:.4g},{22 - 20 * (value - lowest) / span:.4g}" for i, value in enumerate(values))
    line = f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    return Html(f'<svg width="120" height="24" viewBox="0 0 120 24" role="img">{line}</svg>')


def _row(tag: str, cells: Sequence[object], left: int) -> str:
    inner = []
    for column, cell in enumerate(cells):
        side = "left" if column < left else "right"
        text = cell if isinstance(cell, Html) else escape(str(cell))
        inner.append(f'<{tag} style="text-align: {side}; {_CELL}">{text}</{tag}>')
    return f"<tr>{''.join(inner)}</tr>"
