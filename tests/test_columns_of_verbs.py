"""What the verbs print on terminals of 20 to 200 columns: the numbers of every table can be read back."""

import io
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table

from outlay import Campaign, Problem, Result, arms, policies, report
from outlay.advice import advise
from outlay.advice.telling.tables import advice_tables
from outlay.campaign.monitor import Watch
from outlay.cli import listings
from outlay.cli.campaign.picture import picture
from outlay.cli.campaign.standing import standing
from outlay.columns import Columns

from .test_columns import WIDTHS, check, printed


def tables_in(what: RenderableType) -> Iterator[Columns]:
    """All tables, also those side by side."""
    if isinstance(what, Columns):
        yield what
    elif isinstance(what, Group):
        for part in what.renderables:
            yield from tables_in(part)
    elif isinstance(what, Table):
        for column in what.columns:
            for cell in column.cells:
                yield from tables_in(cell)


def check_all(what: RenderableType, width: int, count: int) -> None:
    """So many tables: each whole by itself, and each line of all that is printed within the width."""
    found = list(tables_in(what))
    assert len(found) == count
    text = printed(what, width)
    assert max(map(cell_len, text.splitlines())) <= width
    words = set(text.split())
    for table in found:
        check(table, width)
        shown, _ = table.within(width)
        for column in [] if len(found) > 2 and width >= 130 else shown:
            assert column.name or {word for cell in column.cells for word in cell.split()} <= words


@pytest.fixture(scope="module")
def busy() -> Campaign:
    """Long names, large and small amounts, pulls under way."""
    rng = np.random.default_rng(0)
    names = ["a-language-model-of-the-cheapest-kind", "a-language-model-of-the-dearest-kind", "b"]
    campaign = Campaign(names, 123456.789, "RoundRobin", requests=5000, name="spring")
    for _ in range(40):
        pull = campaign.ask()
        assert pull is not None
        pull.tell(round(1000 * rng.random(), 3), round(rng.random(), 4))
    campaign.ask_many(7, tags=["nightly", "eu-west"])
    return campaign


def test_campaign_status(busy: Campaign) -> None:
    status = busy.status()
    for width in WIDTHS[::3]:
        check_all(standing(status, width), width, 1)
        said = printed(standing(status, width), width).split()
        assert {f"{status.spent:,.6g}", f"{status.left:,.6g}", f"{status.reward:,.6g}"} <= set(said), width


def test_campaign_watch(busy: Campaign) -> None:
    view = Watch(busy).look()
    first, *rest = view.burn
    view = view._replace(burn=(first._replace(at=first.at - timedelta(days=400)), *rest))  # so that times have dates
    for width in WIDTHS[::7]:
        check_all(picture(view, width), width, 3)
    for width, height in [(80, 24), (80, 40), (150, 24), (150, 40)]:
        text = Console(width=width, file=io.StringIO()).render_lines(picture(view, width, height), pad=False)
        assert len(text) <= height, (width, height)


@pytest.mark.parametrize("verb", [listings.policies, listings.problems])
def test_listings(verb: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    made, make = list[Columns](), listings._table

    def noted(headings: tuple[str, ...], rows: Any) -> Columns:
        made.append(make(headings, rows))
        return made[-1]

    monkeypatch.setattr(listings, "_table", noted)
    verb.callback(as_json=False)
    assert made[0].columns[0].cells[0] in capsys.readouterr().out
    for width in WIDTHS[::9]:
        check_all(made[0], width, 1)


def test_compare_and_report() -> None:
    problem, players = (
        Problem([arms.Constant(1.0, 0.5), arms.Constant(2.0, 0.25)]),
        {"a policy of a long name": policies.RoundRobin()},
    )
    pulls, rewards = np.full((1, 3, 1, 2), 12345), np.array([[[123.0], [4567.0], [89012.0]]])
    result = Result(problem, players, np.array([1e5]), 0, pulls, rewards, rewards, rewards[0], "0.1.0")
    for width in WIDTHS[::3]:
        check_all(report.regret_table(result), width, 1)


@pytest.mark.parametrize("requests", [None, 500])
def test_advise(requests: int | None) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    names = rng.choice(["a-language-model-of-the-cheapest-kind", "large", "huge"], 900)
    log = pd.DataFrame({"arm": names, "cost": 1000 * rng.pareto(1.5, 900), "reward": rng.random(900)})
    found = advise(log, 123456, requests=requests, rehearse=False)
    for width in WIDTHS[::9]:
        check_all(advice_tables(found, width), width, 1 if requests is None else 2)
        said = printed(advice_tables(found, width), width).split()
        for caution in found.cautions:  # no word, so no number, is broken unless it is longer than a line
            assert {word for word in caution.sentence.split() if len(word) < 18} <= set(said), width
