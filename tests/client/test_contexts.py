"""Requests that differ, over HTTP: a client tells of them what the library is told, and the same comes of it."""

import asyncio
import io
import random
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pyarrow.parquet as pq
import pytest

from outlay import AsyncClient, Campaign, Client
from outlay.campaign import verify
from outlay.campaign.stores.base import Clock
from outlay.errors import ServiceError
from outlay.policies import LinearRation
from outlay.service import streams
from tests.campaign.test_contexts import KINDS, outcome, request
from tests.service.conftest import running


def test_what_another_policy_looks_at_is_bounded_over_all_windows(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    yesterday = time.time_ns() // 1000 - 25 * 3_600_000_000
    with monkeypatch.context() as then:
        then.setattr(Clock, "now", lambda _, wall=None, at_least=0: max(at_least, yesterday))
        with Campaign(["a"], 100, store=store, name="daily", window="day") as campaign:
            for pull in islice(campaign, 5):
                pull.tell(1, 1)
    monkeypatch.setattr(streams, "MOST_REQUESTS", 4)
    with running(store) as address, Client(address, "daily") as client:
        for here in islice(client, 1):
            here.tell(1, 1)
        assert client.status().used == 1
        with pytest.raises(ServiceError, match="at most 4 requests are looked at here"):
            client.shadow()


@pytest.fixture
def address(store: str) -> Iterator[str]:
    with running(store) as address:
        yield address


def test_a_client_makes_the_pulls_of_the_library(address: str, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terms: dict[str, Any] = {"arms": ["small", "large"], "budget": 30, "context": KINDS, "requests": 60}
    rng, here = random.Random(0), Campaign(**terms)
    with Client(address, "requests") as client:
        client.create(**terms)
        for _ in range(50):
            asked = request(rng)
            asked |= {"place": np.array(asked["place"])}
            pull, same = client.ask(context=asked), here.ask(context=asked)
            assert pull is not None
            assert same is not None
            assert (pull.arm, pull.propensity) == (same.arm, same.propensity)
            cost, reward = outcome(pull.arm, asked, rng)
            client.tell(pull, cost, reward)
            here.tell(same, cost, reward)
        assert [pull.context for pull in client.pulls()] == [pull.context for pull in here.pulls()]
        assert client.reasons(context=asked) == here.reasons(context=asked)
        assert client.segments("tenant") == here.segments("tenant")
        assert client.shadow("Ration") == here.shadow("Ration")
        assert client.shadow({"name": "LinearRation", "parameters": {"alpha": 0.5}}) == here.shadow(
            LinearRation(8, alpha=0.5)
        )
        assert client.shadow().words == here.shadow().words
        with pytest.raises(ServiceError, match="policy of Campaign must be one of"):
            client.shadow("Thrift")
        assert len(client.ask_many(2, context=asked)) == 2
        with pytest.raises(ServiceError, match=r"context\['tenant'\] of ask must be one of a, b; got 'c'"):
            client.ask(context=asked | {"tenant": "c"})
        with pytest.raises(ServiceError, match="context of ask must be a mapping with length, tenant, words and place"):
            client.ask()
        monkeypatch.setattr(streams, "MOST_REQUESTS", 49)
        with pytest.raises(ServiceError, match="at most 49 requests are looked at here: run `outlay campaign shadow`"):
            client.shadow()
    table = pq.read_table(io.BytesIO(httpx2.get(f"{address}/v1/campaigns/requests/export?format=parquet").content))
    features = [pull.context for pull in here.pulls()]
    assert table["context.length"].to_pylist()[:50] == [each[0] for each in features if each]
    assert table["context.tenant"].to_pylist()[:50] == ["ab"[int(each[2])] for each in features if each]
    assert table["context.words.3"].to_pylist()[:50] == [each[5] for each in features if each]
    assert table["context.place.2"].to_pylist()[:50] == [1.0] * 50
    assert table["propensity"].to_pylist()[:50] == [pull.propensity or 1.0 for pull in here.pulls()]
    verdict = verify(store, "requests")
    assert verdict.ok, verdict.problems


def test_an_async_client_has_every_verb_of_a_client(address: str) -> None:
    verbs = [
        name for name, verb in vars(Client).items() if callable(verb) and not name.startswith("_") and name != "close"
    ]
    assert "shadow" in verbs
    assert [name for name in verbs if not hasattr(AsyncClient, name)] == ["for_asyncio"]

    async def asked() -> None:
        async with AsyncClient(address, "awaited") as client:
            await client.create(["a"], 5, context={"tenant": ["x", "y"]})
            pull = await client.ask(context={"tenant": "y"})
            assert pull is not None
            await client.tell(pull, 1.0, 0.5)
            assert [each.pulls for each in await client.segments("tenant")] == [0, 1]
            assert (await client.shadow("Ration")).same == 1

    asyncio.run(asked())


def test_a_vector_and_what_is_none(address: str) -> None:
    with Client(address, "vectors") as client:
        client.create(["a", "b"], 5, context=2)
        assert client.ask(context=np.array([1.0, 2.0])) is not None
        with pytest.raises(ServiceError, match="a vector of 2 numbers; got '3 of them'"):
            client.ask(context=[1, 2, 3])
    with Client(address, "spring") as client, pytest.raises(ServiceError, match="context of ask must be left out"):
        client.ask(context={"x": 1})
    path = f"{address}/v1/campaigns/vectors"
    assert httpx2.get(f"{path}/reasons", params={"context": "[1, 2]"}).status_code == 200
    assert httpx2.get(f"{path}/reasons", params={"context": "[1, 2"}).json()["code"] == "bad_json"
    assert httpx2.get(f"{path}/reasons", params={"context": "[1]"}).json()["code"] == "bad_request"
    assert httpx2.post(f"{path}/ask", json={"context": "x"}).json()["code"] == "bad_request"


def test_a_function_says_what_its_calls_are_about(tmp_path: Path) -> None:
    campaign = Campaign(["small", "large"], 5, context=["length"], store=f"sqlite:///{tmp_path}/spend.db")

    @campaign.spends(cost=0.1, reward=1, context=lambda question: {"length": len(question)})
    def answer(model: str, question: str) -> str:
        return f"{model}: {question}"

    answer("why?")
    answer("why not?")
    assert [pull.context for pull in campaign.pulls()] == [(4.0,), (8.0,)]
