"""The page of a sweep: what it says in words, and that it is one file that asks for nothing."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bursar.experiments import read, run
from bursar.experiments.verdict import Standing, sentences
from bursar.report.verdict import Verdict

from .conftest import SWEPT


def stand(values: dict[str, Any], *order: str, tied: int = 0, lost: float = 5.0, level: bool = False) -> Standing:
    regret = np.array([lost + rank for rank in range(len(order))])
    return Standing(values, Verdict(list(order), tied, regret, None, lost, []), level)


def at(value: float | str, *order: str, **more: Any) -> Standing:
    return stand({"K": value}, *order, **more)


def test_one_is_best_everywhere():
    said = sentences([at(10, "a", "b", lost=50.0), at(2, "a", "b", lost=1.25)], 20)
    assert said == [
        "a lost least at every value of K.",
        "By mean regret, the order of the policies is the same all along the sweep.",
        "a lost between 1.25 (at K = 2) and 50.0 (at K = 10) on average.",
    ]


def test_who_is_best_where_in_rising_order():
    points = [at(10, "b", "a"), at(2, "a", "b", tied=1), at(3, "a", "b"), at(4, "a", "b", lost=7.0), at(20, "a", "b")]
    assert sentences(points, 20) == [
        "a lost least at K = 2 to 4 and 20; b at 10.",
        "At K = 2, 20 runs cannot tell the first from the next.",
        "By mean regret, the order of the policies changes along the sweep.",
        "a lost between 5.00 (at K = 2) and 7.00 (at K = 4) on average.",
    ]


def test_a_grid_is_counted_and_words_keep_their_order():
    grid = [
        stand({"K": k, "form": form}, *order) for k, form, order in ((2, "x", "ab"), (2, "y", "ab"), (3, "x", "ba"))
    ]
    assert sentences(grid, 20)[0] == "a lost least at 2 of 3 points; b at 1 of 3 points."
    assert sentences([at("z", "a", "b"), at("c", "b", "a")], 20)[0] == "a lost least at K = z; b at c."


def test_one_policy_and_points_where_nothing_is_lost():
    level = at(0, "a", lost=0.0, level=True)
    assert sentences([level, at(1, "a", lost=4.0), at(2, "a", lost=2.0)], 20) == [
        "a lost between 2.00 (at K = 2) and 4.00 (at K = 1) on average.",
        "At K = 0 all arms are equally good, and nothing is lost.",
    ]
    assert sentences([level], 20) == ["All arms are equally good at every point: whatever is pulled, nothing is lost."]


@pytest.fixture
def page(write, simulated) -> str:
    text = SWEPT.replace('over = "arms.correlation"', 'over = "arms.correlation"\nname = "<b>ρ"')
    run(read(write(text.replace("two arms", "two <i>arms"))), "out")
    return Path("out/sweep.html").read_text(encoding="utf-8")


def test_the_page(page):
    assert "<title>two &lt;i&gt;arms</title>" in page
    assert "<h1>two &lt;i&gt;arms</h1>" in page
    assert "2 policies at 2 points (2 values of &lt;b&gt;ρ), a budget of 50" in page
    assert re.search(r"Uniform lost [\d.]+ on average at every point\.", page)
    assert page.count("<svg ") == 2
    assert "<code>bursar compare experiment.toml --out FOLDER</code>" in page
    assert "experiments.read('experiment.toml')" in unescape(page)
    assert "arms.correlation = -0.5, 0.5" in page
    assert "stubborn: Fixed(arm=1)" in page
    assert not re.search(r"<[bi]>", page)


def test_it_leads_to_the_report_of_each_point(page):
    links = re.findall(r'<a href="([^"]+)">([^<]+)</a>', page)
    assert links == [("./_b_%CF%81%3D-0.5/report.html", "-0.5"), ("./_b_%CF%81%3D0.5/report.html", "0.5")]
    assert all((Path("out") / point / "report.html").is_file() for point in ("_b_ρ=-0.5", "_b_ρ=0.5"))


def test_it_asks_for_nothing(page):
    assert not re.search(r"(?i)<(script|link|img|iframe)|@import|url\((?!#)|https?://(?!www\.w3\.org)", page)
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_bound_that_is_left_out_is_said(page, write):
    note = "Where the lower bound is far above all regrets it is left out"
    assert note not in page
    run(read(write(SWEPT.replace("reward = 0.5", "reward = 0.9999"))), "close")
    assert note in Path("close/sweep.html").read_text(encoding="utf-8")
