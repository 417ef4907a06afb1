"""Figures, tables and the page."""

import io
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

import bursar
from bursar import report
from bursar.arms import Constant, Empirical, Gaussian, Problem
from bursar.errors import BadFile, BadParameter
from bursar.policies import UCBM1, Fixed, Uniform
from bursar.report.curves import Floor, floor_of
from bursar.report.figures import save_figure, svg_text
from bursar.report.page import page_text
from bursar.report.reproduce import python_call
from bursar.report.tables import HEADINGS, best_shares, bound_sentence, regret_rows


class Page(HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.words.append(data)


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_figure_shows_every_policy_and_the_bound(three):
    figure = report.regret_figure(three)
    assert isinstance(figure, Figure)
    assert texts(figure) == ["UCBB1", "UCBM1", "Fixed", "lower bound as B grows"]
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    lines = axes.get_lines()
    assert len(lines) == 4
    np.testing.assert_array_equal(lines[0].get_ydata(), three.regret()["mean"][:25])
    assert len(axes.collections) == 3
    assert len({line.get_color() for line in lines}) == 4


def test_figure_without_bounds(three):
    assert "lower bound as B grows" not in texts(report.regret_figure(three, bounds=False))


@pytest.mark.parametrize("kind", ["pseudo", "realised"])
def test_figures_render(three, apart, nasty, make, tmp_path, kind):
    single = make({"a": Uniform(), "b": Fixed(0)}, [6.0, 0.0], runs=1, count=1)
    many = make({f"policy {i}": Uniform() for i in range(14)}, list(range(14)), runs=2, count=3)
    zero = make({"a": Fixed(0)}, [0.0])
    for i, result in enumerate([three, apart, nasty, single, many, zero]):
        save_figure(report.regret_figure(result, kind=kind), tmp_path / f"{i}.png")
        assert (tmp_path / f"{i}.png").read_bytes().startswith(b"\x89PNG")


def test_drawing_leaves_no_trace():
    """No pyplot, no display, no changed settings."""
    script = (
        "import sys, matplotlib; before = dict(matplotlib.rcParams); import bursar.report.figures;"
        "assert 'matplotlib.pyplot' not in sys.modules; assert before == dict(matplotlib.rcParams)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, env={"MPLBACKEND": "agg"}, timeout=60)


def test_svg_is_deterministic_and_escaped(nasty):
    before = dict(mpl.rcParams)
    one, other = (svg_text(report.regret_figure(nasty)) for _ in range(2))
    assert one == other
    assert dict(mpl.rcParams) == before
    assert "<img" not in one
    assert "</script" not in one
    root = ElementTree.fromstring(one)
    assert any("_hidden $x$" in (node.text or "") for node in root.iter())


def test_rows(three):
    first, _, fixed = regret_rows(three)
    frame = three.regret()
    last = frame[(frame["policy"] == "UCBB1") & (frame["budget"] == three.budgets[-1])].iloc[0]
    assert first[:6] == ("UCBB1", last["mean"], last["stderr"], last["q50"], last["q10"], last["q90"])
    pulls = three.pulls[0, :, -1]
    assert first.best_share == pytest.approx(pulls[:, 0].sum() / pulls.sum())
    assert first.ratio == pytest.approx(last["mean"] / floor_of(three.problem).at(20_000.0))
    assert fixed.best_share == 1.0
    assert fixed.cells() == ("Fixed", "0.0 ± 0.0", "0.0", "0.0 – 0.0", "100.0%", "0.00")


def test_rows_without_a_bound_or_an_error(make):
    row = regret_rows(make({"a": Uniform()}, [-0.5], runs=1))[0]
    assert "±" not in row.cells()[1]
    assert row._replace(ratio=None).cells()[-1] == "–"
    assert row._replace(regret=12345.6, stderr=1.0).cells()[1] == "12,346 ± 1.0"


def printed(result: bursar.Result, width: int) -> str:
    text = io.StringIO()
    Console(width=width, file=text).print(report.regret_table(result))
    return text.getvalue()


def test_table_fits_a_terminal(three, apart, nasty):
    for result in (three, apart, nasty):
        text = printed(result, 80)
        assert all(heading in text for heading in HEADINGS)
        assert "…" not in text


def test_ties_by_rounding_share_the_best_arm(make):
    tied = make({"first": Fixed(0), "second": Fixed(0)}, [0.0, -1.0])
    object.__setattr__(tied, "problem", Problem([Constant(0.1, 0.3), Constant(1, 3)]))
    assert best_shares(tied) == [1.0, 1.0]


@pytest.mark.parametrize("value", ["x", None, 3])
def test_what_is_no_result_is_refused(value, tmp_path):
    with pytest.raises(BadParameter, match=r"^result of regret_table must be a bursar.Result; got "):
        report.regret_table(value)
    with pytest.raises(BadParameter, match=r"^result of write_page must be a bursar.Result; got "):
        report.write_page(value, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written(three, tmp_path):
    with pytest.raises(BadFile, match=r"^cannot write .*page.html: No such file or directory$"):
        report.write_page(three, tmp_path / "none" / "page.html")
    with pytest.raises(BadParameter, match=r"^path of write_page must be a path, "):
        report.write_page(three, 5)  # type: ignore[arg-type]


def test_the_call_lists_every_number(make):
    told = UCBM1([0.25] * 65, 0.25, 0.0)
    assert f"policies.{told.call()}," in python_call(make({"told": told}, [1.0]))


def test_markup_in_a_label_is_text(make):
    assert "[red]x[/nosuch]" in printed(make({"[red]x[/nosuch]": Uniform()}, [1.0]), 120)


def test_bound_sentence():
    assert (
        bound_sentence(Floor(2.0, 1.0))
        == "lower bound as B grows: 2 · ln B (sharp), 1 · ln B (as printed in the paper)"
    )
    assert bound_sentence(Floor(None, None, "why")) == "why"


def test_page_says_it_all(three, tmp_path):
    report.write_page(three, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    words = " ".join(page.words)
    for word in (
        "UCBB1",
        "Regret at budget 20,000",
        "arm 0",
        "Gaussian(cost=1.0",
        "seed",
        bursar.__version__,
        "simulate(",
    ):
        assert word in words
    assert page.tags.count("svg") == 1
    assert page.tags.count("table") == 2
    assert not re.search(r"(?i)<(script|link|img|iframe)|@import|url\((?!#)", text)
    assert all(
        not (value or "").startswith(("http", "//")) for name, value in page.attributes if name in ("src", "href")
    )


def test_page_escapes_names(nasty):
    page = Page(page_text(nasty))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert any(nasty.labels[0] in word for word in page.words)
    assert nasty.problem.names[0] in page.words


def same_again(result: bursar.Result) -> bool:
    scope: dict[str, object] = {}
    exec(python_call(result), scope)
    return scope["result"] == result


def test_the_call_makes_the_result_again():
    contenders = {"it's": Uniform(), "best": Fixed(0)}
    own = Problem([Gaussian(1.0, 0.1 + 0.2, 0.5, 0.5), Gaussian(2.0, 1 / 3, 0.5, 0.5)], names=["\\'''", "b"])
    for problem in (bursar.arms.catalogue.load("gaussian5"), own):
        assert same_again(bursar.simulate(problem, contenders, budgets=[7.0, 20 / 3 * 3], runs=2, seed=5))


def test_the_call_of_what_cannot_be_written_down(three, make):
    long = make({"mine": "Mine(bonus=2.5)"}, [1.0])
    samples = np.linspace(1.0, 2.0, 2000)
    object.__setattr__(long, "problem", Problem([Empirical(samples, samples), Gaussian(1.0, 0.5, 0.5, 0.5)]))
    text = python_call(long)
    assert 'Problem.load("problem.toml")' in text
    assert "'mine': Mine(bonus=2.5)," in text
    assert len(text) < 3000
