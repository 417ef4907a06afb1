r"""A table for a two-column paper that uses booktabs: in one column, or across both where it is too wide for that."""

import re
import textwrap
from collections.abc import Collection, Sequence

from outlay.report.tables.tex_text import readable, tex

_COLUMN, _BOTH = 221.0, 450.0  # points: one column and both of LaTeX's article on A4, the narrowest usual ones
_GAP = 6.0  # points, the least between two columns of the table; twice as much where there is room
_SMALLER, _CLOSER = 0.94, 2.4  # letters, by those of 8 points, and gaps of a table that is set in 7 where it must
_LONGEST, _SHORT = 32, 16  # letters of a line in a cell, before it is folded, and where there is little room

Columns = list[list[list[str]]]  # the lines of each cell, one list of cells per column


def latex_table(
    caption: str,
    label: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int = 0,
    key: int = 1,
    bold: Collection[tuple[int, int]] = (),
) -> str:
    r"""The table environment; `caption` is LaTeX already, headings and cells are text.

    Long headings and cells are set in several lines where that makes the table fit, words stay whole. One that fits a
    column of 3.45 inches (IEEE's) is set smaller in narrower ones. A table too wide for the page is cut into several,
    one below the other, each with the first `key` columns. The first `left` columns stand to the left, the others to
    the right. `bold` names cells by row and column.

    >>> print(latex_table("Two", "x", ["K", "a_b"], [["2", "1.5 ± 0.1"]]))
    % \usepackage{booktabs}
    \begin{table}[t]
    \centering\footnotesize
    \setlength{\tabcolsep}{6pt}
    \caption{Two.}
    \label{tab:x}
    \begin{tabular}{@{}rr@{}}
    \toprule
    K & a\_b \\
    \midrule
    2 & 1.5 $\pm$ 0.1 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    whole = [[_folded(cell, _LONGEST) for cell in cells] for cells in zip(headings, *rows, strict=True)]
    forms = [
        whole,
        _under(headings, whole),
        _under(headings, [[_folded(" ".join(c), _SHORT) for c in w] for w in whole]),
    ]
    sizes = (_COLUMN, 1.0, _GAP), (_COLUMN, _SMALLER, _CLOSER), (_BOTH, 1.0, 8.0)
    fitting = [(form, room, size) for room, size, gap in sizes for form in forms if _fits(form, room, size, gap)]
    columns, room, size = fitting[0] if fitting else (forms[1], _BOTH, 1.0)
    environment = "table" if room == _COLUMN else "table*"
    widths = list(map(_width, columns))
    blocks = _blocks(widths, key)
    tight = size < 1.0  # then LaTeX makes the gaps as wide as its column allows
    gap = min(_gap([widths[k] for k in chosen], room) for chosen in blocks)
    written = [
        r"% \usepackage{booktabs}",
        rf"\begin{{{environment}}}[t]",
        r"\centering\footnotesize" + r"\ifdim\linewidth<3.45in\scriptsize\fi" * tight,
        rf"\setlength{{\tabcolsep}}{{{0 if tight else gap / 2:.3g}pt}}",
        rf"\caption{{{caption}.}}",
        rf"\label{{tab:{label}}}",
        "\n\\par\\medskip\n".join("\n".join(_tabular(columns, chosen, left, tight, bold)) for chosen in blocks),
        rf"\end{{{environment}}}",
    ]
    return "\n".join([*written, ""])


def slug(text: str) -> str:
    """Text as a part of a label, in letters that LaTeX takes; signs of numbers and foreign letters still tell.

    >>> slug("Two arms, correlation = −0.5"), slug("γ = 2")
    ('Two-arms-correlation-minus-0.5', 'u03b3-2')
    """
    plain = re.sub(r"(?<![A-Za-z0-9])[−-](?=\d)", " minus ", text).encode("ascii", "backslashreplace").decode()
    return re.sub(r"[^A-Za-z0-9.]+", "-", plain).strip("-.")


def _fits(columns: Columns, room: float, size: float, gap: float) -> bool:
    return size * sum(map(_width, columns)) + gap * (len(columns) - 1) <= room


def _gap(widths: Sequence[float], room: float) -> float:
    """As much as there is room for, from the least to what LaTeX has by itself."""
    return max(_GAP, min(2 * _GAP, (room - sum(widths)) / max(len(widths) - 1, 1)))


def _width(column: Sequence[Sequence[str]]) -> float:
    return max(_points(line) for cell in column for line in cell)


def _under(headings: Sequence[str], columns: Columns) -> Columns:
    """The headings folded to the width of what stands below."""
    rooms = [max((len(line) for cell in column[1:] for line in cell), default=1) for column in columns]
    return [[_folded(head, room), *rest] for head, room, (_, *rest) in zip(headings, rooms, columns, strict=True)]


def _folded(text: str, room: int) -> list[str]:
    """Lines of so many letters, or of the longest word, up to a limit."""
    words = readable(text)
    longest = max(map(len, words.split()), default=1)
    return textwrap.wrap(words, max(room, min(longest, _LONGEST), 1), break_on_hyphens=False) or [""]


def _blocks(widths: Sequence[float], key: int) -> list[list[int]]:
    """The columns of each part: as many as the page has room for, after the first ones."""
    first = list(range(key))
    blocks = [list(first)]
    for index in range(key, len(widths)):
        chosen = [*blocks[-1], index]
        if len(chosen) > key + 1 and sum(widths[k] + 8.0 for k in chosen) - 8.0 > _BOTH:
            blocks.append([*first, index])
        else:
            blocks[-1] = chosen
    return blocks


def _tabular(
    columns: Columns, chosen: Sequence[int], left: int, tight: bool, bold: Collection[tuple[int, int]]
) -> list[str]:
    sides = ["l" if k < left else "r" for k in chosen]
    heading, *body = zip(*(columns[k] for k in chosen), strict=True)
    begin = r"{tabular*}{\linewidth}{@{\extracolsep{\fill}}" if tight else "{tabular}{@{}"
    return [
        rf"\begin{begin}{''.join(sides)}@{{}}}}",
        r"\toprule",
        _row(heading, sides, "b"),
        r"\midrule",
        *(_row(cells, sides, "t", [(i, k) in bold for k in chosen]) for i, cells in enumerate(body)),
        r"\bottomrule",
        r"\end{tabular*}" if tight else r"\end{tabular}",
    ]


def _row(cells: Sequence[Sequence[str]], sides: Sequence[str], at: str, bold: Sequence[bool] = ()) -> str:
    strong = bold or [False] * len(cells)
    return " & ".join(_cell(*each, at) for each in zip(cells, sides, strong, strict=True)) + r" \\"


def _cell(lines: Sequence[str], side: str, bold: bool, at: str) -> str:
    words = [rf"\textbf{{{tex(line)}}}" if bold else tex(line) for line in lines]
    if len(words) == 1:
        return words[0]
    stack = r"\\ ".join(words)
    return rf"\begin{{tabular}}[{at}]{{@{{}}{side}@{{}}}}{stack}\end{{tabular}}"


def _points(text: str) -> float:
    r"""About how wide it is in \footnotesize, 8 points of Computer Modern, rather too much; Times is narrower."""
    return sum(next((width for letters, width in _WIDTHS.items() if letter in letters), 4.75) for letter in text)


_WIDTHS = {
    ".,:;'|!ijl": 2.4, " ": 2.85, "frst()[]-I": 3.4, "0123456789aceogyvxz–/*_": 4.3, "m%@±÷−=+<>w": 7.1, "MW": 8.8,
    "ABCDEFGHKLNOPQRTUVXYZ": 6.7,
}  # fmt: skip
