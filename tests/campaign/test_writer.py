"""One writer for all campaigns of a store: who breaks things, who takes turns, who is dropped."""

import gc
import threading
import time
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import ArmTerms, Asked, Record, Told
from outlay.campaign.stores import sqlite, transaction
from outlay.campaign.stores.transaction import queue_depth
from outlay.campaign.stores.writer import LARGEST, MOST_WAITING
from outlay.errors import BadParameter, QueueFull, StoreError
from tests.campaign.busy import blocked
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS, together


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


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


@pytest.mark.parametrize("where", ["memory", "sqlite"])
@pytest.mark.parametrize(
    "command",
    [e.Ask(("a", object)), e.Cancel(2, b"bytes"), e.DisableArm(["a"]), e.AddArm(ArmTerms(object))],  # type: ignore[arg-type]
)
def test_what_no_store_can_keep_is_refused_at_the_door(store: str, where: str, command: e.Command) -> None:
    with Campaign(**TERMS, store=None if where == "memory" else store) as campaign:
        campaign.ask()
        with pytest.raises(BadParameter, match="must be text, a number or None; got"):
            campaign._ledger.transact([command])
        assert campaign.status().events == 2


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
    state = weakref.ref(campaigns[0]._ledger._cached.state)  # type: ignore[attr-defined]
    for campaign in campaigns[35:]:
        campaign.disconnect()
    del campaigns, campaign
    gc.collect()
    while set(threading.enumerate()) - before:
        time.sleep(0.001)
    assert state() is None
    assert {path.name for path in tmp_path.iterdir()} == {"a.db"}  # SQLite removes its log with the last connection
    assert sum(isinstance(record.event, Told) for record in checked(store, "57")) == 1


def _pair(campaign: Campaign) -> None:
    pull = campaign.ask()
    assert pull is not None
    campaign.tell(pull, 1, 0.5)


def _read(campaign: Campaign) -> None:
    assert len(list(campaign.history())) == 1


def test_the_same_campaign_opened_twice(store: str) -> None:
    """Each knows it for itself, and neither writes what the other wrote, though both are in one batch."""
    with Campaign(**TERMS, store=store) as one, Campaign(**TERMS, store=store) as other:
        together([partial(_pair, campaign) for campaign in [one, other] * 8])
        assert one.status() == other.status()
    assert len(checked(store)) == 1 + 2 * 16


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


def test_campaigns_take_turns_where_many_wait(store: str) -> None:
    """Those of one that asks for hundreds at a time do not hold up another's."""
    finished: list[str] = []
    with Campaign(**TERMS, store=store, name="busy") as busy, Campaign(**TERMS, store=store, name="other") as other:
        ledgers = {"busy": busy._ledger, "other": other._ledger}

        def submit(name: str, commands: int) -> None:
            future = ledgers[name].submit([e.Pause(), e.Resume()] * commands)
            future.add_done_callback(lambda _: finished.append(name))

        with blocked(store):
            submit("busy", 1)  # taken alone, and held up
            time.sleep(0.05)
            for _ in range(5):
                submit("busy", LARGEST)
            submit("other", 1)
            submit("other", 1)
    assert finished.index("other") <= 2
    assert finished.count("busy") == 6


def test_ten_thousand_wait_and_no_more(store: str) -> None:
    with Campaign(**TERMS, store=store) as campaign:
        with blocked(store):
            futures = [campaign._ledger.submit([e.Pause()]) for _ in range(MOST_WAITING)]
            assert queue_depth(store) == MOST_WAITING
            with pytest.raises(QueueFull, match="10000 commands wait"):
                campaign.ask()
        assert {tuple(future.result()) for future in futures} == {(None,)}
        campaign.resume()
        assert campaign.ask() is not None
    assert len(checked(store)) == 4


def test_those_who_listen_hear_of_what_is_kept(store: str, caplog: pytest.LogCaptureFixture) -> None:
    """In order, once; one that fails is logged, and harms nobody."""
    heard: list[Record] = []

    def broken(news: Sequence[Record]) -> None:
        raise RuntimeError(f"{len(news)} events are too many")

    with Campaign(**TERMS, store=store) as campaign:
        campaign._ledger.listen(broken)
        stop = campaign._ledger.listen(heard.extend)
        together([partial(_pair, campaign)] * 8)
        campaign.pause()
        stop()
        campaign.resume()
        assert [record.seq for record in heard] == list(range(2, 19))
        assert heard == list(campaign._ledger.records())[1:18]
    assert "a listener of campaign 'default' failed" in caplog.text


def test_a_failure_while_events_are_read_leaves_the_file_to_others(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """What the error holds on to, here a cursor that is not at its end, must not hold on to the file's lock."""
    with Campaign(["a", "b"], 100.0, store=store, first_pulls=None) as campaign:
        campaign.tell_many([(pull, 0.1, 1.0) for pull in campaign.ask_many(50)])
        with Campaign.open(store) as other:
            campaign.disconnect()
            monkeypatch.setattr(sqlite, "BUSY", 0.5)
            raised = []
            with monkeypatch.context() as patched:
                patched.setattr(transaction, "apply", failing)
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
