"""What if: rehearsals from observed outcomes, as it was and otherwise, with an interval that says what is not known."""

import math

import numpy as np
import pytest
from starlette.testclient import TestClient

from outlay.policies import BY_NAME
from outlay.service import what_if
from outlay.service.what_if import PolicyRun, WhatIfTask, parameter_free, play
from tests.service.conftest import POLICY

SPRING = "/v1/campaigns/spring"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "WORLDS", 5)
    monkeypatch.setattr(what_if, "RUNS", 4)


def task(own: str = "Frugal", other: str = "RoundRobin", budget: float = 30.0, requests: int | None = None):
    rng = np.random.default_rng(1)
    arms = {
        name: [(rng.uniform(0.5, 1.5), float(rng.random() < worth)) for _ in range(n)]
        for name, n, worth in (("good", 200, 0.8), ("poor", 40, 0.1), ("rare", 4, 0.5))
    }
    runs = PolicyRun({"name": own}, 30.0, requests), PolicyRun({"name": other}, budget, requests)
    return WhatIfTask(arms, *runs, "until_exceeded", 2)


@pytest.mark.interpreted
def test_a_worse_policy_earns_less_and_the_spread_says_how_sure_that_is() -> None:
    found = play(task())
    assert found.more.low <= found.more.middle <= found.more.high < 0
    assert found.own.reward.middle > found.other.reward.middle
    assert found.own.shares[0].arm == "good"
    assert {share.arm: share.share for share in found.other.shares} == pytest.approx(
        dict.fromkeys(("good", "poor", "rare"), 1 / 3), abs=0.02
    )
    assert (found.few, found.left_out, found.scale) == (["rare"], 2, 1.0)


@pytest.mark.interpreted
def test_the_same_policy_and_budget_differ_in_nothing_and_more_money_earns_more() -> None:
    same = play(task(other="Frugal"))
    assert (same.more.low, same.more.high) == (0.0, 0.0)
    assert play(task(other="Frugal", budget=60.0)).more.low > 0.0


@pytest.mark.interpreted
def test_what_is_not_known_of_an_arm_widens_the_spread() -> None:
    """With ten times as many outcomes, all alike, arms are known better: the spread between worlds is what shrinks."""
    few = task(other="Frugal")
    few.arms = {name: pairs[:6] for name, pairs in few.arms.items()}
    many = task(other="Frugal")
    many.arms = {name: pairs * 100 for name, pairs in few.arms.items()}

    def width(given: WhatIfTask) -> float:
        spread = play(given).own.reward
        return spread.high - spread.low

    assert width(few) > 1.3 * width(many)


@pytest.mark.interpreted
def test_what_takes_too_long_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(task()).rehearsals == 5 * 4
    monkeypatch.setattr(what_if, "MOST_SECONDS", -1.0)
    found = play(task())
    assert (found.rehearsals, found.worlds * found.runs) == (what_if.AT_ONCE, 5 * 4)
    assert math.isfinite(found.more.middle)


@pytest.mark.interpreted
def test_what_is_too_large_is_scaled_down_and_requests_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "MOST_PULLS", 20)
    found = play(task("Ration", "Ration", budget=300.0, requests=400))
    assert found.scale == pytest.approx(20 / min(400, 300 / 1.0), rel=0.2)
    assert found.other.budget == pytest.approx(300 * found.scale)
    assert found.other.requests == round(400 * found.scale)
    assert found.other.pulls.high <= found.other.requests


def test_policies_that_need_not_be_told_anything_can_be_named(client: TestClient) -> None:
    items = client.get("/v1/policies").json()["items"]
    assert items == parameter_free() == sorted(items)
    assert {"Thrifty", "Frugal", "Ration", "RoundRobin"} <= set(items) < set(BY_NAME)
    assert "UCBB1" not in items


def test_what_cannot_be_rehearsed_is_refused_in_a_sentence(client: TestClient) -> None:
    def said(**body: object) -> tuple[int, str]:
        answer = client.post(f"{SPRING}/what-if", json=body)
        return answer.status_code, answer.json().get("detail", "")

    assert said()[0] == 422  # nothing was told yet
    assert said(policy="Nobody")[1].startswith("policy ")
    assert said(budget=-1)[0] == 422
    assert said(money=1)[0] == 422
    assert client.post("/v1/campaigns/none/what-if", json={}).status_code == 404


@pytest.mark.soak
def test_another_process_plays_and_the_service_answers(client: TestClient) -> None:
    new = {"name": "two", "arms": {"good": 1, "poor": 1}, "budget": 100, "policy": POLICY}
    client.post("/v1/campaigns", json=new)
    for _ in range(8):
        pulls = client.post("/v1/campaigns/two/ask", json={"n": 5}).json()["pulls"]
        tells = [{"pull": pull["id"], "cost": 0.5, "reward": float(pull["arm"] == "good")} for pull in pulls]
        client.post("/v1/campaigns/two/tell", json=tells)
    found = client.post("/v1/campaigns/two/what-if", json={"policy": "RoundRobin", "budget": 50}).json()
    assert (found["own"]["policy"], found["other"]["policy"], found["other"]["budget"]) == (POLICY, "RoundRobin", 50)
    assert math.isfinite(found["more"]["middle"])
    assert found["more"]["high"] < 0
