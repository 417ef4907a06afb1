"""Advice shows itself: in notebooks, on terminals, as a page."""

from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from outlay.advice import Advice
from outlay.errors import BadParameter

from .reading import advise

NASTY = "<script>alert(1)</script>"


@pytest.fixture
def found(log: pd.DataFrame) -> Advice:
    given: Advice = advise(log.replace({"arm": {"poor": NASTY}}), 1000, rehearse=False)
    return given


def test_in_a_notebook(found):
    html = found._repr_html_()
    assert NASTY not in html
    assert "&lt;script&gt;" in html
    for sentence in found.answer[:2]:
        assert sentence in html
    assert "best so far" in html
    assert "outlay.Campaign(" in html


def test_at_a_prompt(found):
    assert repr(found) == "<Advice on the frame: 'good' best so far, 1 of 3 arms left, to be run with Thrifty()>"
    assert str(found).splitlines() == found.answer


@pytest.mark.parametrize("width", [60, 120])
def test_on_a_terminal(found, width):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(found)
    text = capture.get()
    assert max(map(len, text.splitlines())) <= width
    assert found.answer[0] in " ".join(text.split())
    assert "campaign = outlay.Campaign" in text


def test_saved_as_a_page(found, log, tmp_path, monkeypatch):
    """With a glossary, in the units of the log, and without the folder that it is in."""
    assert found.save(tmp_path / "new" / "page.html") == tmp_path / "new" / "page.html"
    assert "the frame" in (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    with pytest.raises(BadParameter, match=r"^path of save must be the name of an HTML page, such as "):
        found.save(tmp_path / "page.pdf")
    monkeypatch.chdir(tmp_path)
    renamed = log.assign(cost=1000 * log["cost"]).rename(columns={"cost": "usd", "reward": "solved"})
    renamed.to_csv("calls.csv", index=False)
    advice = advise(Path.cwd() / "calls.csv", 1e6, cost="usd", reward="solved", rehearse=False)
    page = advice.save("page.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in page
    assert "How to spend 1,000,000 of usd, by calls.csv" in page
    assert "solved per 1,000 of usd" in page
    for word in ("ruled out", "held out", "tail", "interval"):
        assert f"<dt>{word}</dt>" in page or f">{word}<" in page


def test_figures(found, close, stand_in):
    assert found.rates_figure("column").axes
    with pytest.raises(BadParameter, match=r"^advice of rewards_figure must be one with a rehearsal"):
        found.rewards_figure()
    assert advise(close, 1000).rewards_figure().axes
