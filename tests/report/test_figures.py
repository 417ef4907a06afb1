"""What figures show, that they can be drawn from any result, and that files of them are the same every time."""

import re
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

from outlay import report
from outlay.arms import catalogue
from outlay.errors import BadFile, BadParameter
from outlay.policies import Fixed, RoundRobin
from outlay.report.style import inline_svg, save_figure, svg_text

OF_A_RESULT: list[Any] = [
    report.regret_figure, report.distribution_figure, report.pulls_figure, report.reward_figure,
]  # fmt: skip


def named(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


@pytest.mark.parametrize("width", ["page", "column"])
def test_every_figure_can_be_drawn(nasty, make, width):
    """From one run and one budget to many policies; no label is taken for mathematics."""
    single = make({"a": RoundRobin(), "b": Fixed(0)}, [6.0, 0.0], runs=1, count=1)
    many = make({f"policy {i}": RoundRobin() for i in range(8)}, list(range(8)), runs=2, count=3)
    zero = make({"a": Fixed(0)}, [0.0])
    for result in (single, nasty) if width == "page" else (many, zero):
        for draw in OF_A_RESULT:
            draw(result, width=width).draw_without_rendering()
    report.bounds_figure(catalogue.load("G"), 1e4, width=width).draw_without_rendering()


@pytest.mark.parametrize("draw", OF_A_RESULT)
def test_bad_widths_and_results_are_refused(three, draw):
    with pytest.raises(BadParameter, match=rf"width of {draw.__name__} must be one of page, column; got 'wide'"):
        draw(three, width="wide")
    with pytest.raises(BadParameter, match=rf"result of {draw.__name__} must be an outlay.Result; got 5"):
        draw(5)


def test_files_are_the_same_every_time(apart, tmp_path):
    for ending, start in {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}.items():
        one, other = (tmp_path / f"{name}.{ending}" for name in ("one", "other"))
        for path in (one, other):
            save_figure(report.distribution_figure(apart, width="column"), path)
        assert one.read_bytes() == other.read_bytes()
        assert one.read_bytes().startswith(start)
        assert not re.search(rb"20\d\d-\d\d-\d\d|CreationDate", one.read_bytes())


def test_a_pdf_brings_its_fonts(three, tmp_path):
    save_figure(report.reward_figure(three, width="column"), tmp_path / "x.pdf")
    content = (tmp_path / "x.pdf").read_bytes()
    assert b"/FontFile2" in content  # TrueType
    assert b"/Type3" not in content


def test_bad_places_for_a_figure(three, tmp_path):
    figure = report.reward_figure(three)
    with pytest.raises(BadParameter, match=r"path of save_figure must be one that ends in .png, .pdf or .svg; got 'x"):
        save_figure(figure, "x.jpeg")
    with pytest.raises(BadFile, match=r"^cannot write .*x.svg: No such file or directory$"):
        save_figure(figure, tmp_path / "none" / "x.svg")


def test_svg_is_escaped(nasty):
    before = dict(mpl.rcParams)
    text = svg_text(report.regret_figure(nasty))
    assert dict(mpl.rcParams) == before
    assert "<img" not in text
    assert "</script" not in text
    root = ElementTree.fromstring(text)
    assert any("_hidden $x$" in (node.text or "") for node in root.iter())


def test_figures_in_one_page_share_no_ids(three):
    figures = {"one": report.regret_figure(three), "two": report.regret_figure(three, scale="log")}
    found = [re.findall(r'\bid="([^"]+)"', inline_svg(svg_text(figure), name, "")) for name, figure in figures.items()]
    assert all(found)
    assert not set(found[0]) & set(found[1])
    for name, figure in figures.items():
        text = inline_svg(svg_text(figure), name, "")
        used = re.findall(r'(?:href="|url\()#([^")]+)', text)
        assert set(used) <= set(re.findall(r'\bid="([^"]+)"', text))
