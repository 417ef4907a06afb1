"""Requests beside money, forecasts that refuse nothing, and arms of unknown cost whose pulls nobody tells."""

import asyncio
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked, Cancelled, Told
from outlay.errors import CampaignConflict, NothingTold, NotNow
from tests.campaign.busy import asked
from tests.campaign.checker import checked
from tests.campaign.worker import Workers, together


def test_a_forecast_paces_and_refuses_nothing(memory_or_file: str | None) -> None:
    campaign = Campaign({"a": 1}, 100, "Ration", memory_or_file, name="paced")
    assert campaign.status().outlook is None
    campaign.expect_requests(2)
    for _ in range(5):
        asked(campaign).tell(1, 1)
    status = campaign.status()
    assert (status.expected, status.used, status.requests) == (0, 5, None)
    assert status.outlook is not None
    campaign.expect_requests(10)
    assert campaign.status().expected == 10
    before = campaign.status().events
    campaign.expect_requests(10)
    assert campaign.status().events == before
    with pytest.raises(CampaignConflict, match="Fieller paces itself by no forecast"):
        Campaign(["a"], 1, "Fieller").expect_requests(3)


def test_the_outlook_is_that_of_the_hull() -> None:
    campaign, rng = Campaign({"a": 1, "b": 2}, 60, "RoundRobin", requests=100), random.Random(1)
    for _ in range(20):
        pull = asked(campaign)
        cost, mean = (0.2, 0.3) if pull.arm == "a" else (1.0, 0.9)
        campaign.tell(pull, cost, mean + rng.uniform(-0.05, 0.05))
    status = campaign.status()
    ahead = status.outlook
    assert ahead is not None
    assert (ahead.low, ahead.high) == ("a", "b")
    per_request = status.left / 80
    assert ahead.share == pytest.approx((per_request - 0.2) / 0.8)
    assert ahead.price == pytest.approx(0.75, abs=0.05)
    assert ahead.worth == pytest.approx(0.15, abs=0.05)
    assert ahead.reward_low is not None
    assert ahead.reward_high is not None
    assert ahead.reward_low < ahead.reward < ahead.reward_high
    assert ahead.reward == pytest.approx(status.reward + 80 * (ahead.worth + ahead.price * per_request))


def test_a_forecast_that_was_exceeded_is_the_same_after_reopening(tmp_path: Path) -> None:
    """Whoever opens the campaign again must choose as those who had it open."""
    store, rng = f"sqlite:///{tmp_path}/a.db", random.Random(1)
    for pulls in (1100, 60):
        with Campaign(["a", "b", "c"], 1000, "PDBwKRequests", store) as campaign:
            if pulls > 1000:
                campaign.expect_requests(10)
            for _ in range(pulls // 20):
                pulled = campaign.ask_many(20)
                campaign.tell_many([(pull, 0.1, float(rng.random() < 0.5)) for pull in pulled])
    assert checked(store)


BOTH: dict[str, Any] = {"arms": {"a": 3, "b": 5}, "mode": "hard", "unit": "1", "requests": 150, "budget": 400}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize(("processes", "threads"), [(3, 2), pytest.param(8, 4, marks=pytest.mark.soak)])
def test_neither_limit_is_passed_by_one_unit(
    workers: Workers, request: pytest.FixtureRequest, tmp_path: Path, kind: str, processes: int, threads: int
) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    name = "tests.campaign.test_requests.use_up"
    children = [workers.start(name, store, seed, threads) for seed in range(processes)]
    assert [workers.wait(child) for child in children] == [0] * processes
    spent = used = served = 0
    for record in checked(store):
        event = record.event
        used += isinstance(event, Asked) - isinstance(event, Cancelled)
        if isinstance(event, Told):
            spent, served = spent + event.cost, served + 1
        assert spent <= BOTH["budget"]
        assert used <= BOTH["requests"]
    with Campaign(**BOTH, store=store) as campaign:
        status = campaign.status()
    assert status.ended == "exhausted"
    assert served == status.used == BOTH["requests"] or BOTH["budget"] - spent < 5


def use_up(store: str, seed: int, threads: int) -> None:
    """In a process of its own: ask until all is used, and cancel every fifth pull."""

    def work(thread: int) -> None:
        rng = random.Random(100 * seed + thread)
        while (pull := campaign.ask(wait=True, timeout=60)) is not None:
            if rng.random() < 0.2:
                campaign.cancel(pull)
            else:
                campaign.tell(pull, rng.randint(0, 3 if pull.arm == "a" else 5), rng.random())

    with Campaign(**BOTH, store=store) as campaign:
        together([partial(work, thread) for thread in range(threads)])


WHY = "nobody told what a pull of 'a' or 'b' cost"


def test_samples_from_elsewhere_say_what_an_arm_costs() -> None:
    with Campaign(["a"], 10) as campaign:
        asked(campaign).charge()
        with pytest.raises(NothingTold):
            campaign.ask()
        campaign.warm_start([("a", 2, 1)])
        pull = asked(campaign)
        assert pull.reserved == 4


def test_who_waits_hears_of_it_instead_of_waiting_for_ever(memory_or_file: str | None) -> None:
    def work(campaign: Campaign) -> Iterator[int]:
        for pull in campaign:
            yield pull.id
            pull.charge()

    with Campaign(["a", "b"], 10, store=memory_or_file) as campaign:
        worked = work(campaign)
        assert [next(worked), next(worked)] == [2, 4]
        with pytest.raises(NothingTold, match=WHY):
            next(worked)
        with pytest.raises(NothingTold, match="max_cost, or a reservation"):
            asyncio.run(campaign.aask(wait=True))


def test_who_waits_for_a_pull_under_way_hears_of_it_when_that_has_expired() -> None:
    with Campaign(["a"], 10) as campaign:
        pull = asked(campaign)
        with pytest.raises(NotNow):
            campaign.ask()
        pull.extend(0.01)
        with pytest.raises(NothingTold, match="nobody told what a pull of 'a' cost"):
            campaign.ask(wait=True, timeout=60)
