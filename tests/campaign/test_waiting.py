"""`ask(wait=True)`: woken when something is settled, one at a time, in the order of coming, and with an end."""

import asyncio
import threading
from pathlib import Path

import pytest

from outlay import Campaign
from outlay.campaign import OpenPull, waiting
from outlay.errors import NotNow
from tests.campaign.busy import asked


@pytest.fixture
def never_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only who is woken asks again."""
    monkeypatch.setattr(waiting, "SHORTEST", 1e6)
    monkeypatch.setattr(waiting, "LONGEST", 1e6)
    monkeypatch.setattr("outlay.campaign.ledger.allocate.MAX_RETRY_SECONDS", 1e6)


def in_queue(campaign: Campaign, wanted: int) -> None:
    """Wait until so many stand in line."""
    done = threading.Event()
    while len(campaign._queue) < wanted:
        done.wait(0.001)


def waiter(campaign: Campaign) -> tuple[threading.Thread, list[OpenPull | None]]:
    """A thread that waits for a pull, and what it got."""
    got: list[OpenPull | None] = []
    thread = threading.Thread(target=lambda: got.append(campaign.ask(wait=True)))
    thread.start()
    in_queue(campaign, 1)
    return thread, got


def one_at_a_time(store: str | None = None) -> Campaign:
    return Campaign({"a": 1}, 10**6, store=store, max_in_flight=1, ttl=None)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("settle", ["tell", "cancel", "charge"])
@pytest.mark.usefixtures("never_polls")
def test_whoever_waits_is_woken(tmp_path: Path, kept: bool, settle: str) -> None:
    with one_at_a_time(f"sqlite:///{tmp_path}/a.db" if kept else None) as campaign:
        first = asked(campaign)
        thread, got = waiter(campaign)
        first.tell(1, 1) if settle == "tell" else first.cancel() if settle == "cancel" else first.charge()
        thread.join()
        assert got[0] is not None
        assert got[0].id > first.id
        assert len(campaign._queue) == len(campaign._notifier._waiting) == 0


@pytest.mark.usefixtures("never_polls")
def test_fifty_who_wait_are_served_in_turn() -> None:
    campaign, order = one_at_a_time(), []
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
    campaign = Campaign({"a": 2}, 3, mode="hard")
    if change == "set_budget":
        campaign.ask()
    elif change == "enable_arm":
        campaign.disable_arm("a")
    else:
        campaign.pause()
    thread, got = waiter(campaign)
    arguments = {"set_budget": (9,), "enable_arm": ("a",)}.get(change, ())
    getattr(campaign, change)(*arguments)
    thread.join()
    assert (got[0] is None) == (change == "close")


@pytest.mark.parametrize("spelling", ["", "x/../"])
def test_those_who_opened_the_same_store_wake_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    """Also as another process would, here through another spelling of the address, which shares no news."""
    (tmp_path / "x").mkdir()
    with one_at_a_time(f"sqlite:///{tmp_path}/a.db") as one, Campaign.open(f"sqlite:///{tmp_path}/{spelling}a.db") as b:
        first = asked(one)
        if not spelling:
            monkeypatch.setattr(waiting, "SHORTEST", 1e6)
            monkeypatch.setattr("outlay.campaign.ledger.allocate.MAX_RETRY_SECONDS", 1e6)
        thread, got = waiter(b)
        one.tell(first, 1, 1)
        thread.join()
    assert got[0] is not None


def test_a_pull_that_expires_makes_room() -> None:
    campaign = Campaign({"a": 1}, 9, max_in_flight=1, ttl=0.05)
    asked(campaign)
    asked(campaign, wait=True)
    assert [pull.status for pull in campaign.pulls()] == ["expired", "open"]


@pytest.mark.parametrize("behind", [False, True])
def test_patience_ends(behind: bool) -> None:
    campaign = one_at_a_time()
    campaign.ask()
    if behind:
        thread, got = waiter(campaign)
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
        assert len(campaign._queue) == len(campaign._notifier._waiting) == campaign.status().in_flight == 0

    asyncio.run(main())


def test_a_key_whose_pull_is_there_waits_for_nobody() -> None:
    campaign = one_at_a_time()
    mine = asked(campaign, key="mine")
    thread, _ = waiter(campaign)
    assert campaign.ask(key="mine", wait=True, timeout=5) == mine  # the other waits for just this pull
    mine.tell(1, 1)
    thread.join()
