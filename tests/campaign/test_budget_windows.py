"""Budgets by the day, fallbacks and the archive as users meet them, in memory and in files, across midnight."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign
from outlay.campaign import campaigns, export_ledger, import_ledger, verify
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import Settings
from outlay.campaign.monitor import CampaignMonitor
from outlay.campaign.records import Pull, PullFilter, Receipt
from outlay.campaign.settings import CampaignLimits, agreed, chosen
from outlay.campaign.stores.base import Clock, Store
from outlay.campaign.stores.memory import MemoryLedger
from outlay.campaign.stores.transaction import SqlLedger
from outlay.errors import NotNow
from tests.campaign.checker import checked

EVENING = datetime(2026, 3, 28, 22, 59, tzinfo=UTC)  # a minute before midnight in Berlin, and the day has 23 hours
MINUTE = timedelta(minutes=1)
BERLIN: dict[str, Any] = {"window": "day", "timezone": "Europe/Berlin"}


class Hands:
    """A clock whose hands are moved."""

    def __init__(self) -> None:
        self.at = EVENING
        self.clock = Clock(self.nanos, self.nanos)

    def nanos(self) -> int:
        return int(self.at.timestamp() * 10**9)

    def time(self) -> float:
        return self.at.timestamp()


Opener = Callable[..., Store]


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture(params=["memory", "sqlite"])
def ledger(
    request: pytest.FixtureRequest, hands: Hands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Opener]:
    """Opens a ledger on terms, with the clock of the test; a PostgreSQL server has one that nobody can move."""
    made: list[Store] = []
    monkeypatch.setattr("outlay.campaign.stores.transaction.time.time", hands.time)
    url = f"sqlite:///{tmp_path}/w.db"

    def opened(arms: dict[str, float | None], budget: float, requests: int | None = None, **settings: Any) -> Store:
        policy = chosen("Frugal")
        opening = agreed(arms, CampaignLimits(budget, requests), policy, "w", Settings(unit="1", **settings))
        if request.param == "memory":
            store: Store = MemoryLedger(opening, policy, hands.clock)
        else:
            store = SqlLedger(url, "w", opening, policy, hands.clock)
        made.append(store)
        return store

    yield opened
    for store in made:
        store.close()
    if request.param == "sqlite":
        verdict = verify(url, "w")
        assert (verdict.ok, verdict.problems) == (True, ())
        checked(url, "w", choices=False)


def ask(store: Store, key: str | None = None) -> Pull:
    (reply,) = store.transact([e.Ask(key)])
    assert isinstance(reply, Pull), reply
    return reply


def tell(store: Store, pull: Pull, cost: int) -> Receipt:
    (reply,) = store.transact([e.Tell(pull.id, cost, 1.0)])
    assert isinstance(reply, Receipt), reply
    return reply


def refused(store: Store) -> NotNow:
    (reply,) = store.transact([e.Ask()])
    assert isinstance(reply, NotNow), reply
    return reply


def test_a_pull_counts_in_the_window_in_which_it_was_asked_for(ledger: Opener, hands: Hands) -> None:
    store = ledger({"a": 4}, 10, mode="hard", **BERLIN)
    first, second = ask(store), ask(store)
    assert "set aside" in refused(store).reason
    hands.at += 2 * MINUTE
    status = store.status()
    assert status.window is not None
    assert (status.window.start, status.window.end) == (EVENING + MINUTE, EVENING + MINUTE + timedelta(hours=23))
    assert (status.spent, status.reserved, status.left, status.in_flight) == (0, 0, 10, 2)
    third, fourth = ask(store), ask(store)
    tell(store, first, 4)
    tell(store, third, 3)
    status = store.status()
    assert (status.spent, status.reserved, status.left) == (3, 4, 3)
    assert status.window is not None
    assert status.window.earlier == 4
    tell(store, second, 1)  # what that leaves is yesterday's, and forfeited
    assert store.status().left == 3
    tell(store, fourth, 4)
    assert store.status().left == 3
    wait = refused(store)
    assert wait.reason == "budget or requests of this day are used up in campaign 'w'"
    assert wait.retry_after == 23 * 3600 - 60
    assert store.status().phase == "waiting"
    hands.at += timedelta(hours=23)
    assert store.status().phase == "open"
    assert (store.status().left, store.status().pulls) == (10, 4)
    tell(store, ask(store), 2)


def test_a_fallback_is_outside_the_budget(ledger: Opener) -> None:
    store = ledger({"large": 3, "free": 1}, 6, mode="hard", fallback="free", max_in_flight=2)
    store.transact([e.DisableArm("free")])  # it serves as the fallback alone
    for _ in range(2):
        pull = ask(store)
        assert (pull.arm, pull.fallback) == ("large", False)
        tell(store, pull, 3)
    assert store.status().phase == "open"
    one, two = ask(store, "k1"), ask(store, "k2")
    assert (one.arm, one.fallback, one.reserved) == ("free", True, 1)
    assert "max_in_flight is 2" in refused(store).reason
    assert not tell(store, one, 1).overrun
    assert tell(store, two, 5).overrun  # more than the most that was agreed for this arm
    status = store.status()
    assert (status.phase, status.ended, status.fallback) == ("fallback", "exhausted", "free")
    assert (status.spent, status.left, status.outside) == (6, 0, 6)
    assert sum(arm.spent for arm in status.arms) == 12
    assert [decision.fallback for decision, _ in store.find(PullFilter())] == [False, False, True, True]
    store.transact([e.SetBudget(9)])
    assert ask(store).arm == "large"


def test_an_archived_campaign_is_put_away_and_comes_back(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign({"a": 1}, 5, "Frugal", store, name="old") as campaign:
        pull = campaign.ask()
        assert pull is not None
        campaign.archive()
        campaign.archive()
        assert campaign.ask() is None
        assert (campaign.status().phase, campaign.status().archived) == ("draining", True)
        pull.tell(cost=1, reward=1)
        assert [each.name for each in campaigns(store)] == []
        assert [each.name for each in campaigns(store, archived=True)] == ["old"]
        campaign.restore()
        assert campaign.ask() is not None
        assert [entry.kind for entry in campaign.history()].count("archived") == 1
    assert verify(store, "old").ok


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)])
def test_the_same_terms_open_it_again_and_a_copy_is_the_same(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    copy = f"sqlite:///{tmp_path}/b.db"
    terms: dict[str, Any] = {**BERLIN, "fallback": "a", "name": "daily"}
    for _ in range(2):
        with Campaign({"a": 1, "b": 2}, 3, "Frugal", store, **terms) as campaign:
            for _ in range(3):
                pull = campaign.ask()
                assert pull is not None
                pull.tell(cost=1, reward=0.5)
            assert CampaignMonitor(campaign).look().burn[-1].left == campaign.status().left
    export_ledger(store, tmp_path / "first", "daily")
    assert import_ledger(copy, tmp_path / "first").ok
    export_ledger(copy, tmp_path / "second", "daily")
    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()
    with Campaign.open(copy, "daily") as campaign:
        assert any(pull.fallback for pull in campaign.pulls())
        assert campaign.status().outside > 0
    assert verify(store, "daily").ok
