"""One table in every dress: on terminals of any width no number is broken, and what is left out is named."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from outlay.tables import Table
from outlay.text import Html

REGRET = Table(
    ["policy", "regret ± stderr", "median", "q10 – q90", "best arm"],
    [
        ["UCBB1", "255.17 ± 3.04", "72.0", "43.1 – 98.7", "99.7%"],
        ["a policy of a rather long name", "12,204 ± 16.9", "12,189", "12,087 – 12,340", "61.6%"],
    ],
    "Regret at budget 100,000",
    drop_first=["q10 – q90", "best arm", "median"],
    notes={"median": "median: of all runs", "more": "and more"},
)
cells = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z", "M"]), min_size=1, max_size=12)


def printed(table: Table, width: int) -> str:
    console = Console(width=width, highlight=False, color_system=None, file=io.StringIO(), legacy_windows=False)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_a_narrow_terminal_drops_the_columns_that_matter_least() -> None:
    assert "no room" not in printed(REGRET, 100)
    assert "12,087 – 12,340" in printed(REGRET, 100)
    narrow = printed(REGRET, 48)
    assert "no room for q10 – q90" in " ".join(narrow.split())
    assert "12,204 ± 16.9" in narrow
    assert "median: of all runs" not in printed(REGRET, 32)  # nor the notes on them
    assert "and more" in printed(REGRET, 32)


@given(st.data())
def test_every_number_is_whole(data: st.DataObject) -> None:
    count, rows = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    numbers = [[f"{x:,.2f}" for x in data.draw(st.lists(st.floats(-1e6, 1e6), min_size=count, max_size=count))]]
    lines = [[data.draw(cells), *numbers[0]] for _ in range(rows)]
    headings = ["name", *(f"n{i}" for i in range(count))]
    table = Table(headings, lines, drop_first=data.draw(st.permutations(headings[1:]))[: count // 2])
    width = data.draw(st.integers(30, 200))
    text, shown = printed(table, width), table.within(width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert shown[0] == 0
    assert all(text.split().count(lines[0][each]) >= rows for each in shown[1:])
    missing = " ".join(text.split()).partition("no room for ")[2]
    assert all(heading in missing for i, heading in enumerate(headings) if i not in shown)


def test_markdown_and_html_escape() -> None:
    table = Table(["a|b", "n"], [["<i>\\", "1"], ["x\ny", Html("<svg/>")]], "what")
    assert table.markdown().splitlines() == [
        "what", "", r"| a\|b | n |", "|:--|--:|", r"| &lt;i>\\ | 1 |", "| x y | &lt;svg/> |",
    ]  # fmt: skip
    assert "&lt;i&gt;" in table.html()
    assert "<svg/>" in table.html()


@pytest.mark.parametrize("wide", [False, True])
def test_latex(wide: bool) -> None:
    columns = 6 if wide else 1
    rows = [["a_b & 5%", *["−1.5 ± 0.1"] * columns], ["[c] $x$ \\y{}", *["2 ≥ ∞"] * columns]]
    lines = Table(["policy", *["÷ bound"] * columns], rows, "Regret, 50%").latex("Zoë = −0.5", best=[(0, 1)])
    assert lines.isascii()
    assert lines.splitlines()[1] == (r"\begin{table*}[t]" if wide else r"\begin{table}[t]")
    assert r"\caption{Regret, 50\%.}" in lines
    assert r"\label{tab:Zo-xeb-minus-0.5}" in lines
    assert r"a\_b \& 5\% & \textbf{$-$1.5 $\pm$ 0.1}" in lines
    assert r"{[}c] \$x\$ \textbackslash{}y\{\} & 2 $\geq$ $\infty$" in lines
