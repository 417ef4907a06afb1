"""Memory, SQLite and PostgreSQL are one: the same commands at the same times give the same replies, events and rows."""

import threading
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from outlay import Campaign, policies
from outlay.campaign.ledger import events as e
from outlay.campaign.records import Pull, Status, status_of
from outlay.campaign.stores import queries, transaction
from outlay.campaign.stores.base import Clock
from outlay.campaign.stores.engines import reading
from outlay.campaign.stores.memory import MemoryLedger
from outlay.campaign.stores.transaction import SqlLedger
from outlay.errors import NotNow
from outlay.policies import baselines as b
from tests.campaign.busy import asked
from tests.campaign.stories import ALL, Caller, Operation, openings, operations, shown

NAMES = count()
STORES = ["sqlite", "postgresql"]


class Hand(Clock):
    """A clock that somebody sets, whatever the server's says."""

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller

    def now(self, wall: int | None = None, at_least: int = 0) -> int:
        return max(self._caller.now, at_least)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots every few events, and settled decisions soon forgotten: what a long campaign goes through."""
    monkeypatch.setattr(transaction, "SNAPSHOT_INTERVAL", 5)
    monkeypatch.setattr(transaction, "BYTES_PER_EVENT", 10**9)
    monkeypatch.setattr(transaction, "CACHED_PULLS", 2)
    monkeypatch.setattr(transaction, "CHUNK", 7)


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize("examples", [7, pytest.param(210, marks=pytest.mark.soak)])
def test_a_story_is_the_same_in_a_database(store: str, examples: int) -> None:
    hands = st.lists(st.sampled_from("abababA"), min_size=80)
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    often = settings(max_examples=examples, suppress_health_check=slow)
    often(given(st.just(store), openings(ALL), operations(), hands)(same_in_a_database))()


def same_in_a_database(store: str, opening: e.Open, story: list[Operation], hands: list[str]) -> None:
    """Two processes take turns on the database, a and b; at A, the first has died and opens the campaign anew."""
    name, caller = f"story {next(NAMES)}", Caller()
    opening = opening._replace(name=name)
    memory = MemoryLedger(opening, clock=Hand(caller))
    ledgers = {hand: SqlLedger(store, name, opening, clock=Hand(caller)) for hand in "ab"}
    try:
        for operation, hand in zip(story, hands, strict=False):
            if hand == "A":
                ledgers["a"].close()
                ledgers["a"] = SqlLedger(store, name, None, clock=Hand(caller))
            command = caller.command(operation)
            (reply,) = memory.transact([command])
            caller.hears(reply)
            assert list(map(shown, ledgers[hand.lower()].transact([command]))) == [shown(reply)]
        for ledger in ledgers.values():
            assert list(ledger.records()) == list(memory.records())
            assert status_of(ledger.state()) == status_of(memory.state())
    finally:
        for ledger in ledgers.values():
            ledger.close()
    check_rows(store, memory)


def check_rows(store: str, memory: MemoryLedger) -> None:
    """Every row says what the memory says."""
    state = memory.state()
    with reading(store) as connection:
        campaigns = connection.exec_driver_sql("SELECT id, name, seq, spent, reserved, reward, ended FROM campaign")
        (row,) = [row for row in campaigns if row.name == state.name]
        assert tuple(row[2:]) == (state.seq, state.spent, state.reserved, state.reward, state.ended)
        assert list(queries.arms(connection, row.id)) == state.arms
        assert {each.number: each for each in queries.pulls(connection, row.id)} == state.pulls


def spend(campaign: Campaign, reopened: Callable[[Campaign], Campaign]) -> tuple[list[Any], list[Any], Status]:
    """Use up a campaign, with a few pulls under way at any time, and open it anew half-way."""
    replies: list[Any] = []
    under_way: list[Pull] = []
    for n in count():
        try:
            pull = campaign.ask(key=f"ask {n}")
        except NotNow as error:
            replies.append(error.reason)
        else:
            if pull is None:
                break
            under_way.append(pull)
            replies.append(replace(pull, expires=None))
        if len(under_way) > 3 or isinstance(replies[-1], str):
            told = under_way.pop(len(replies) % len(under_way))
            cost = 1.0 + 0.1 * (told.id % 7)
            receipt = campaign.tell(told, cost=cost, reward=cost * (1 + ord(told.arm) % 3) / 3)
            replies.append(replace(receipt, head=""))  # which has the times in it
        if n == 20:
            campaign = reopened(campaign)
    with campaign:
        history = [replace(entry, at=None, more=untimed(entry.more)) for entry in campaign.history()]
        return replies, history, campaign.status()


def untimed(more: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in more.items() if key != "expires"}


@pytest.mark.parametrize("store", STORES, indirect=True)
@pytest.mark.parametrize(
    "policy", [b.BTS(), b.GaussianThompson(), b.EpsilonFirst(), policies.CatoniRate()], ids=lambda p: type(p).__name__
)
def test_choices_by_chance_are_the_same_in_every_store(store: str, policy: Any) -> None:
    def opened(where: str | None) -> Campaign:
        return Campaign(["a", "b", "c"], 45.0, policy, where, seed=11, propensity_draws=5)

    def reopened(campaign: Campaign) -> Campaign:
        campaign.disconnect()
        return Campaign.open(store)

    in_memory = spend(opened(None), lambda campaign: campaign)
    assert spend(opened(store), reopened) == in_memory
    assert len(in_memory[0]) > 45


@pytest.mark.parametrize("store", ["memory", *STORES], indirect=True)
def test_one_key_is_one_decision_and_who_comes_later_has_the_higher_number(store: str | None) -> None:
    """Eight threads: each key is asked for by all of them, and what was acknowledged before an ask is below it."""
    acknowledged, numbers, wrong = [0], list[list[int]](), list[tuple[int, int]]()
    start = threading.Barrier(8)

    def work(campaign: Campaign) -> None:
        start.wait()
        mine = []
        for n in range(15):
            before = max(acknowledged)
            alone = asked(campaign)
            if not alone.id > before:
                wrong.append((before, alone.id))
            acknowledged.append(alone.id)
            shared = asked(campaign, key=f"everybody's {n}")
            mine.append(shared.id)
        numbers.append(mine)

    with Campaign(["a", "b"], 1000.0, "RoundRobin", store, first_pulls=None) as campaign:
        threads = [threading.Thread(target=work, args=(campaign,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert len(numbers) == 8
        assert len({tuple(mine) for mine in numbers}) == 1
        assert campaign.status().in_flight == 8 * 15 + 15
        assert [entry.seq for entry in campaign.history()] == list(range(1, 8 * 15 + 15 + 2))


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_times_are_those_of_the_store(store: str) -> None:
    """What is due expires in every store, and the ledger's times never fall."""
    with Campaign({"a": 2.5}, 100.0, "RoundRobin", store, ttl=1e-6) as campaign:
        for _ in range(5):
            campaign.ask()
        kinds = [entry.kind for entry in campaign.history()]
        assert kinds[:6] == ["opened", "asked", "expired", "asked", "expired", "asked"]
        times = [entry.at for entry in campaign.history()]
        assert times == sorted(times)
        assert times[-1] - times[0] < timedelta(minutes=10)
        assert campaign.status().spent == 4 * 2.5
