"""The page of a sweep, and the numbers of its figure."""

import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outlay.experiments import load, run
from outlay.experiments.file import Sweep
from outlay.experiments.report import PointRanking, Row, sweep_chart, sweep_verdict
from outlay.report.page import PolicyRanking

from .conftest import SWEPT


def stand(
    values: dict[str, Any], *order: str, tied: str = "", lost: float = 5.0, level: bool = False, halves: float = 0.9
) -> PointRanking:
    regret = np.array([lost + rank for rank in range(len(order))])
    return PointRanking(values, PolicyRanking(list(order), list(tied), regret, halves * regret, None, lost, []), level)


def at(value: float | str, *order: str, **more: Any) -> PointRanking:
    return stand({"K": value}, *order, **more)


def test_who_is_best_where_in_rising_order():
    points = [at(10, "b", "a"), at(2, "a", "b", tied="b"), at(3, "a", "b"), at(4, "a", "b", lost=7.0), at(20, "a", "b")]
    assert sweep_verdict(points, 20) == [
        "a lost least at K = 3, 4 and 20; b at 10; at 2, 20 runs cannot tell a and b apart.",
        "By mean regret, the order of the policies changes along the sweep.",
        "a lost between 5.00 (at K = 2) and 7.00 (at K = 4) on average.",
    ]


@pytest.fixture
def page(write, simulated) -> str:
    text = SWEPT.replace('over = "arms.correlation"', 'over = "arms.correlation"\nname = "<b>ρ"')
    run(load(write(text.replace("two arms", "two <i>arms"))), "out")
    return Path("out/sweep.html").read_text(encoding="utf-8")


def test_the_page(page):
    assert "<title>two &lt;i&gt;arms</title>" in page
    assert "<h1>two &lt;i&gt;arms</h1>" in page
    assert "2 policies at 2 points (2 values of &lt;b&gt;ρ), a budget of 50" in page
    assert re.search(r"RoundRobin lost [\d.]+ on average at every point\.", page)
    assert page.count("<svg ") == 2
    assert "<code>outlay compare experiment.toml --out FOLDER</code>" in page
    assert "experiments.load('experiment.toml')" in unescape(page)
    assert "arms.correlation = −0.5, 0.5" in page
    assert "stubborn: Fixed(arm=1)" in page
    assert not re.search(r"<[bi]>", page)


def test_it_leads_to_the_report_of_each_point(page):
    *links, tex, pdf, csv = re.findall(r'<a href="([^"]+)">([^<]+)</a>', page)
    assert [name for name, _ in (tex, pdf, csv)] == ["./sweep.tex", "./sweep.pdf", "./sweep.csv"]
    assert links == [("./_b_%CF%81%3D-0.5/report.html", "−0.5"), ("./_b_%CF%81%3D0.5/report.html", "0.5")]
    assert all((Path("out") / point / "report.html").is_file() for point in ("_b_ρ=-0.5", "_b_ρ=0.5"))


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
