"""Advice as a whole: what to run, and the same from the same seed."""

import json

import numpy as np
import pytest

import outlay
from outlay import policies
from outlay.advice.answer import answer, call, data_of
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
    ],
)
def test_bad_parameters(log, options, sentence):
    with pytest.raises(BadParameter) as refused:
        advise(log, **{"budget": 100, **options})
    assert str(refused.value) == sentence


def test_json(close, stand_in):
    found = advise(close, 1000)
    text = json.dumps(data_of(found), allow_nan=False)
    data = json.loads(text)
    assert data["policy"]["name"] == "Thrifty"
    assert data["remaining"] == ["fair", "good"]
    assert data["arms"][0]["belief"]["pulls"] == found.arms[0].rows
    assert data["answer"] == answer(found)
    assert len(data["rehearsal"]["candidates"]) == 6
    assert data["rehearsal"]["best_low"] < data["rehearsal"]["best_high"]
    assert data["arms"][0]["course"]["drifts"] is False
    assert json.loads(json.dumps(data_of(advise(close[:1], 5)), allow_nan=False))["arms"][0]["interval"]["low"] is None
