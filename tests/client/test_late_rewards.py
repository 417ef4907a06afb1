"""Late rewards, ceilings and bounded waits from afar."""

import asyncio
import socket
from decimal import Decimal
from pathlib import Path

import pytest

from outlay import AsyncClient, Campaign, Client
from outlay import client as clients
from outlay.campaign import verify
from outlay.errors import BadParameter, CampaignConflict, NotNow, OverBudget, ServiceError
from outlay.service.auth import KeyStore
from tests.client.conftest import asked
from tests.service.conftest import POLICY, running


def test_a_key_that_may_tell_may_reward(store: str, key_store: KeyStore) -> None:
    """By number or key, from any process; what is charged, cancelled or extended may be named by its key, too."""
    worker = key_store.new("worker", ["ask", "tell"])[0]
    with running(store) as address, Client(address, "spring", key=worker) as client:
        pull = asked(client, key="job/1")
        assert pull.tell(cost=Decimal("0.25")).reward is None
        assert client.tell(pull, 0.25).duplicate
        with pytest.raises(CampaignConflict, match="is paid"):
            client.cancel(pull)
        with Client(address, "spring", key=worker) as other:
            assert other.reward("job/1", 1).reward == 1.0
            assert other.reward(pull.id, 1).duplicate
            with pytest.raises(CampaignConflict, match="amend corrects it"):
                other.reward(pull, 2)
        assert client.tell("job/1", 0.25, 1).duplicate
        asked(client, key="lost/1")
        client.extend("lost/1", "1m")
        client.cancel("lost/1")
        with pytest.raises(ServiceError, match="no_pull"):
            client.charge("nowhere")
    assert [pull.status for pull in Campaign.open(store, "spring").pulls()] == ["told", "cancelled"]
    assert verify(store, "spring").ok


def test_rewards_wait_in_the_spool_behind_their_costs(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "OUTAGE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", "spring", spool=tmp_path / "spool") as client:
        with running(store, port):
            one, other = asked(client, key="one"), asked(client)
        assert client.tell(one, cost=0.5).head == ""
        assert client.reward("one", 1).head == ""
        assert client.tell(other, cost=0.25, reward=0).head == ""
        with running(store, port):
            assert client.deliver() == 3
            status = client.status()
            assert (status.spent, status.reward, status.awaited, status.in_flight) == (0.75, 1.0, 0, 0)


def test_ceilings_and_waits_from_afar(store: str) -> None:
    with running(store) as address, Client(address, "calls") as client:
        terms = {"mode": "hard", "fallback": "free", "reward_within": "1h", "missing_reward": 0, "currency": "USD"}
        status = client.create(["large", "free"], 1, POLICY, **terms)
        assert status.currency == "USD"
        assert asked(client, most={"large": 0.9, "free": 0.95}).reserved in (0.9, 0.95)
        with pytest.raises(NotNow):
            client.ask(most=0.5)
        assert asked(client, most=0.5, wait=0.05).fallback
        assert asked(client, most=0.5, wait=0).fallback
        assert [pull.arm for pull in client.ask_many(3, most=Decimal("0.02"))] != []
        assert [pull.arm for pull in client.ask_many(2, most=Decimal("0.01"), arms=["free"])] == ["free"] * 2
        assert asked(client, most=0.01, arms=["large"]).arm == "large"
        with pytest.raises(BadParameter, match="arms of ask must be"):
            client.ask(arms="large")
    with running(store) as address, Client(address, "strict") as client:
        client.create({"a": 1.0}, 1, POLICY, mode="hard", ttl="15m")
        client.set_budget(0.5)
        with pytest.raises(OverBudget) as refused:
            client.ask(most=0.75)
        assert (refused.value.most, refused.value.left) == (0.75, 0.5)
        pull = asked(client, most=0.25)

        async def reward() -> float | None:
            async with AsyncClient(address, "strict") as caller:
                await caller.tell(pull, 0.25)
                return (await caller.reward(pull, 0.5)).reward

        assert asyncio.run(reward()) == 0.5
