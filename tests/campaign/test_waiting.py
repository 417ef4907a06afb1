"""`ask(wait=True)`: woken when something is settled, one at a time, in the order of coming, and with an end."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign
from outlay.campaign import waiting
from outlay.campaign.ledger.events import Ask
from outlay.errors import NotNow
from tests.campaign.busy import asked


@pytest.fixture
def never_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only who is woken asks again."""
    monkeypatch.setattr(waiting, "SHORTEST", 1e6)
    monkeypatch.setattr(waiting, "LONGEST", 1e6)
    monkeypatch.setattr("outlay.campaign.ledger.allocate.A_WHILE", 1e6)


def counted(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How each ask ended, from now on."""
    store: Any = campaign._ledger
    asked: list[str] = []
    transact: Callable[..., list[Any]] = store.transact

    def counting(commands: Any, timeout: float | None = None) -> list[Any]:
        replies = transact(commands, timeout)
        asked.extend(type(r).__name__ for c, r in zip(commands, replies, strict=True) if isinstance(c, Ask))
        return replies

    monkeypatch.setattr(store, "transact", counting)
    return asked


def in_queue(campaign: Campaign, wanted: int) -> None:
    """Wait until so many stand in line."""
    done = threading.Event()
    while len(campaign._queue) < wanted:
        done.wait(0.001)


def one_at_a_time(store: str | None = None) -> Campaign:
    return Campaign({"a": 1}, 10**6, store=store, max_in_flight=1, ttl=None)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("settle", ["tell", "void", "charge"])
@pytest.mark.usefixtures("never_polls")
def test_whoever_waits_is_woken(tmp_path: Path, kept: bool, settle: str) -> None:
    with one_at_a_time(f"sqlite:///{tmp_path}/a.db" if kept else None) as campaign:
        first, got = campaign.ask(), []
        assert first is not None
        thread = threading.Thread(target=lambda: got.append(campaign.ask(wait=True)))
        thread.start()
        in_queue(campaign, 1)
        first.tell(1, 1) if settle == "tell" else first.cancel() if settle == "void" else first.charge()
        thread.join()
        assert got[0] is not None
        assert got[0].id > first.id
        assert len(campaign._queue) == len(campaign._notifier.settled) == 0


@pytest.mark.usefixtures("never_polls")
def test_fifty_who_wait_ask_about_once_each_and_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = one_at_a_time()
    asked, order = counted(campaign, monkeypatch), []
    first = asked(campaign)

    def work(number: int) -> None:
        pull = asked(campaign, wait=True)
        order.append(number)
        pull.tell(1, 1)

    threads = []
    for number in range(50):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
        in_queue(campaign, number + 1)
    first.tell(1, 1)
    for thread in threads:
        thread.join()
    assert order == list(range(50))
    assert asked.count("Pull") == 51
    assert asked.count("NotNow") <= 2 + 50  # not 50 · 49 / 2: the next in turn may ask before the one before has told


@pytest.mark.usefixtures("never_polls")
def test_threads_and_tasks_stand_in_one_queue() -> None:
    campaign, order = one_at_a_time(), []
    first = asked(campaign)

    def thread() -> None:
        pull = asked(campaign, wait=True)
        order.append("thread")
        pull.tell(1, 1)

    async def task() -> None:
        pull = await campaign.aask(wait=True)
        assert pull is not None
        order.append("task")
        await pull.atell(1, 1)

    async def main() -> None:
        threads = []
        tasks = []
        for number in range(6):
            if number % 2:
                threads.append(threading.Thread(target=thread))
                threads[-1].start()
            else:
                tasks.append(asyncio.create_task(task()))
            while len(campaign._queue) <= number:
                await asyncio.sleep(0.001)
        await first.atell(1, 1)
        await asyncio.gather(*tasks)
        for each in threads:
            each.join()

    asyncio.run(main())
    assert order == ["task", "thread"] * 3


@pytest.mark.parametrize("change", ["set_budget", "resume", "enable_arm", "close"])
@pytest.mark.usefixtures("never_polls")
def test_other_changes_wake_as_well(change: str) -> None:
    campaign, got = Campaign({"a": 2}, 3, mode="hard"), []
    if change == "set_budget":
        campaign.ask()
    elif change == "enable_arm":
        campaign.disable_arm("a")
    else:
        campaign.pause()
    thread = threading.Thread(target=lambda: got.append(campaign.ask(wait=True)))
    thread.start()
    in_queue(campaign, 1)
    arguments = {"set_budget": (9,), "enable_arm": ("a",)}.get(change, ())
    getattr(campaign, change)(*arguments)
    thread.join()
    assert (got[0] is None) == (change == "close")


def test_two_that_opened_the_same_store_wake_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, got = f"sqlite:///{tmp_path}/a.db", []
    with one_at_a_time(store) as one, Campaign.open(store) as other:
        first = asked(one)
        monkeypatch.setattr(waiting, "SHORTEST", 1e6)
        monkeypatch.setattr("outlay.campaign.ledger.allocate.A_WHILE", 1e6)
        thread = threading.Thread(target=lambda: got.append(other.ask(wait=True)))
        thread.start()
        in_queue(other, 1)
        one.tell(first, 1, 1)
        thread.join()
    assert got[0] is not None


def test_what_other_processes_settle_is_seen(tmp_path: Path) -> None:
    """Here: a campaign opened at another spelling of the address, which shares no news."""
    (tmp_path / "x").mkdir()
    with one_at_a_time(f"sqlite:///{tmp_path}/a.db") as one, Campaign.open(f"sqlite:///{tmp_path}/x/../a.db") as other:
        assert one._notifier is not other._notifier
        first, got = one.ask(), []
        assert first is not None
        thread = threading.Thread(target=lambda: got.append(other.ask(wait=True)))
        thread.start()
        in_queue(other, 1)
        one.tell(first, 1, 1)
        thread.join()
    assert got[0] is not None


def test_a_pull_that_expires_makes_room() -> None:
    campaign = Campaign({"a": 1}, 9, max_in_flight=1, ttl=0.05)
    first, second = campaign.ask(), campaign.ask(wait=True)
    assert first is not None
    assert second is not None
    assert [pull.status for pull in campaign.pulls()] == ["expired", "open"]


@pytest.mark.parametrize("behind", [False, True])
def test_patience_ends(behind: bool) -> None:
    campaign, got = one_at_a_time(), []
    campaign.ask()
    thread = threading.Thread(target=lambda: got.append(campaign.ask(wait=True)))
    if behind:
        thread.start()
        in_queue(campaign, 1)
    with pytest.raises(NotNow, match="others wait for a pull" if behind else "max_in_flight is 1"):
        campaign.ask(wait=True, timeout=0.02)
    with pytest.raises(NotNow):
        asyncio.run(campaign.aask(wait=True, timeout=0.02))
    assert len(campaign._queue) == behind
    if behind:
        campaign.close()
        thread.join()
        assert got == [None]
    assert campaign.status().in_flight == 1


@pytest.mark.parametrize("first", [True, False])
def test_a_cancelled_waiter_makes_room_for_the_next(first: bool) -> None:
    async def main() -> None:
        campaign = one_at_a_time()
        held = asked(campaign)
        tasks = []
        for number in range(3):
            tasks.append(asyncio.create_task(campaign.aask(wait=True)))
            while len(campaign._queue) <= number:
                await asyncio.sleep(0.001)
        gone = tasks.pop(0 if first else 1)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert len(campaign._queue) == 2
        await held.atell(1, 1)
        for task in tasks:
            pull = await task
            assert pull is not None
            await pull.atell(1, 1)
        assert len(campaign._queue) == len(campaign._notifier.settled) == campaign.status().in_flight == 0

    asyncio.run(main())


def test_a_key_whose_pull_is_there_waits_for_nobody() -> None:
    campaign = one_at_a_time()
    mine = asked(campaign, key="mine")
    thread = threading.Thread(target=lambda: campaign.ask(wait=True))
    thread.start()
    in_queue(campaign, 1)
    assert campaign.ask(key="mine", wait=True, timeout=5) == mine  # the other waits for just this pull
    mine.tell(1, 1)
    thread.join()
