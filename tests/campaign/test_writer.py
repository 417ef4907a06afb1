"""One writer for all campaigns of a store: who breaks things, who takes turns, who is dropped."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from outlay.campaign import Campaign, verify
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import Asked, Told
from outlay.campaign.stores import sqlite, transaction
from outlay.campaign.stores.transaction import queue_depth
from outlay.errors import StoreError
from tests.campaign.busy import asked, blocked
from tests.campaign.checker import checked
from tests.campaign.test_rules import Fragile, Fussy
from tests.campaign.worker import TERMS, together


class Word(str):
    """A string that behaves badly."""

    def __str__(self) -> str:
        raise RuntimeError("this word cannot be written")


@pytest.mark.parametrize("where", ["memory", "sqlite"])
def test_strings_and_numbers_of_other_kinds_become_plain(store: str, where: str) -> None:
    with Campaign(**TERMS, store=None if where == "memory" else store) as campaign:
        one, two = campaign.ask(key=np.str_("k")), campaign.ask(key=Word("l"))
        assert one is not None
        assert two is not None
        assert campaign.ask("k") == one
        assert campaign.ask("l") == two
        campaign.tell(one, np.int64(3), np.float64(0.5))
        campaign.cancel(two, reason=np.str_("a slip"))
        assert {entry.more.get("reason") for entry in campaign.history()} == {None, "a slip"}


def test_a_command_that_cannot_be_written_fails_alone(store: str) -> None:
    """Although all are in one batch, and each of the others does what it came for."""
    outcomes: dict[str, Any] = {}

    def ask(key: str) -> None:
        try:
            (outcomes[key],) = campaign._ledger.transact([e.SetBudget(2**70) if key == "bad" else e.Ask(key)])
        except OverflowError as refusal:
            outcomes[key] = refusal

    with Campaign(**TERMS, store=store) as campaign:
        crowd = [threading.Thread(target=ask, args=(key,)) for key in [*"abcd", "bad", *"efgh"]]
        with blocked(store):
            first = threading.Thread(target=ask, args=("first",))
            first.start()
            time.sleep(0.05)
            for thread in crowd:
                thread.start()
            while queue_depth(store) <= len(crowd):
                time.sleep(0.001)
        for thread in [first, *crowd]:
            thread.join()
    assert isinstance(outcomes.pop("bad"), OverflowError)
    assert len({pull.id for pull in outcomes.values()}) == 9
    asked = {record.event.key for record in checked(store) if isinstance(record.event, Asked)}
    assert asked == {"first", *"abcdefgh"}


def test_seventy_campaigns_are_one_thread_and_few_files(tmp_path: Path, store: str) -> None:
    """And when they are dropped, or let go, there is none."""
    before, files = set(threading.enumerate()), len(list(Path("/dev/fd").iterdir()))
    campaigns = [Campaign(**TERMS, store=store, name=str(i)) for i in range(70)]
    together([partial(_read, campaign) for campaign in campaigns[:20]])
    together([partial(_pair, campaign) for campaign in campaigns])
    assert len(set(threading.enumerate()) - before) == 1
    assert len(list(Path("/dev/fd").iterdir())) < files + 60
    dropped = weakref.ref(campaigns[0])
    for campaign in campaigns[35:]:
        campaign.disconnect()
    del campaigns, campaign
    gc.collect()
    while set(threading.enumerate()) - before:
        time.sleep(0.001)
    assert dropped() is None
    assert {path.name for path in tmp_path.iterdir()} == {"a.db"}  # SQLite removes its log with the last connection
    assert sum(isinstance(record.event, Told) for record in checked(store, "57")) == 1


def _pair(campaign: Campaign) -> None:
    asked(campaign).tell(1, 0.5)


def _read(campaign: Campaign) -> None:
    assert len(list(campaign.history())) == 1


@pytest.mark.parametrize("instead", [None, "another"])
def test_a_file_that_is_taken_away(tmp_path: Path, store: str, instead: str | None) -> None:
    """Nothing more is acknowledged, for nobody would find it; a file in its place is not touched."""
    campaign = Campaign(**TERMS, store=store)
    campaign.ask()
    before = None
    if instead is None:
        (tmp_path / "a.db").unlink()
    else:
        Campaign(**TERMS, store=f"sqlite:///{tmp_path}/b.db").disconnect()
        before = (tmp_path / "b.db").read_bytes()
        (tmp_path / "b.db").rename(tmp_path / "a.db")
    with pytest.raises(StoreError, match="was removed or replaced while it was open: open the campaign anew"):
        campaign.ask()
    with pytest.raises(StoreError, match=r"removed or replaced|unable to open"):
        campaign.ask()
    if before is not None:
        assert (tmp_path / "a.db").read_bytes() == before
    campaign.disconnect()
    for path in tmp_path.glob("a.db-*"):
        path.unlink()
    with Campaign(**TERMS, store=store) as anew:
        anew.ask()
    assert len(checked(store)) == 2


def fail_at_a_cost_of_the_test(memory: Fussy, arm: int, cost: float, reward: float) -> None:
    if cost == 0.1:
        raise RuntimeError("of somebody's own policy")


def test_a_failure_while_events_are_read_leaves_the_file_to_others(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """What the error holds on to, here a cursor that is not at its end, must not hold on to the file's lock."""
    with Campaign(["a", "b"], 100.0, Fragile(), store, first_pulls=None) as campaign:
        campaign.tell_many([(pull, 0.1, 1.0) for pull in campaign.ask_many(50)])
        with Campaign.open(store, policy=Fragile()) as other:
            campaign.disconnect()
            monkeypatch.setattr(sqlite, "BUSY", 0.5)
            raised = []
            with monkeypatch.context() as patch:
                patch.setattr(Fussy, "observe", fail_at_a_cost_of_the_test)
                for _ in range(3):
                    with pytest.raises(RuntimeError) as error:
                        Campaign.open(store, policy=Fragile())
                    raised.append(error)
            gc.disable()
            try:
                assert other.ask() is not None
            finally:
                gc.enable()
    assert len(raised) == 3


# ---- calls that take long: the ledger is let go in between, and others have their turn

FEW = 5


@pytest.fixture
def slow(store: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store where every command has taken too long when it is done."""
    monkeypatch.setattr(transaction, "MAX_SECONDS_PER_TRANSACTION", -1.0)
    return store


MEANWHILE: dict[int, Callable[[], object]] = {}


class Meddler(NamedTuple):
    """A policy during whose n-th choice something else happens, once."""

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        MEANWHILE.pop(now.pulls, lambda: None)()
        return 0


def test_who_comes_meanwhile_is_served_before_the_rest(slow: str) -> None:
    with Campaign(**TERMS, policy=Meddler(), store=slow) as campaign, Campaign(**TERMS, store=slow, name="x") as other:
        others: list[threading.Thread] = []

        def come() -> None:
            for ask, key in [(campaign.ask, "late"), (other.ask, None)]:
                others.append(threading.Thread(target=ask, args=(key,)))
                others[-1].start()
            while transaction.queue_depth(slow) < 3:
                pass

        MEANWHILE[1] = come
        assert len(campaign.ask_many(FEW)) == FEW
        for thread in others:
            thread.join()
        assert [pull.key for pull in campaign.pulls()] == [None, None, "late", None, None, None]
    assert len(checked(slow, "x")) == 2
    assert verify(slow, "default", Meddler()).ok


def test_a_call_that_is_cancelled_half_way(slow: str) -> None:
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

        MEANWHILE[2] = wait
        with pytest.raises(asyncio.CancelledError):
            await asking

    with Campaign(**TERMS, policy=Meddler(), store=slow) as campaign:
        asyncio.run(ask(campaign))
        campaign.pause()
        assert [pull.status for pull in campaign.pulls()] == ["cancelled"] * 3


def test_a_call_that_fails_half_way(slow: str) -> None:
    """The caller hears of it, and of none of its pulls; they are taken back."""

    def fail() -> None:
        raise ZeroDivisionError("of somebody's own policy")

    with Campaign(**TERMS, policy=Meddler(), store=slow) as campaign:
        MEANWHILE[2] = fail
        with pytest.raises(ZeroDivisionError):
            campaign.ask_many(FEW)
        assert [pull.status for pull in campaign.pulls()] == ["cancelled"] * 4


def test_a_campaign_that_is_let_go_meanwhile(slow: str) -> None:
    """It waits for what was asked of it before."""
    campaign = Campaign(**TERMS, policy=Meddler(), store=slow)
    closing = threading.Thread(target=campaign.disconnect)

    def close() -> None:
        closing.start()
        while transaction.queue_depth(slow) < 2:
            pass

    MEANWHILE[1] = close
    assert len(campaign.ask_many(FEW)) == FEW
    closing.join()
    assert verify(slow, "default", Meddler()).events == 1 + FEW


def test_who_comes_after_disconnect_is_refused_and_none_waits_for_ever(store: str) -> None:
    """More ask than one transaction holds: five before the campaign is let go, and six hundred after it."""

    async def story(campaign: Campaign) -> tuple[list[Any], list[Any]]:
        before = [asyncio.ensure_future(campaign.aask()) for _ in range(5)]
        await asyncio.sleep(0)
        leaving = asyncio.ensure_future(campaign.adisconnect())
        await asyncio.sleep(0)
        after = [asyncio.ensure_future(campaign.aask()) for _ in range(600)]
        await asyncio.wait_for(asyncio.gather(leaving, *before, *after, return_exceptions=True), 60)
        return before, after

    before, after = asyncio.run(story(Campaign(**TERMS, store=store)))
    assert len({ask.result().id for ask in before}) == 5
    assert [type(ask.exception()) for ask in after] == [StoreError] * 600
    with Campaign.open(store) as campaign:
        assert campaign.status().in_flight == 5
