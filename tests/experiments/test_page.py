"""The page of a sweep: what it says in words, and that it is one file that asks for nothing."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outlay.experiments import load, run
from outlay.experiments.report import PointRanking, sweep_verdict
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


def test_one_policy_and_points_where_nothing_is_lost():
    level = at(0, "a", lost=0.0, level=True)
    assert sweep_verdict([level, at(1, "a", lost=4.0), at(2, "a", lost=2.0)], 20) == [
        "At K = 0 all arms are equally good, and nothing is lost.",
        "a lost between 2.00 (at K = 2) and 4.00 (at K = 1) on average.",
    ]
    assert sweep_verdict([level, at(1, "a", "b"), at(2, "a", "b")], 20)[1].startswith(
        "a lost least at every other value of K."
    )
    level = at(2, "a", "b", lost=0.0, level=True)
    assert (
        sweep_verdict([at(1, "a", "b"), level, at(3, "a", "b"), at(4, "b", "a")], 20)[1]
        == "a lost least at K = 1 and 3; b at 4."
    )
    level = at(0, "a", lost=0.0, level=True)
    assert sweep_verdict([level, at(1, "a", "b")], 20)[1:] == ["a lost least at K = 1.", "a lost 5.00 on average."]
    assert sweep_verdict([at(1, "a", lost=2.0), at(2, "a", lost=2.0004)], 20) == [
        "a lost 2.00 on average at every point."
    ]
    assert sweep_verdict([level], 20) == [
        "All arms are equally good at every point: whatever is pulled, nothing is lost."
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


def test_it_asks_for_nothing(page):
    assert not re.search(r"(?i)<(script|link|img|iframe)|@import|url\((?!#)|https?://(?!www\.w3\.org)", page)
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_bound_that_is_left_out_is_said(page, write):
    note = "The lower bound is left out where it is far above all regrets"
    assert note not in page
    run(load(write(SWEPT.replace("reward = 0.5", "reward = 0.9999"))), "close")
    assert note in Path("close/sweep.html").read_text(encoding="utf-8")
