"""The page and the folder of files."""

import pytest
from tests.html_page import Page, harmless

import outlay
from outlay import report
from outlay.errors import BadFile, BadParameter
from outlay.report.curves import floor_of
from outlay.report.page import FIGURES, PageFigure, page_figures, page_text
from outlay.report.regret import regret_numbers


def page_of(result: outlay.Result) -> str:
    numbers = regret_numbers(result)
    return page_text(result, numbers, page_figures(result, numbers.floor))


@pytest.fixture(scope="module")
def figures(three) -> list[PageFigure]:
    """Drawn once: that takes seconds."""
    return page_figures(three, floor_of(three.problem))


@pytest.fixture(scope="module")
def text(three, figures) -> str:
    return page_text(three, regret_numbers(three), figures)


def test_page_shows_each_figure_for_a_screen_and_for_a_phone(text, figures):
    page = Page(text)
    assert [figure.name for figure in figures] == [*FIGURES, "medians"]  # the band of a mean reaches below 0
    assert page.tags.count("svg") == 2 * len(figures)
    assert page.tags.count("table") == 3
    classes = [value for name, value in page.attributes if name == "class"]
    assert classes.count("page") == classes.count("column") == len(figures)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_page_asks_for_nothing(text):
    """No script, no request; and a policy that forbids them."""
    page = harmless(text)
    assert "default-src 'none'; style-src 'unsafe-inline'" in [value for _, value in page.attributes]


def test_page_escapes_names(nasty):
    page = harmless(page_of(nasty))
    assert any(nasty.labels[0] in word for word in page.words)
    assert nasty.problem.names[0] in page.words


@pytest.mark.parametrize("title", ["", " ", "two\nlines", "\x1b[31m", "\ud800", 3])
def test_a_title_is_a_line(three, tmp_path, title):
    sentence = r"must be a string of one line, not empty; got "
    with pytest.raises(BadParameter, match=f"^title of write_report {sentence}"):
        report.write_report(three, tmp_path / "new", title)
    with pytest.raises(BadParameter, match=f"^title of write_page {sentence}"):
        report.write_page(three, tmp_path / "page.html", title)
    with pytest.raises(BadParameter, match=f"^title of table {sentence}"):
        report.table(three, title=title)
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written(three, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadFile, match=r"^cannot write .*file: it is a file$"):
        report.write_report(three, tmp_path / "file")
    with pytest.raises(BadFile, match=r"^cannot write .*deeper: Not a directory: .*file$"):
        report.write_report(three, tmp_path / "file" / "deeper")
    with pytest.raises(BadFile, match=r"^cannot write .*page.html: there is no folder .*none$"):
        report.write_page(three, tmp_path / "none" / "page.html")
