"""What the dashboard reads: the same numbers as the ledger's, small whatever the size, fresh, and the past in parts."""

import asyncio
import math
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient

from outlay import Campaign
from outlay.beliefs import Belief
from outlay.campaign.monitor import CampaignMonitor
from outlay.campaign.stores.base import Clock
from outlay.service import views as watching
from outlay.service.schemas import DashboardView, Forecast, encode
from outlay.service.views import MOST_ARMS, WatchedCampaign, forecast, learning, view_of
from tests.campaign.busy import asked
from tests.campaign.test_contexts import KINDS, tangle
from tests.service.conftest import POLICY

WORTH = {"good": 0.8, "fair": 0.5, "poor": 0.2}


def pulled(policy: str = POLICY, pulls: int = 400, requests: int | None = None) -> Campaign:
    chance = random.Random(4)
    campaign = Campaign(dict.fromkeys(WORTH, 1.0), 10_000, policy, requests=requests)
    for _ in range(pulls):
        pull = asked(campaign)
        pull.tell(chance.uniform(0.5, 1.0), float(chance.random() < WORTH[pull.arm]))
    return campaign


def shown(watched: WatchedCampaign, **wanted: str) -> DashboardView:
    return asyncio.run(view_of(watched, **wanted))  # type: ignore[arg-type]


def test_a_view_has_the_numbers_of_the_campaign() -> None:
    campaign = pulled()
    view, status, reasons = shown(WatchedCampaign(campaign)), campaign.status(), campaign.reasons()
    assert view.campaign.exact.spent == str(status.exact.spent).rstrip("0")
    assert {each.arm.name: each.arm.pulls for each in view.arms} == {arm.name: arm.pulls for arm in status.arms}
    assert [each.arm.pulls for each in view.arms] == sorted((arm.pulls for arm in status.arms), reverse=True)
    assert view.next is not None
    assert (view.next.arm, view.next.words) == (reasons.arm, reasons.words)
    assert view.next.arms[0].name == reasons.arm
    past = [each.evidence - each.enough for each in view.next.arms if each.evidence is not None and each.enough]
    assert past == sorted(past)
    about = {each.name: each for each in reasons.arms}
    for each in view.arms:
        assert each.enough == about[each.arm.name].enough
    assert view.read == view.judged == view.campaign.events
    assert view.burn[-1].left == pytest.approx(status.budget - status.spent)
    assert view.burn[-1].used == status.used


@pytest.mark.parametrize(
    "more",
    [
        {"expiry": "release", "reward_within": 0.001, "missing_reward": 0.25},
        {"expiry": "charge", "fallback": "small", "mode": "hard", "reservation": 1.0, "budget": 60},
        {"window": "day", "policy": "Ration"},
    ],
    ids=repr,
)
def test_segments_are_those_of_the_campaign(more: dict[str, Any]) -> None:
    """Read event by event, they come to what the pulls come to, whatever happened to these."""
    terms: dict[str, Any] = {"arms": ["small", "large"], "budget": 900, "requests": 3000, "first_pulls": None}
    campaign = Campaign(**terms | more, context=KINDS)
    watched = WatchedCampaign(campaign)
    for turn in range(3):
        tangle(campaign, turn, 60)
        watched._seen_at = -math.inf
        view = shown(watched)
        assert [each.kind for each in view.context] == ["number", "categories", "words", "vector"]
        (found,) = view.segments
        assert found.name == "tenant"
        for ours, theirs in zip(found.items, campaign.segments("tenant"), strict=True):
            assert (ours.category, ours.pulls) == (theirs.category, theirs.pulls)
            assert (ours.spent, ours.reward) == pytest.approx((theirs.spent, theirs.reward))
            assert ours.arms == {arm: pulls for arm, pulls in theirs.arms.items() if pulls}
    assert shown(WatchedCampaign(pulled(pulls=3))).segments == []


def test_intervals_close_in_around_the_rate_of_now() -> None:
    view = shown(WatchedCampaign(pulled(pulls=3000)))
    best = next(each for each in view.past if each.name == "good")
    widths = [point.high - point.low for point in best.points if point.low is not None and point.high is not None]
    assert 20 <= len(best.points) < 48
    assert widths[-1] < widths[0] / 2
    now = next(each for each in view.arms if each.arm.name == "good")
    assert now.arm.rate == pytest.approx(best.points[-1].rate, rel=0.05)
    assert [point.at for point in best.points] == sorted(point.at for point in best.points)


def test_the_forecast_follows_the_clock_where_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "OFTEN", 0.0)
    watched = WatchedCampaign(pulled())
    first, later = shown(watched), shown(watched)
    assert first.judged == later.judged
    assert first.forecast is not None
    assert later.forecast is not None
    assert first.burn[-1].at / 1000 < first.forecast.made.timestamp() < later.forecast.made.timestamp()
    assert first.forecast.at < later.forecast.at


def test_many_arms_are_found_sorted_and_cut() -> None:
    campaign = Campaign([f"arm {i}" for i in range(300)], 1000, "RoundRobin")
    for i in range(300):
        pull = asked(campaign)
        pull.tell(1.0 + i / 300, i % 7)
    watched = WatchedCampaign(campaign)
    view = shown(watched)
    assert (len(view.arms), view.other_arms) == (MOST_ARMS, 300 - MOST_ARMS)
    assert len(encode(view)) < 60_000
    assert {each.arm.name for each in shown(watched, find="ARM 29").arms} == {"arm 29"} | {
        f"arm 29{i}" for i in range(10)
    }
    dearest = shown(watched, by="spent").arms
    assert [each.arm.spent for each in dearest] == sorted((each.arm.spent for each in dearest), reverse=True)
    assert dearest[0].arm.spent == max(arm.spent for arm in campaign.status().arms)


def test_a_long_past_is_read_in_parts_and_the_sums_are_right_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "AT_ONCE", 100)
    monkeypatch.setattr(watching, "BRIEFLY", 0.0)
    monkeypatch.setattr(watching, "PATIENCE", 0.0)
    campaign = pulled()
    watched, status, reads = WatchedCampaign(campaign), campaign.status(), []
    while True:
        view = shown(watched)
        reads.append(view.read)
        assert view.campaign.spent == status.spent
        if view.read == status.events:
            break
        assert view.forecast is None
        assert view.no_forecast
        assert view.learning is None
    assert reads == [100, 200, 300, 400, 500, 600, 700, 800, 801]
    monkeypatch.setattr(watching, "AT_ONCE", 10_000)
    whole = shown(WatchedCampaign(campaign))
    assert view.learning == whole.learning
    assert [(each.arm.name, each.low, each.high) for each in view.arms] == [
        (each.arm.name, each.low, each.high) for each in whole.arms
    ]


def test_tags_are_those_of_all_events_at_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "AT_ONCE", 2)
    client.get("/v1/campaigns/spring/view")
    for i in range(5):
        client.post("/v1/campaigns/spring/ask", json={"tags": [f"tag {i}"]})
    assert len(client.get("/v1/campaigns/spring/tags").json()["items"]) == 5


def test_the_bound_is_that_of_the_theory() -> None:
    """Two Gaussian arms of rates 1 and ½: 2·ln n, as `theory.lower_bound` has it; an arm that may be as good adds
    nothing.
    """
    status = Campaign(["a", "b", "c"], 1000, POLICY).status()
    rates = (1.0, 0.5, 0.99)
    arms = [replace(arm, pulls=100, spent=100.0, rate=rate) for arm, rate in zip(status.arms, rates, strict=True)]
    status = replace(status, arms=tuple(arms), pulls=300, spent=300.0, reward=249.0)
    beliefs = [Belief(i, 100, 1.0, rate, 0.25, 0.25, 0.0) for i, rate in enumerate(rates)]
    found = learning(status, beliefs)
    assert found is not None
    assert found.cost == pytest.approx(51.0)
    assert found.bound == pytest.approx(2.0 * math.log(300))


def test_where_requests_count_learning_is_against_the_best_mix() -> None:
    campaign = pulled("Ration", 300, requests=2000)
    status, found = campaign.status(), shown(WatchedCampaign(campaign)).learning
    assert found is not None
    assert status.outlook is not None
    dues = status.outlook.price * status.spent + status.outlook.worth * status.pulls
    assert found.cost == pytest.approx(max(0.0, dues - status.reward))


def test_a_window_begins_anew_and_a_slow_pace_lasts_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = int(datetime(2030, 1, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000
    hands = [noon]
    monkeypatch.setattr(Clock, "now", lambda _, wall=None, at_least=0: max(at_least, hands[0]))
    campaign = Campaign({"a": 1.0}, 50, POLICY, window="day", requests=500)

    def pull(times: int, minutes: int) -> None:
        for _ in range(times):
            hands[0] += minutes * 60_000_000
            asked(campaign).tell(0.5, 1)

    pull(20, 10)
    late = campaign.ask()  # told tomorrow: today's money
    assert late is not None
    hands[0] += 86_400_000_000
    pull(1, 1)
    late.tell(0.9, 1)
    status, found = campaign.status(), CampaignMonitor(campaign).look()
    assert (found.burn[-1].left, found.burn[-1].used) == (status.left, status.used) == (49.5, 1)
    pull(40, 10)
    status, found = campaign.status(), CampaignMonitor(campaign).look()
    assert found.burn[-1].left == pytest.approx(status.left)
    assert found.burn[-1].used == status.used
    ahead = forecast(status, found.burn)
    assert isinstance(ahead, Forecast)
    assert status.window is not None
    assert (ahead.by, ahead.at, ahead.late) == ("window", status.window.end, status.window.end)
