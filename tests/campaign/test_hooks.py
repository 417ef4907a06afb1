"""Hooks on events, and what is written to the log: after the commit, in order, and harming nobody."""

import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign
from outlay.campaign import Entry
from outlay.campaign import waiting as hooks
from outlay.errors import CampaignConflict, NotNow
from tests.campaign.busy import asked


class Heard:
    """A hook that keeps what it hears, and can be waited for."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._came = threading.Condition()

    def __call__(self, entry: Entry) -> None:
        with self._came:
            self.entries.append(entry)
            self._came.notify_all()

    def wait_for(self, count: int) -> None:
        with self._came:
            assert self._came.wait_for(lambda: len(self.entries) >= count, timeout=60)


@pytest.fixture(params=[False, True], ids=["memory", "sqlite"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    store = f"sqlite:///{tmp_path}/a.db" if request.param else None
    with Campaign({"a": 1, "b": 1}, 3, "RoundRobin", store) as campaign:
        yield campaign


def test_every_event_comes_once_in_order_and_after_its_commit(campaign: Campaign) -> None:
    every, some = Heard(), Heard()
    before = asked(campaign)
    campaign.on("*", every)
    campaign.on("told", lambda entry: some(entry) if campaign.status().spent == entry.cost else None)
    campaign.add_arm("c")
    before.tell(0.5, 1)
    campaign.ask_many(4)
    every.wait_for(6)
    some.wait_for(1)
    assert every.entries == list(campaign.history(2))
    assert [(entry.pull, entry.cost) for entry in some.entries] == [(2, 0.5)]


def test_a_hook_hears_what_comes_after_it(campaign: Campaign) -> None:
    first, second = Heard(), Heard()
    end = campaign.on("asked", first)
    campaign.ask()
    campaign.on("asked", second)
    campaign.ask()
    first.wait_for(2)
    second.wait_for(1)
    end()
    end()
    campaign.ask()
    second.wait_for(2)
    assert [entry.seq for entry in first.entries] == [2, 3]
    assert [entry.seq for entry in second.entries] == [3, 4]


def test_a_hook_may_raise_and_may_use_the_campaign(campaign: Campaign, caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()

    def broken(entry: Entry) -> None:
        raise RuntimeError("a bug of the user's")

    def pausing(entry: Entry) -> None:
        campaign.pause()
        campaign.resume()

    campaign.on("asked", broken)
    campaign.on("asked", pausing)
    campaign.on("resumed", heard)
    with caplog.at_level(logging.ERROR, "outlay.campaign"):
        campaign.ask()
        heard.wait_for(1)
    (record,) = caplog.records
    assert "raised" in record.message
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "a bug of the user's"
    assert campaign.ask() is not None


def test_what_others_write_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here: through another spelling of the address, which shares no news in this process."""
    monkeypatch.setattr(hooks, "LOOK", 0.01)
    (tmp_path / "x").mkdir()
    with Campaign(["a"], 9, store=f"sqlite:///{tmp_path}/a.db") as one:
        heard = Heard()
        one.on("asked", heard)
        with Campaign.open(f"sqlite:///{tmp_path}/x/../a.db") as other:
            other.ask()
        heard.wait_for(1)


def test_disconnecting_waits_for_the_hooks_and_a_dropped_campaign_ends_them(tmp_path: Path) -> None:
    heard = Heard()
    with Campaign({"a": 0.01}, 9, store=f"sqlite:///{tmp_path}/a.db") as campaign:
        campaign.on("asked", heard)
        campaign.ask_many(100)
    assert len(heard.entries) == 100
    dropped = Campaign(["a"], 9, name="dropped")
    dropped.on("asked", heard)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "outlay hooks dropped"]
    del dropped
    thread.join(60)
    assert not thread.is_alive()


def test_what_somebody_should_know_is_logged(campaign: Campaign, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "outlay.campaign"):
        one, two, *_ = campaign.ask_many(4)
        one.tell(2.5, 1)
        two.charge()
        with pytest.raises(CampaignConflict):
            one.tell(1, 1)
        campaign.set_budget(9)
        campaign.pause()
        with pytest.raises(NotNow):
            campaign.ask()
        campaign.close()
    said = [(record.levelname, record.message.removeprefix("campaign 'default' ")) for record in caplog.records]
    wanted = (
        "pull 2 cost more, pull 3 expired, exhausted, refused: pull 2 was told with cost 2.5, reopened, refused, closed"
    )
    levels = ("WARNING", "WARNING", "INFO", "WARNING", "INFO", "DEBUG", "INFO")
    assert [level for level, _ in said] == list(levels)
    assert all(words.startswith(start) for (_, words), start in zip(said, wanted.split(", "), strict=True))
    assert {getattr(record, "campaign", None) for record in caplog.records} == {"default"}
