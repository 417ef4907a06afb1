r"""A table for a two-column paper that uses booktabs: in one column, or across both where it is too wide for that."""

import textwrap
from collections.abc import Sequence

from bursar.report.tex_text import readable, tex

_COLUMN, _BOTH = 200.0, 410.0  # points: one column and both of LaTeX's article, the narrowest of the usual classes
_GAP = 4.0  # points, between two columns of the table; twice as much across the page
_LONGEST, _WORD = 32, 14  # letters of a line in a cell, and of a word in a heading, before they are cut


def latex_table(
    caption: str, label: str, headings: Sequence[str], rows: Sequence[Sequence[str]], left: int = 0, key: int = 1
) -> str:
    r"""The table environment; `caption` is LaTeX already, headings and cells are text.

    Long headings and cells are set in several lines. A table too wide for the page is cut into several, one below the
    other, each with the first `key` columns. The first `left` columns stand to the left, the others to the right.

    >>> print(latex_table("Two", "x", ["K", "a_b"], [["2", "1.5 ± 0.1"]]))
    % \usepackage{booktabs}
    \begin{table}[t]
    \centering\ifdim\linewidth<3.2in\scriptsize\else\footnotesize\fi
    \setlength{\tabcolsep}{2pt}
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
    columns = [[_folded(cell, _LONGEST) for cell in cells] for cells in zip(headings, *rows, strict=True)]
    below = [[_under(head, column[1:]), *column[1:]] for head, column in zip(headings, columns, strict=True)]
    if not _fits(columns, _COLUMN) and (_fits(below, _COLUMN) or not _fits(columns, _BOTH)):
        columns = below
    place, gap = ("table", _GAP) if _fits(columns, _COLUMN) else ("table*", 2 * _GAP)
    blocks = ["\n".join(_tabular(columns, chosen, left)) for chosen in _blocks(list(map(_width, columns)), key)]
    written = [
        r"% \usepackage{booktabs}",
        rf"\begin{{{place}}}[t]",
        r"\centering\ifdim\linewidth<3.2in\scriptsize\else\footnotesize\fi",
        rf"\setlength{{\tabcolsep}}{{{gap / 2:g}pt}}",
        rf"\caption{{{caption}.}}",
        rf"\label{{tab:{label}}}",
        "\n\\par\\medskip\n".join(blocks),
        rf"\end{{{place}}}",
    ]
    return "\n".join([*written, ""])


def _fits(columns: Sequence[Sequence[Sequence[str]]], room: float) -> bool:
    """Whether there is room: in letters of 8 points across the page, of 7 in the narrowest column."""
    size, gap = (7 / 8, _GAP) if room == _COLUMN else (1.0, 2 * _GAP)
    return size * sum(map(_width, columns)) + gap * (len(columns) - 1) <= room


def _width(column: Sequence[Sequence[str]]) -> float:
    return max(_points(line) for cell in column for line in cell)


def _under(heading: str, column: Sequence[Sequence[str]]) -> list[str]:
    """The heading folded to the width of what stands below, or of its longest word."""
    word = min(max(map(len, readable(heading).split()), default=1), _WORD)
    return _folded(heading, max([word, *(len(line) for cell in column for line in cell)]))


def _folded(text: str, room: int) -> list[str]:
    return textwrap.wrap(readable(text), room) or [""]


def _blocks(widths: Sequence[float], key: int) -> list[list[int]]:
    """The columns of each part: as many as the page has room for, after the first ones."""
    first = list(range(key))
    blocks = [list(first)]
    for place in range(key, len(widths)):
        chosen = [*blocks[-1], place]
        if len(chosen) > key + 1 and sum(widths[k] + 2 * _GAP for k in chosen) - 2 * _GAP > _BOTH:
            blocks.append([*first, place])
        else:
            blocks[-1] = chosen
    return blocks


def _tabular(columns: Sequence[Sequence[Sequence[str]]], chosen: Sequence[int], left: int) -> list[str]:
    sides = ["l" if k < left else "r" for k in chosen]
    heading, *body = zip(*(columns[k] for k in chosen), strict=True)
    return [
        rf"\begin{{tabular}}{{@{{}}{''.join(sides)}@{{}}}}",
        r"\toprule",
        _row(heading, sides, "b"),
        r"\midrule",
        *(_row(cells, sides, "t") for cells in body),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _row(cells: Sequence[Sequence[str]], sides: Sequence[str], at: str) -> str:
    return " & ".join(_cell(lines, side, at) for lines, side in zip(cells, sides, strict=True)) + r" \\"


def _cell(lines: Sequence[str], side: str, at: str) -> str:
    if len(lines) == 1:
        return tex(lines[0])
    stack = r"\\ ".join(map(tex, lines))
    return rf"\begin{{tabular}}[{at}]{{@{{}}{side}@{{}}}}{stack}\end{{tabular}}"


def _points(text: str) -> float:
    r"""About how wide it is in \footnotesize, 8 points, rather too much: digits are 4.25."""
    return sum(
        2.6 if letter in " .,:;il'|![]()" else 7.2 if letter in "mwMW%@±÷−" else 6.3 if letter.isupper() else 4.5
        for letter in text
    )
