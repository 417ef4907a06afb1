"""Advice as a whole: what to run, the same from the same seed, in JSON, in notebooks, as a page."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outlay
from outlay import policies
from outlay.advice import Advice
from outlay.advice.advice_page import rate_dots
from outlay.advice.answer import answer, arms_table, call, campaign_code
from outlay.errors import BadParameter

from .reading import advise, kinds


def test_a_plain_log(log, stand_in):
    found = advise(log, 1000)
    assert [(arm.name, arm.verdict) for arm in found.arms] == [
        ("fair", "ruled out"), ("good", "best so far"), ("poor", "ruled out"),
    ]  # fmt: skip
    rows = log[log["arm"] == "good"]
    assert found.best.rate == pytest.approx(rows["reward"].mean() / rows["cost"].mean())
    assert found.best.correlation == pytest.approx(np.corrcoef(rows["cost"], rows["reward"])[0, 1])
    assert found.best.rows == len(rows)
    assert kinds(found) == ["selection"]
    assert found.remaining == ["good"]
    assert found.policy == policies.default()
    assert found.reason == "good is the only arm left, so any policy will do"
    assert answer(found)[-1] == "Spend it all on good: no other arm is left."
    assert [one.label for one in found.rehearsal.candidates] == [
        "Thrifty", "Frugal, rewards ≤ 1", "KLRate", "Fieller", "UCBB1", "RoundRobin",
    ]  # fmt: skip
    assert found.rehearsal.runs == 200
    assert all(one.in_turn for one in found.rehearsal.candidates)  # one pull of each arm
    assert found.campaign.candidates[0].share == pytest.approx(0.5)


def test_the_code_runs(close):
    found = advise(close, 30, rehearse=False)
    scope: dict[str, object] = {}
    exec(found.code.replace("cost=...", "cost=1.0").replace("reward=...", "reward=0.5"), scope)
    campaign = scope["campaign"]
    assert isinstance(campaign, outlay.Campaign)
    assert campaign.status().spent > 30
    assert found.rehearsal is None
    told = policies.UCBB1([1.0, 2.0], 0.5, 0.1)
    assert eval(f"policies.{call(told)}", {"policies": policies}) == told


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"budget": 0}, "budget of advise must be > 0; got 0"),
        ({"budget": "much"}, "budget of advise must be a finite number > 0; got 'much'"),
        ({"reward_bound": -1}, "reward_bound of advise must be > 0; got -1"),
        ({"confidence": 1}, "confidence of advise must be > 0.5 and < 1; got 1"),
        ({"guarantee": "yes"}, "guarantee of advise must be True or False; got 'yes'"),
        ({"seed": 0.5}, "seed of advise must be a whole number ≥ 0; got 0.5"),
        ({"runs": 0}, "runs of advise must be a whole number ≥ 1; got 0"),
        ({"requests": 0}, "requests of advise must be a whole number ≥ 1; got 0"),
        (
            {"requests": 10, "guarantee": True},
            "guarantee of advise must be False with requests: no policy for them has a proof; got True",
        ),
    ],
)
def test_bad_parameters(log, options, sentence):
    with pytest.raises(BadParameter) as refused:
        advise(log, **{"budget": 100, **options})
    assert str(refused.value) == sentence


NASTY = "<script>alert(1)</script>"


@pytest.fixture
def found(log: pd.DataFrame) -> Advice:
    given: Advice = advise(log.replace({"arm": {"poor": NASTY}}), 1000, rehearse=False)
    return given


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
    assert "How to spend a budget of 1,000,000, by calls.csv" in page
    assert "solved per 1,000 of usd" in page
    for word in ("ruled out", "held out", "tail", "interval"):
        assert f"<dt>{word}</dt>" in page or f">{word}<" in page


def test_figures(found, close, stand_in):
    assert found.rates_figure("column").axes
    with pytest.raises(BadParameter, match=r"^advice of rewards_figure must be one with a rehearsal"):
        found.rewards_figure()
    with pytest.raises(BadParameter, match=r"^advice of hull_figure must be one with requests"):
        found.hull_figure()
    assert advise(close, 1000).rewards_figure().axes


def test_an_arm_of_three_rows_is_named_first_and_ranked_nowhere(log, stand_in):
    """Its rate is the highest: by three rows, which nobody should bet on."""
    few = pd.DataFrame({"arm": "podcast", "cost": [30.0, 31.0, 29.0], "reward": [115.0, 118.0, 112.0]})
    found = advise(pd.concat([log, few]), 1000, runs=30)
    verdicts = {arm.name: arm.verdict for arm in found.arms}
    assert verdicts == {"good": "best so far", "fair": "ruled out", "poor": "ruled out", "podcast": "too few rows"}
    assert found.answer[0] == (
        "Too few rows to be ranked: podcast (3 rows). 17 more pulls, for about 510 (51% of the budget), would bring it "
        "to 20 rows; the campaign tries it."
    )
    assert found.answer[1].startswith("good has the best rate so far: 0.7")
    assert not any("podcast" in sentence for sentence in found.answer[1:])
    assert found.rehearsal.best == "good"
    assert len(found.rehearsal.candidates[4].policy.var_cost) == 3
    assert found.remaining == ["good", "podcast"]
    assert arms_table(found).rows[-1][0] == "podcast"
    assert [dot.label for dot in rate_dots(found).dots] == ["good", "fair", "poor"]
    served = advise(pd.concat([log, few]), 1000, requests=900, rehearse=False)
    assert served.answer[0] == found.answer[0]
    assert "podcast" in served.remaining
    assert "podcast" not in served.serving.remaining
    alone = advise(few, 1000, rehearse=False)
    assert alone.best.name == "podcast"
    assert alone.answer[0].startswith("No arm has 20 rows, so what follows is little more than a guess: 17 more pulls")


@pytest.mark.parametrize("requests", [None, 30])
def test_no_line_of_code_is_too_long_for_a_terminal(requests):
    names = [f"a model with a long name, number {number}" for number in range(20)]
    code = campaign_code(names, 10.0, policies.UCBB1([1.0 / 3] * 20, 0.5, 0.1), requests)
    assert max(map(len, code.splitlines())) < 80
    scope: dict[str, Any] = {}
    exec(code.partition("while")[0], scope)
    assert [arm.name for arm in scope["campaign"].status().arms] == names
