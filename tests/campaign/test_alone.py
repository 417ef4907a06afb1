"""A caller who is alone writes in his own thread; others who come meanwhile, or leave, find the writer at work."""

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked
from outlay.campaign.stores.db import sqlite_file
from outlay.campaign.stores.writing import book
from outlay.errors import StoreError
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


class WatchedCampaign:
    """The writer of a campaign: who serves is noted, and can be held up."""

    def __init__(self, campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writer: Any = campaign._ledger._store.writer  # type: ignore[attr-defined]
        self.by: list[str] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()
        serve = self.writer._serve

        def watched(jobs: Any) -> None:
            self.by.append(threading.current_thread().name)
            self.begun.set()
            self.go_on.wait()
            serve(jobs)

        monkeypatch.setattr(self.writer, "_serve", watched)

    def rest(self) -> None:
        while not self.writer._idle:
            pass


def in_thread(name: str, work: Any, *args: Any) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, name=name)
    thread.start()
    return thread


def test_who_is_alone_is_served_in_his_own_thread(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Campaign(**TERMS, store=store) as campaign:
        watched = WatchedCampaign(campaign, monkeypatch)
        watched.rest()

        def work() -> None:
            for _ in range(20):
                pull = campaign.ask()
                assert pull is not None
                campaign.tell(pull, 1, 1)

        in_thread("me", work).join()
        assert watched.by == ["me"] * 40
    assert len(checked(store)) == 41


def test_ctrl_c_never_comes_in_between(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main thread, which hears it, has others write for it; so has a caller who waits only so long."""
    with Campaign(**TERMS, store=store) as campaign:
        watched = WatchedCampaign(campaign, monkeypatch)
        watched.rest()
        campaign.ask()
        watched.rest()
        in_thread("me", lambda: campaign.ask(timeout=10)).join()
        assert len(watched.by) == 2
        assert all(name.startswith("outlay ") for name in watched.by)


def test_others_who_come_meanwhile_are_the_next_batch(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Campaign(**TERMS, store=store) as campaign:
        watched = WatchedCampaign(campaign, monkeypatch)
        watched.rest()
        watched.go_on.clear()
        first = in_thread("first", campaign.ask)
        watched.begun.wait()
        crowd = [in_thread(f"other {i}", campaign.ask) for i in range(5)]
        while len(watched.writer._waiting) < 5:
            pass
        watched.writer._bell.open()  # as where a campaign is dropped: it must not begin
        watched.go_on.set()
        for thread in [first, *crowd]:
            thread.join()
        assert watched.by[0] == "first"
        assert len(watched.by) == 2
        assert watched.by[1].startswith("outlay ")
    assert sum(isinstance(record.event, Asked) for record in checked(store)) == 6


@pytest.mark.parametrize("dropped", [False, True])
def test_a_campaign_is_let_go_meanwhile(store: str, monkeypatch: pytest.MonkeyPatch, dropped: bool) -> None:
    with Campaign(**TERMS, store=store) as campaign:
        other = [Campaign(**(TERMS | {"name": "other"}), store=store)]
        watched = WatchedCampaign(campaign, monkeypatch)
        watched.rest()
        watched.go_on.clear()
        first = in_thread("first", campaign.ask)
        watched.begun.wait()
        if dropped:
            other.clear()
            gc.collect()
        else:
            last = in_thread("last", other[0].disconnect)
            while not watched.writer._waiting:
                pass
        watched.go_on.set()
        first.join()
        if not dropped:
            last.join()
            with pytest.raises(StoreError, match="disconnected"):
                in_thread_of_its_own(other[0].ask)
        shared: Any = campaign._ledger._store  # type: ignore[attr-defined]
        while shared.campaigns > 1:
            pass
    assert len(checked(store)) == 2


def in_thread_of_its_own(work: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_what_raises_is_heard_and_the_next_is_served(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Campaign(**TERMS, store=store) as campaign:
        watched = WatchedCampaign(campaign, monkeypatch)
        watched.rest()
        shared: Any = campaign._ledger._store  # type: ignore[attr-defined]
        with monkeypatch.context() as patch:
            patch.setattr(shared, "_check_file", lambda: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                in_thread_of_its_own(campaign.ask)
        pull = in_thread_of_its_own(campaign.ask)
        assert pull.decision == 2
        assert not any(name.startswith("outlay ") for name in watched.by)
    assert len(checked(store)) == 2


def test_a_failure_while_events_are_read_leaves_the_file_to_others(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """What the error holds on to, here a cursor that is not at its end, must not hold on to the file's lock."""
    with Campaign(["a", "b"], 100.0, store=store, first_pulls=None) as campaign:
        campaign.tell_many([(pull, 0.1, 1.0) for pull in campaign.ask_many(50)])
        with Campaign.open(store) as other:
            campaign.disconnect()
            monkeypatch.setattr(sqlite_file, "BUSY", 0.5)
            raised = []
            with monkeypatch.context() as patched:
                patched.setattr(book, "apply", failing)
                for _ in range(3):
                    with pytest.raises(RuntimeError) as error:
                        Campaign.open(store)
                    raised.append(error)
            gc.disable()
            try:
                assert other.ask() is not None
            finally:
                gc.enable()
    assert len(raised) == 3


def failing(*_: Any) -> None:
    raise RuntimeError("of somebody's own policy")
