"""What a notebook shows: HTML that is a table, escaped."""

from unittest.mock import Mock
from xml.etree import ElementTree

import outlay
from outlay.arms import Constant, Problem
from outlay.errors import StoreError


def table(text: str) -> list[list[str]]:
    """The cells, row by row; well-formed, or this fails."""
    rows = ElementTree.fromstring(text).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


def test_names_are_escaped(nasty):
    for shown in (nasty._repr_html_(), nasty.problem._repr_html_()):
        assert "<img" not in shown
        assert any(nasty.labels[0] in cell for row in table(shown) for cell in row)


def test_a_problem():
    problem = Problem([Constant(2.0, 1.0), Constant(1.0, 1.0)], names=["a", "b"])
    assert table(problem._repr_html_())[1:] == [
        ["a", "Constant(cost=2.0, reward=1.0)", "2", "1", "0.5", "0.5"],
        ["b", "Constant(cost=1.0, reward=1.0)", "1", "1", "1", "0"],
    ]
    assert "2 arms, the best is b<" in problem._repr_html_()
    many = Problem([Constant(1.0, 1.0)] * 60)
    assert len(table(many._repr_html_())) == 51
    assert "10 are not shown" in many._repr_html_()


def test_a_campaign():
    campaign = outlay.Campaign(arms=["a", "<b>"], budget=10.0)
    pull = campaign.ask()
    assert pull is not None
    campaign.tell(pull, cost=2.0, reward=1.0)
    status = campaign.status()
    assert table(status._repr_html_())[1:] == [["a", "0", "0", "0", "0", "–"], ["<b>", "1", "0", "2", "1", "0.5"]]
    assert "spent 2, reserved 0, left 8 of 10" in status._repr_html_()
    assert campaign._repr_html_() == status._repr_html_()


def test_a_campaign_whose_store_is_gone(monkeypatch):
    campaign = outlay.Campaign(arms=["a"], budget=10.0)
    assert campaign._repr_html_() is not None
    monkeypatch.setattr(campaign, "status", Mock(side_effect=StoreError("the server is away")))
    assert campaign._repr_html_() is None
