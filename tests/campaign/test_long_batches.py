"""Calls that take long: the ledger is let go in between, and others have their turn."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked, Cancelled
from outlay.campaign.stores import transaction
from outlay.campaign.stores.base import run
from outlay.errors import StoreError
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS

FEW = 5


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store where every command has taken too long when it is done."""
    monkeypatch.setattr(transaction, "HELD", -1.0)
    return f"sqlite:///{tmp_path}/a.db"


def transactions(store: str) -> int:
    connection = sqlite3.connect(store.removeprefix("sqlite:///"))
    (count,) = connection.execute("SELECT count(DISTINCT batch) FROM event WHERE seq > 1").fetchone()
    connection.close()
    return int(count)


class Pauses:
    """Calls `then` when so many commands have been decided."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int, then: Any) -> None:
        self._left, self._then = count, then
        monkeypatch.setattr(transaction, "run", self)

    def __call__(self, *args: Any) -> Any:
        done = run(*args)
        self._left -= len(done.replies)
        if self._left <= 0 and self._then is not None:
            then, self._then = self._then, None
            then()
        return done


def test_many_asks_and_tells_are_several_transactions(store: str) -> None:
    with Campaign(**TERMS, store=store) as campaign:
        pulls = campaign.ask_many(FEW)
        receipts = campaign.tell_many([(pull, 1, 0.5) for pull in pulls])
        assert [receipt.pull for receipt in receipts] == [pull.id for pull in pulls] == [2, 3, 4, 5, 6]
    assert transactions(store) == 2 * FEW
    assert len(checked(store)) == 1 + 2 * FEW


def test_who_comes_meanwhile_is_served_before_the_rest(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Campaign(**TERMS, store=store) as campaign, Campaign(**TERMS, store=store, name="other") as other:
        others: list[threading.Thread] = []

        def come() -> None:
            for ask, key in [(campaign.ask, "late"), (other.ask, None)]:
                others.append(threading.Thread(target=ask, args=(key,)))
                others[-1].start()
            while transaction.queue_depth(store) < 3:
                pass

        Pauses(monkeypatch, 2, come)
        assert len(campaign.ask_many(FEW)) == FEW
        for thread in others:
            thread.join()
    asked = [record.event.key for record in checked(store) if isinstance(record.event, Asked)]
    assert asked == [None, None, "late", None, None, None]
    assert len(checked(store, "other")) == 2


def test_a_call_that_is_cancelled_half_way(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was given so far is taken back, and the rest is not asked for."""

    async def ask(campaign: Campaign) -> None:
        loop, asking = asyncio.get_running_loop(), asyncio.create_task(campaign.aask_many(FEW))
        cancelled = threading.Event()

        def cancel() -> None:
            asking.cancel()
            loop.call_soon(cancelled.set)

        def wait() -> None:
            loop.call_soon_threadsafe(cancel)
            cancelled.wait()

        Pauses(monkeypatch, 3, wait)
        with pytest.raises(asyncio.CancelledError):
            await asking

    with Campaign(**TERMS, store=store) as campaign:
        asyncio.run(ask(campaign))
        campaign.pause()
        assert campaign.status().in_flight == 0
    kinds = [type(record.event) for record in checked(store)]
    assert kinds.count(Asked) == kinds.count(Cancelled) == 3


def test_a_call_that_fails_half_way(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller hears of it, and of none of its pulls; they are taken back."""

    def fail() -> None:
        raise StoreError("the disk is full")

    with Campaign(**TERMS, store=store) as campaign:
        Pauses(monkeypatch, 3, fail)
        with pytest.raises(StoreError, match="the disk is full"):
            campaign.ask_many(FEW)
        campaign.pause()
        assert campaign.status().in_flight == 0
    kinds = [type(record.event) for record in checked(store)]
    assert kinds.count(Asked) == kinds.count(Cancelled) == 2


def test_a_campaign_that_is_let_go_meanwhile(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for what was asked of it before."""
    campaign = Campaign(**TERMS, store=store)
    closing = threading.Thread(target=campaign.disconnect)

    def close() -> None:
        closing.start()
        while transaction.queue_depth(store) < 2:
            pass

    Pauses(monkeypatch, 2, close)
    assert len(campaign.ask_many(FEW)) == FEW
    closing.join()
    assert len(checked(store)) == 1 + FEW
