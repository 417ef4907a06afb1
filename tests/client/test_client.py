"""Clients against the real server: the verbs of a campaign, lost connections, an outage that a spool bridges."""

import asyncio
import inspect
import json
import math
import resource
import socket
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from outlay import AsyncClient, Campaign, Client
from outlay import client as clients
from outlay.campaign import verify
from outlay.campaign.ledger.events import Amount
from outlay.campaign.pull import AsyncClientPull, ClientPull
from outlay.campaign.records import Receipt
from outlay.client import Spool
from outlay.errors import (
    BadFile,
    BadParameter,
    CampaignConflict,
    NoCampaign,
    NotNow,
    PullOver,
    ServiceError,
    Unreachable,
)
from outlay.service.auth import KeyStore
from tests.client.conftest import asked
from tests.service.conftest import POLICY, running

NOBODY = "http://127.0.0.1:1"  # nobody listens there


@pytest.fixture
def address(store: str) -> Iterator[str]:
    with running(store) as address:
        yield address


def test_the_verbs_of_a_campaign(address: str, store: str) -> None:
    with Client(address, "spring") as client, Campaign.open(store, "spring") as campaign:
        first = asked(client, key="job", tags=["a"], metadata={"n": 1})
        assert first == campaign.ask(key="job")
        receipt = client.tell(first, Decimal("0.125"), True)
        assert (receipt.cost, receipt.reward, receipt.duplicate) == (0.125, 1.0, False)
        assert client.tell(first, 0.125, 1).duplicate
        with pytest.raises(CampaignConflict):
            client.tell(first, 0.5, 1)
        with pytest.raises(PullOver) as over:
            client.ask(key="job")
        assert (over.value.pull.id, over.value.status) == (first.id, "told")
        with pytest.raises(ServiceError, match="no_pull"):
            client.tell(999, 1, 1)
        many = client.ask_many(3)
        assert [each.pull for each in client.tell_many((pull, 0.1, 0) for pull in many)] == [pull.id for pull in many]
        client.amend(many[0], cost=0.2)
        client.set_budget(12)
        client.set_requests(100)
        log: list[tuple[str, Amount, float]] = [("small", Decimal("0.5"), True), ("large", 1.0, 0.25)]
        assert [client.warm_start(log, "log"), client.warm_start(log, "log")] == [2, 0]
        client.add_arm("new", max_cost=Decimal("1.5"))
        client.disable_arm("new")
        client.pause()
        with pytest.raises(NotNow):
            client.ask()
        with pytest.raises(NotNow):
            client.ask(wait=True, timeout=0.1)
        client.resume()
        with asked(client) as pull:
            pull.extend(600)
            pull.tell(cost=0.5, reward=1)
        with pytest.raises(KeyError), asked(client) as lost:
            raise KeyError
        asked(client).cancel("not needed")
        assert client.status() == campaign.status()
        assert client.pulls() == campaign.pulls().listed()
        assert {pull.id for pull in client.pulls(status="expired")} == {lost.id}
        told = [(entry.seq, entry.kind, entry.pull, entry.cost) for entry in client.history()]
        assert told == [(entry.seq, entry.kind, entry.pull, entry.cost) for entry in campaign.history()]
        client.close()
        assert client.ask() is None
        assert list(client) == []


def test_a_campaign_is_made_and_spent_from_afar(address: str, store: str) -> None:
    with Client(address, "a/b") as client:
        with pytest.raises(NoCampaign, match="a/b"):
            client.ask()
        assert client.create({"x": 1, "y": Decimal(2)}, 6, POLICY, mode="hard").left == 6.0
        for pull in client:
            with pull:
                pull.tell(cost=1, reward=1)
        assert client.status().spent == 6.0
    assert verify(store, "a/b").ok


def test_the_same_for_asyncio(address: str, store: str) -> None:
    async def work(client: AsyncClient) -> None:
        async for pull in client:
            async with pull:
                await pull.tell(cost=0.7, reward=1)

    async def spend() -> float:
        async with AsyncClient(address, "spring") as client:
            await asyncio.gather(*(work(client) for _ in range(5)))
            return (await client.status()).spent

    spent = asyncio.run(spend())
    assert 10 < spent < 14
    assert verify(store, "spring").ok


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_not_sent(reward: float) -> None:
    """JSON has no such number, and null in its place leaves a reward as it is."""
    with Client(NOBODY, "spring", retry_for=0) as client:
        calls: dict[str, Callable[[], object]] = {
            "amend": lambda: client.amend(2, cost=1, reward=reward),
            "tell": lambda: client.tell(2, cost=1, reward=reward),
            "tell_many": lambda: client.tell_many([(2, 1, reward)]),
            "warm_start": lambda: client.warm_start([("a", 1, reward)]),
        }
        for owner, call in calls.items():
            with pytest.raises(BadParameter, match=f"^reward of {owner} must be a finite number; got {reward}$"):
                call()


def test_keys_and_bad_addresses(store: str, key_store: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    token, _ = key_store.new("reader", ["read"])
    with running(store) as address:
        with Client(address, "spring") as client, pytest.raises(ServiceError, match="no_key"):
            client.status()
        with Client(address, "spring", key=token) as client:
            assert client.status().name == "spring"
            with pytest.raises(ServiceError, match="forbidden: this needs a key with the scope 'ask'"):
                client.ask()
        monkeypatch.setenv("OUTLAY_KEY", token)
        with Client(address, "spring") as client:
            assert client.status().name == "spring"
    with pytest.raises(BadParameter, match="http://HOST"):
        Client("localhost:8700")


def test_a_spool_bridges_an_outage(store: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(clients, "OUTAGE", 0.05)
    monkeypatch.setattr(clients, "FIRST", 0.001)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = tmp_path / "tells"
    with Client(f"http://127.0.0.1:{port}", "spring", spool=path) as client:
        with running(store, port):
            pulls = client.ask_many(3)
        for pull in pulls[:2]:
            receipt = client.tell(pull, cost=Decimal("0.3"), reward=1)
            assert (receipt.arm, receipt.head) == (pull.arm, "")
        with pytest.raises(Unreachable):
            client.ask()
        assert len(path.read_bytes().splitlines()) == 2
        with pytest.raises(BadFile, match="another process"):
            Spool(path)
    with path.open("ab") as file:  # a crash in the middle of a line
        file.write(b'{"pull": 3')
    with running(store, port), Client(f"http://127.0.0.1:{port}", "spring", spool=path) as client:
        client.cancel(pulls[2])
        conflicting = {"campaign": "spring", "pull": pulls[0].id, "cost": "0.5", "reward": 1.0}
        assert client._spool is not None
        for tell in (conflicting, {**conflicting, "campaign": "gone"}, {**conflicting, "cost": "NaN"}):
            client._spool.add(tell)
        assert client.deliver() == 5
        assert client.deliver() == 0
        assert client.status().exact.spent == Decimal("0.6")
    assert path.read_bytes() == b""
    refused = [json.loads(line) for line in path.with_name("tells.refused").read_text().splitlines()]
    assert sorted(each["problem"]["code"] for each in refused) == ["bad_request", "conflict", "no_campaign"]


def test_a_spool_keeps_what_can_be_delivered_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "tells"
    with Client(NOBODY, "spring", retry_for=0, spool=path) as client:
        no_money: list[Any] = [np.nan, np.inf, Decimal("NaN"), Decimal("sNaN"), 10**400, "abc", "1", None, True, [1]]
        for cost in no_money:
            with pytest.raises(BadParameter, match=r"^cost of tell must be a finite number from -9e"):
                client.tell(2, cost, 1)
        no_rewards: list[Any] = ["x", np.nan, 1e101]
        for reward in no_rewards:
            with pytest.raises(BadParameter, match=r"^reward of tell must be "):
                client.tell(2, 1, reward)
        assert path.read_bytes() == b""
        amounts: list[Any] = [np.int64(3), np.float32(0.5), Decimal("0.10"), 0.1, 7, -1]
        assert [client.tell(2, cost, cost).cost for cost in amounts] == [3.0, 0.5, 0.1, 0.1, 7.0, -1.0]
        kept = [json.loads(line)["cost"] for line in path.read_text().splitlines()]
        assert kept == ["3", "0.5", "0.10", "0.1", "7", "-1"]


def test_who_opened_the_campaign_knows_that_it_has_no_refunds(address: str, tmp_path: Path) -> None:
    path = tmp_path / "tells"
    with Client(address, "new", spool=path) as client:
        client.create(["a"], 10, negative_costs=False)
        pull = asked(client)
        client._down_until = math.inf
        with pytest.raises(BadParameter, match=r"^cost of tell must be ≥ 0 in this campaign; got -1$"):
            client.tell(pull, -1, 1)
    with Client(address, "new", spool=path) as client:  # it does not know
        client._down_until = math.inf
        client.tell(pull, -1, 1)
        assert client.deliver() == 1
    assert "≥ 0" in json.loads(path.with_name("tells.refused").read_text())["problem"]["detail"]


def test_a_full_disk_loses_no_tell_that_was_acknowledged(tmp_path: Path) -> None:
    path, (soft, hard) = tmp_path / "tells", resource.getrlimit(resource.RLIMIT_FSIZE)
    with Client(NOBODY, "spring", retry_for=0, spool=path) as client:
        client.tell(1, 1, 1)
        before = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))  # in the middle of a line
        try:
            with pytest.raises(BadFile, match=r"^cannot write .*tells: File too large$"):
                client.tell(2, 1, 1)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == before
        client.tell(3, 1, 1)
    with Client(NOBODY, "spring", spool=path) as client:
        assert client._spool is not None
        assert [tell["pull"] for tell in client._spool.waiting] == [1, 3]


def test_rows_that_are_no_outcomes() -> None:
    with Client(NOBODY, "spring", retry_for=0) as client:
        calls: dict[str, Callable[[Any], object]] = {
            "outcomes of tell_many": client.tell_many,
            "samples of warm_start": client.warm_start,
        }
        for which, call in calls.items():
            for rows in ([(1, 2)], 3, [3]):
                with pytest.raises(BadParameter, match=f"^{which} must be rows of .arm or pull, cost, reward"):
                    call(rows)


def test_signatures_are_those_of_the_caller() -> None:
    for verb in (Client.tell, AsyncClient.tell):
        signature = inspect.signature(verb)
        assert [*signature.parameters] == ["self", "pull", "cost", "reward"]
        assert signature.return_annotation is Receipt
    assert inspect.signature(Client.ask).return_annotation == ClientPull | None
    assert inspect.signature(AsyncClient.ask).return_annotation == AsyncClientPull | None


def test_pauses_are_random_and_as_long_as_the_service_says(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    pauses: list[float] = []

    def lost(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.url.path)
        if len(sent) < 3:
            raise httpx2.ReadError("gone", request=request)
        return httpx2.Response(503, json={"code": "busy"}, headers={"retry-after": "7"})

    monkeypatch.setattr(time, "sleep", pauses.append)
    client = Client("http://nowhere", "spring", retry_for=10)
    client._http = httpx2.Client(transport=httpx2.MockTransport(lost), base_url="http://nowhere")
    monkeypatch.setattr(time, "monotonic", lambda: sum(pauses))
    with pytest.raises(Unreachable, match="busy"):
        client.tell(4, cost=1, reward=1)
    assert len(sent) == len(pauses) + 1 == 4
    assert max(pauses[:2]) < 0.4
    assert pauses[2] >= 7
    sent.clear()
    client._retry_for = 0
    monkeypatch.setattr(clients, "FIRST", 100.0)
    with pytest.raises(Unreachable, match="http://nowhere cannot be reached: gone"):
        client.amend(4, cost=1)
    client.disconnect()
