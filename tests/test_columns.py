"""Tables on terminals of any width: every number that is shown is whole, and what is not shown is named."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from outlay import report
from outlay.arms import catalogue
from outlay.columns import Column, Columns, of_rows
from outlay.experiments.report.tables import rich_table
from outlay.report.numbers.bounds import problem_bounds
from outlay.report.tables.bounds import plain_table
from outlay.report.tables.request_bounds import request_bounds_table

WIDTHS = range(20, 201)


def printed(table: object, width: int) -> str:
    console = Console(width=width, highlight=False, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def check(table: Columns, width: int) -> None:
    """Parse what is printed: cells of the columns that are not left out appear whole, row by row, as often as given."""
    text = printed(table, width)
    assert max(map(cell_len, text.splitlines())) <= width
    shown, left = table.within(width)
    said = " ".join(text.split())
    for column in left:
        assert column.title in said.partition("no room for ")[2]
    words = text.split()
    for column in shown or table.columns:
        if not column.name:
            for cell in column.cells:
                for word in cell.split():
                    assert words.count(word) >= sum(other.split().count(word) for other in column.cells)
    if shown:
        head = max(n for n, line in enumerate(text.splitlines()) if line.startswith("───"))
        body = text.splitlines()[head + 1 :]
        for row in range(table.rows):
            cells = [column.cells[row].split() for column in shown]
            parts = [
                ".*?" if column.name else r"\s+".join(map(re.escape, cell))
                for column, cell in zip(shown, cells, strict=True)
                if column.name or cell
            ]
            pattern = r"\s+".join(parts) + r"\s*$"
            assert any(re.match(pattern, line.strip() + " ") for line in body), (width, cells, text)


TABLES: dict[str, Callable[[], Columns]] = {
    "regret": lambda: Columns(
        of_rows(
            ["policy", "regret ± stderr", "median", "q10 – q90", "best arm", "÷ bound"],
            [
                ["UCBB1", "255.17 ± 3.04", "72.0", "43.1 – 98.7", "99.7%", "1.50"],
                ["a policy of a long name", "12,204 ± 16.9", "12,189", "12,087 – 12,340", "61.6%", "253.90"],
            ],
            spare=("q10 – q90", "best arm", "median", "÷ bound"),
        ),
        "Regret at budget 100,000",
    ),
    "sweep": lambda: rich_table(
        "A sweep", ["correlation", "policy", "UCB-B1", "lower bound"], [["−0.9", "Thrifty", "43.6 ± 1.63", "56.0"]]
    ),
    "sum": lambda: plain_table("Bounds", ["arm", "pulls ≥", "UCBM1 ≤"], [["a", "178", "35,764"], ["all", "199", "–"]]),
}


@pytest.mark.parametrize("name", TABLES)
def test_every_number_is_whole_at_every_width(name: str) -> None:
    for width in WIDTHS:
        check(TABLES[name](), width)


def test_bounds_at_every_width() -> None:
    bounds = problem_bounds(catalogue.load("G"), 1e5)
    numbers = {"1.25", "0.0645", "35.7", "17.8", "445", "457", "46,302", "43,796"}
    several = report.request_bounds(catalogue.load("G"), 250.0, 1000)
    for width in WIDTHS[::9]:
        words = printed(report.bounds_table(bounds, width), width).split()
        assert numbers <= set(words), width
        text = printed(request_bounds_table(several), width)
        assert max(map(cell_len, text.splitlines())) <= width


cells = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z", "M"]), min_size=1, max_size=12)


@given(st.data())
def test_any_table(data: st.DataObject) -> None:
    count, rows = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    numbers = st.lists(st.floats(-1e6, 1e6).map(lambda x: f"{x:,.2f}"), min_size=rows, max_size=rows)
    columns = [Column("name", data.draw(st.lists(cells, min_size=rows, max_size=rows)), name=True)]
    columns += [
        Column(f"n{i}", data.draw(numbers), rank=data.draw(st.integers(0, 3)), right=True) for i in range(count)
    ]
    check(Columns(columns), data.draw(st.sampled_from(WIDTHS)))
