"""One writer for all campaigns of a store: who breaks things, who takes turns, who is dropped."""

import gc
import sqlite3
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
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger import events
from outlay.campaign.ledger.events import ArmTerms, Asked, Record, Told
from outlay.campaign.stores.db import rows
from outlay.campaign.stores.writing import writer
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.fairness import LARGEST, fair
from outlay.campaign.stores.writing.job import Job
from outlay.campaign.stores.writing.writer import MOMENT, Writer
from outlay.errors import BadParameter, StoreError
from tests.campaign.busy import blocked
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS, together


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db"


def handed_in(campaign: Campaign, count: int) -> None:
    """Wait until so many jobs wait for the writer, or are in its hands."""
    writer: Any = campaign._ledger._store.writer  # type: ignore[attr-defined]
    while len(writer._waiting) < count:
        time.sleep(0.001)


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
    [c.Ask(("a", object)), c.Void(2, b"bytes"), c.DisableArm(["a"]), c.AddArm(ArmTerms(object))],  # type: ignore[arg-type]
)
def test_what_no_store_can_keep_is_refused_at_the_door(store: str, where: str, command: c.Command) -> None:
    with Campaign(**TERMS, store=None if where == "memory" else store) as campaign:
        campaign.ask()
        with pytest.raises(BadParameter, match="must be text, a number or None; got"):
            campaign._ledger.transact([command])
        assert campaign.status().events == 2


@pytest.mark.parametrize("error", [TypeError("no"), sqlite3.InterfaceError("no"), sqlite3.IntegrityError("no")])
def test_a_command_that_cannot_be_written_fails_alone(
    store: str, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Although all are in one batch, and each of the others does what it came for."""
    outcomes: dict[str, Any] = {}

    def to_json(event: Any) -> str:
        if isinstance(event, Asked) and event.key == "bad":
            raise error
        return events.to_json(event)

    def ask(key: str) -> None:
        try:
            outcomes[key] = campaign.ask(key)
        except (TypeError, StoreError) as refusal:
            outcomes[key] = refusal

    monkeypatch.setattr(rows, "to_json", to_json)
    with Campaign(**TERMS, store=store) as campaign:
        crowd = [threading.Thread(target=ask, args=(key,)) for key in [*"abcd", "bad", *"efgh"]]
        with blocked(store):
            first = threading.Thread(target=ask, args=("first",))
            first.start()
            time.sleep(0.05)
            for thread in crowd:
                thread.start()
            handed_in(campaign, len(crowd))
        for thread in [first, *crowd]:
            thread.join()
    assert isinstance(outcomes.pop("bad"), (TypeError, StoreError))
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
    state = weakref.ref(campaigns[0]._ledger._book.state)  # type: ignore[attr-defined]
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


def test_campaigns_take_turns_where_many_wait() -> None:
    """Those of one that asks for thousands at a time do not hold up another's."""
    busy, other = (Book(name, None, None, None) for name in ("busy", "other"))
    waiting = [*(Job(busy, [c.Ask()] * LARGEST) for _ in range(5)), *(Job(other, [c.Ask()]) for _ in range(5))]
    rounds: list[list[str]] = []
    while waiting:
        now, waiting = fair(waiting)
        rounds.append([job.book.name for job in now])
    assert rounds == [["busy"], ["other", "busy"], ["other", "busy"], ["other", "busy"], ["other", "busy"], ["other"]]


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


@pytest.mark.parametrize(("answered", "arriving", "taken"), [(4, [1, 1, 1], 4), (4, [1, 0, 9], 2), (1, [9], 1)])
def test_who_was_answered_is_given_a_moment_to_come_back(
    monkeypatch: pytest.MonkeyPatch, answered: int, arriving: list[int], taken: int
) -> None:
    """As long as one comes after the other; who is alone is not made to wait."""
    batches: list[int] = []
    moments = iter(arriving)
    book = Book("default", None, None, None)
    mine = Writer(lambda jobs: batches.append(len(jobs)), lambda book: True, "a test")

    def come(seconds: float) -> None:
        assert seconds == MOMENT
        mine._waiting.extend(Job(book, ()) for _ in range(next(moments, 0)))

    class Clock:
        sleep, monotonic = staticmethod(come), staticmethod(time.monotonic)

    monkeypatch.setattr(writer, "time", Clock)
    mine._answered = answered
    mine.call(book, ())
    assert batches[0] == taken
    mine.close(book)
