"""The numbers of a sweep's table and figure, and that they are drawn."""

import math
from typing import Any

import pytest

from outlay.experiments.file import Sweep
from outlay.experiments.report import Row, as_csv, sweep_chart, sweep_figure


def row(values: dict[str, Any], policy: str, mean: float, floor: float = math.nan) -> Row:
    return Row(values, policy, 1000.0, mean, 0.5, mean - 1, mean + 1, mean - 2, mean, mean + 2, floor)


K, FORM = Sweep("K", ("K",), (100, 2, 10)), Sweep("form", ("policies.form",), ("student", "a$b$"))
GRID = [
    row({"K": k, "form": form}, policy, size * k, k / 2 if k > 2 else math.nan)
    for k in (100, 2, 10)
    for form in FORM.values
    for policy, size in (("one", 1.0), ("other & co_", 100.0))
]


def test_the_first_sweep_goes_along_the_axis_in_rising_order():
    chart = sweep_chart([K, FORM], GRID, runs=20)
    assert (chart.title, chart.name) == ("Regret at budget 1,000, mean of 20 runs, 95 % bands", "K")
    assert (chart.ticks, chart.words) == ([2.0, 10.0, 100.0], [])
    assert [panel.title for panel in chart.panels] == ["form = student", "form = a$b$"]
    assert chart.across.scale == chart.axis.scale == "log"
    one, other = chart.panels[0].curves
    assert one.budgets.tolist() == [2.0, 10.0, 100.0]
    assert one.mean.tolist() == [2.0, 10.0, 100.0]
    assert other.high.tolist() == [201.0, 1001.0, 10001.0]
    floor = chart.panels[1].floor
    assert floor is not None
    assert floor.values.tolist() == pytest.approx([math.nan, 5.0, 50.0], nan_ok=True)


@pytest.mark.parametrize("width", ["page", "column"])
def test_drawing(width):
    figure = sweep_figure(sweep_chart([K, FORM], GRID, runs=20), width)
    first, second = figure.axes[:2]
    assert first.get_title(loc="left") == "form = student"
    assert len(second.lines) == 3
    [legend] = figure.legends
    assert [words.get_text() for words in legend.get_texts()] == ["one", "other & co_", "lower bound as B grows"]
    figure.draw_without_rendering()
    rows = [row({"form": form}, "one", 3.0) for form in FORM.values]
    [alone] = sweep_figure(sweep_chart([FORM], rows, runs=20), width).axes
    assert [tick.get_text() for tick in alone.get_xticklabels()] == ["student", "a$b$"]
    assert alone.get_title(loc="left").replace("\n", " ") == "Regret at budget 1,000, mean of 20 runs, 95 % bands"


def test_the_csv_has_every_digit():
    lines = as_csv([row({"policy": 2}, "a,b", 1 / 3)]).splitlines()
    assert lines[0] == "policy,policy,budget,mean,stderr,low,high,q10,q50,q90,lower_bound"
    assert lines[1].startswith('2,"a,b",1000.0,0.3333333333333333,0.5,')
    assert lines[1].endswith(",")
