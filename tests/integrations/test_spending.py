"""The same verbs wherever the campaign is: memory, a file, a service; from one event loop and the next."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign, Client
from outlay.campaign.ledger.events import Amount
from outlay.errors import BadParameter, BudgetSpent, NoCampaign, NotNow
from outlay.integrations.spending import Spending, campaign_at, costs_nothing
from outlay.service.auth import KeyStore
from tests.service.conftest import running

ARMS = {"small": 1.0, "large": 4.0}


async def story(spending: Spending) -> list[object]:
    """Every verb once or more."""
    told = await spending.tell(await spending.ask(most=1, arms=["small"]), 0.5, 1)
    later = await spending.ask(key="later", arms=["large"], metadata={"user": 7})
    first = spending.reason(later)
    await spending.tell(later, 2)
    rewarded = await spending.reward("later", 0.25)
    await spending.cancel(await spending.ask(most=1))
    await spending.charge(await spending.ask(most=1, arms=["small"]))
    open_pull = await spending.ask(most=1.5)
    with pytest.raises(NotNow):
        await spending.ask(most=1, wait=0.01)
    await spending.tell(open_pull, 1.5, 0)
    while (words := spending.reason(open_pull)) is None:
        await asyncio.sleep(0.01)
    with pytest.raises(BudgetSpent, match="'bill' has ended"):
        await spending.ask()
    status = await spending.status()
    return [first, told.cost, rewarded.reward, words.endswith("."), status.spent, [arm.pulls for arm in status.arms]]


async def in_another_loop(spending: Spending) -> float:
    spent = (await spending.status()).spent
    if isinstance(spending.campaign, Client):
        await spending.disconnect()
    return spent


EXPECTED = [None, 0.5, 0.25, True, 5.0, [3, 1]]


@pytest.mark.parametrize("place", ["memory", "file", "service"])
def test_the_same_verbs_everywhere(place: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'bill.db'}"

    def spent(address: str | None) -> None:
        spending = Spending(campaign_at(address, "bill", ARMS, 5, mode="hard", policy="Frugal"))

        async def whole() -> list[object]:
            found = await story(spending)
            elsewhere = await asyncio.to_thread(asyncio.run, in_another_loop(spending))
            assert elsewhere == found[-2]
            await spending.disconnect()
            return found

        assert asyncio.run(whole()) == EXPECTED

    if place != "service":
        spent(store if place == "file" else None)
        return
    with running(store) as address:
        spent(address)
        client = Client(address, "bill")
        assert client.reasons().words
        client.disconnect()


def test_a_key_that_may_not_read_gets_no_reasons(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'bill.db'}"
    Campaign(ARMS, 5, store=store, name="bill").disconnect()
    token, _ = KeyStore(store).new("worker", ["ask", "tell"])

    async def asked(client: Client) -> list[str | None]:
        async with Spending(client) as spending:
            pull = await spending.ask()
            found = []
            for _ in range(5):
                found.append(spending.reason(pull))
                await asyncio.sleep(0.05)
            return found

    with running(store) as address:
        assert asyncio.run(asked(Client(address, "bill", key=token))) == [None] * 5


def test_no_connection_is_made_after_the_last_was_let_go(tmp_path: Path) -> None:
    async def used(client: Client) -> None:
        async with Spending(client) as spending:
            spending.reason(await spending.ask())  # which looks for reasons when this task waits
        await asyncio.sleep(0.2)
        assert not spending._clients

    with running(f"sqlite:///{tmp_path}/spend.db") as address:
        client = Client(address, "bill")
        client.create(["a"], 5)
        asyncio.run(used(client))


def test_a_campaign_that_is_there_needs_no_terms(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'bill.db'}"
    with pytest.raises(NoCampaign):
        campaign_at(store, "bill")
    budget: Amount = 5
    with Campaign(ARMS, budget, store=store, name="bill") as mine:
        assert campaign_at(mine) is mine
        other = campaign_at(store, "bill")
        assert isinstance(other, Campaign)
        assert other.arms == ("small", "large")
        other.disconnect()
    with pytest.raises(BadParameter, match="budget of campaign_at must be given for a campaign in memory"):
        campaign_at(None, "bill", ARMS)


def test_which_errors_certainly_cost_nothing() -> None:
    refused = {status for status in range(100, 1000) if costs_nothing(status, b"")}
    assert refused >= {400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 422, 429, 451}
    assert refused.isdisjoint((*range(400), 408, 424, *range(452, 1000)))
    for content in (b"", b"no JSON", b"[]", b"[" * 10**5, b'{"error": "no"}', b'{"error": {"code": ["x"]}}', b"\xff"):
        assert costs_nothing(400, content)
        assert not costs_nothing(500, content)
    for code in ("content_filter", "content_policy_violation", "context_length_exceeded"):
        said = json.dumps({"error": {"code": code}}).encode()
        assert (costs_nothing(400, said), costs_nothing(400, said, [400])) == (False, True)


@pytest.mark.parametrize("store", [5, b"sqlite:///spend.db", ["memory"]])
def test_what_is_no_store(store: Any) -> None:
    with pytest.raises(BadParameter, match="store of campaign_at must be an address, a campaign, a client, or None"):
        campaign_at(store, "bill", ["small"], 10)
