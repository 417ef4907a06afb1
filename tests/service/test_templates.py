"""Many wallets: a campaign for each tenant on first use, and a cap on the sum that holds whatever happens."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from starlette.testclient import TestClient

from outlay import AsyncClient, Campaign, Client
from outlay.campaign import campaigns, verify
from outlay.errors import NoCampaign, NotNow
from outlay.service import ServiceSettings
from outlay.service import campaigns as opened
from outlay.service.auth import KeyStore
from outlay.service.campaigns import OpenCampaigns
from tests.service.conftest import POLICY, Served, calling, running

ARMS = {"small": 0.25, "large": 1}
FREE: dict[str, Any] = {"name": "free", "arms": ARMS, "budget": 2, "mode": "hard", "total": 3, "policy": POLICY}
TENANTS = [f"t{i}" for i in range(5)]


def asked(client: TestClient, tenant: str, **body: Any) -> Any:
    return client.post(f"/v1/templates/free/campaigns/{tenant}/ask", json=body).json()


def together(client: TestClient) -> Decimal:
    """What the campaigns of all tenants have spent and set aside."""
    items = client.get("/v1/campaigns", params={"limit": 1000}).json()["items"]
    exact = [each["exact"] for each in items if each["name"].startswith("free/")]
    return sum((Decimal(each["spent"]) + Decimal(each["reserved"]) for each in exact), Decimal(0))


def pool(client: TestClient) -> Decimal:
    exact = client.get("/v1/templates/free").json()["pool"]["exact"]
    return Decimal(exact["spent"]) + Decimal(exact["reserved"])


def test_a_tenant_has_a_campaign_on_first_use(client: TestClient, store: str) -> None:
    made = client.post("/v1/templates", json=FREE)
    assert (made.status_code, made.json()["name"], made.json()["pool"]["left"]) == (201, "free", 3)
    assert client.post("/v1/templates", json=FREE).status_code == 200
    pull = asked(client, "ann%2F1", key="job")["pulls"][0]["id"]
    assert asked(client, "ann%2F1", key="job")["pulls"][0]["id"] == pull
    told = client.post("/v1/templates/free/campaigns/ann%2F1/tell", json={"pull": "job", "cost": 0.25})
    assert told.json()["cost"] == 0.25
    paid = client.post("/v1/templates/free/campaigns/ann%2F1/reward", json={"pull": "job", "reward": 1})
    assert paid.json()["reward"] == 1
    own = client.get("/v1/campaigns/free%2Fann%2F1").json()
    assert (own["budget"], own["spent"], own["reward"], own["policy"]) == (2, 0.25, 1, POLICY)
    assert client.get("/v1/templates/free").json()["pool"]["spent"] == 0.25
    assert [each["name"] for each in client.get("/v1/campaigns").json()["items"]] == ["free", "free/ann/1", "spring"]
    assert [each["name"] for each in client.get("/v1/templates").json()["items"]] == ["free"]
    client.post("/v1/campaigns/free%2F*/budget", json={"budget": 1})
    asked(client, "bob")
    budgets = [client.get(f"/v1/campaigns/free%2F{name}").json()["budget"] for name in ("ann%2F1", "bob")]
    assert budgets == [2, 1]  # what was agreed with the one stays
    for name in ("free", "free/ann/1", "free/bob", "free/*"):
        assert verify(store, name).ok


def test_templates_have_pages_and_may_have_no_total(client: TestClient) -> None:
    for name in ("b", "a", "c"):
        assert client.post("/v1/templates", json={**FREE, "name": name, "total": None}).status_code == 201
    page = client.get("/v1/templates?limit=2").json()
    assert ([each["name"] for each in page["items"]], page["next"]) == (["a", "b"], "b")
    rest = client.get("/v1/templates?limit=2&after=b").json()
    assert ([each["name"] for each in rest["items"]], rest["next"]) == (["c"], None)
    assert rest["items"][0]["pool"] is None
    assert client.post("/v1/templates/a/total", json={"total": 5}).json()["code"] == "conflict"


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ({"budget": 3}, "conflict", "with budget 2, not 3"),
        ({"total": 5}, "conflict", "with budget 3, not 5"),
        ({"total": None}, "conflict", "with pool free, not None"),
        ({"name": "a/b"}, "bad_request", "name of a template must be at most 178 characters, and no slash"),
        ({"name": "new", "budget": -1}, "bad_request", "budget of Campaign must be"),
        ({"name": "new", "total": 0}, "bad_request", "budget of Campaign must be"),
        ({"name": "new", "arms": []}, "bad_request", "arms of Campaign must be"),
        ({"name": "new", "pool": "free"}, "bad_request", "unknown field `pool`"),
        ({"name": "spring"}, "conflict", "campaign 'spring' is there already"),
    ],
)
def test_bad_templates_are_refused_and_leave_nothing(client: TestClient, body: Any, code: str, said: str) -> None:
    client.post("/v1/templates", json=FREE)
    before = client.get("/v1/campaigns").json(), client.get("/v1/templates").json()
    found = client.post("/v1/templates", json=FREE | body).json()
    assert (found["code"], said in found["detail"]) == (code, True), found
    assert (client.get("/v1/campaigns").json(), client.get("/v1/templates").json()) == before


def test_what_is_not_there_is_said(client: TestClient) -> None:
    client.post("/v1/templates", json=FREE)
    assert client.post("/v1/templates/paid/campaigns/ann/ask").json()["code"] == "no_template"
    assert client.get("/v1/templates/paid").json()["code"] == "no_template"
    told = client.post("/v1/templates/free/campaigns/ann/tell", json={"pull": 2, "cost": 1})
    assert told.json()["code"] == "no_campaign"  # only an ask makes one
    assert "another name than *" in asked(client, "*")["detail"]
    assert asked(client, "x" * 190)["code"] == "bad_request"
    assert client.post("/v1/templates/free/total", json={"total": -1}).json()["code"] == "bad_request"


def test_the_end_of_the_total_is_the_end_for_every_tenant(client: TestClient) -> None:
    client.post("/v1/templates", json=FREE)
    for tenant in TENANTS * 3:
        last = asked(client, tenant, most=0.25)
    assert last["code"] == "not_now"
    assert pool(client) == together(client) == 3
    assert client.post("/v1/templates/free/total", json={"total": 3.25}).json()["pool"]["left"] == 0.25
    assert asked(client, "t4", most={"small": 0.25, "large": 1})["pulls"][0]["arm"] == "small"
    assert together(client) == Decimal("3.25")


@pytest.fixture
def two(store: str) -> Iterator[list[TestClient]]:
    """Two services on one store."""
    with calling(store) as one, calling(store) as other:
        yield [one, other]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 20))])
def test_two_services_and_a_library_never_pass_the_total(two: list[TestClient], store: str, seed: int) -> None:
    random, overrun, known = Random(seed), False, list[tuple[str, int, float]]()
    two[0].post("/v1/templates", json={**FREE, "total": 6, "reward_within": 0.01, "missing_reward": 0})
    verbs = ["ask"] * 5 + ["tell"] * 4 + ["library", "reward", "cancel", "charge", "amend"]
    bodies: list[dict[str, Any]] = [{}, {"ttl": 0.001}, {"most": 0.125}, {"n": 2}, {"key": "a"}, {"key": "b"}]
    for _ in range(150):
        client, tenant = random.choice(two), random.choice(TENANTS)
        verb = random.choice(verbs)
        if verb == "ask":
            for pull in asked(client, tenant, **random.choice(bodies)).get("pulls", []):
                known.append((tenant, pull["id"], pull["reserved"]))
        elif known:
            tenant, number, held = random.choice(known[-10:])
            cost = random.choice([held, held / 2, held / 4, held + 0.125 * (random.random() < 0.2)])
            path = f"/v1/campaigns/free%2F{tenant}"
            if verb == "library":
                with Campaign.open(store, f"free/{tenant}") as campaign:
                    (receipt,) = campaign.tell_each([(number, cost, 1.0)])
                    overrun |= getattr(receipt, "overrun", False)
                continue
            told = {"pull": number, "cost": cost, "reward": random.choice([None, 1])}
            calls: dict[str, tuple[str, Any]] = {
                "tell": ("/tell", told), "reward": ("/reward", {"pull": number, "reward": 1}),
                "cancel": (f"/pulls/{number}/cancel", {}), "charge": (f"/pulls/{number}/charge", {}),
                "amend": (f"/pulls/{number}/amend", {"cost": cost}),
            }  # fmt: skip
            overrun |= client.post(path + calls[verb][0], json=calls[verb][1]).json().get("overrun", False)
        assert pool(random.choice(two)) == (sum_of_all := together(client))
        assert overrun or sum_of_all <= 6
    names = ["free", *(f"free/{tenant}" for tenant in TENANTS)]
    assert all(verify(store, name).ok for name in names)


def test_a_killed_service_leaves_no_difference(store: str) -> None:
    served = [Served(store, "--port", "0") for _ in range(2)]
    with Client(served[0].address) as admin:
        admin._perform({"method": "POST", "url": "/v1/templates", "json": {**FREE, "budget": 50, "total": 100}})
    acknowledged: list[tuple[str, int]] = []

    def work(which: int) -> None:
        with Client(served[which % 2].address, f"t{which % 3}", template="free", retry_for=0.1) as client:
            try:
                for _ in range(40):
                    pull = client.ask()
                    assert pull is not None
                    client.tell(pull, cost=0.125, reward=1)
                    acknowledged.append((client.campaign, pull.id))
                    if len(acknowledged) == 60:
                        served[0].process.kill()
            except Exception:
                assert which % 2 == 0

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    served[1].stop()
    served[0].process.communicate()
    sums: dict[str, Decimal] = {}
    for status in campaigns(store):
        sums[status.name] = status.exact.spent + status.exact.reserved
        assert verify(store, status.name).ok
    assert sums["free"] == sum(amount for name, amount in sums.items() if name.startswith("free/"))
    for name in {name for name, _ in acknowledged}:
        with Campaign.open(store, name) as campaign:
            assert {pull.id for pull in campaign.pulls(status="told")} >= {i for of, i in acknowledged if of == name}


def test_a_key_of_one_tenant_and_a_key_of_all(store: str, key_store: KeyStore) -> None:
    with calling(store) as client:
        client.post("/v1/templates", json=FREE)
    keys = {
        name: key_store.new(name, scopes, only)[0]
        for name, scopes, only in [
            ("ann", ["ask", "tell"], ["free/ann"]),
            ("gateway", ["ask", "tell"], ["free/*"]),
            ("admin", ["admin"], ["free/*"]),
        ]
    }
    with calling(store) as client:

        def status(key: str, path: str, method: str = "POST") -> int:
            return client.request(method, path, headers={"authorization": f"Bearer {keys[key]}"}).status_code

        assert status("ann", "/v1/templates/free/campaigns/ann/ask") == 200
        assert status("ann", "/v1/campaigns/free%2Fann/ask") == 200
        for other in ("templates/free/campaigns/bob", "campaigns/free", "templates/paid/campaigns/x"):
            assert status("ann", f"/v1/{other}/ask") == 404
        assert status("gateway", "/v1/templates/free/campaigns/bob/ask") == 200
        assert status("gateway", "/v1/campaigns/free/ask") == 404
        assert status("gateway", "/v1/templates/free/total") == 403
        assert status("admin", "/v1/templates/free", "GET") == 200
        assert status("admin", "/v1/templates/paid", "GET") == 404
        foreign = {"name": "free/x", "arms": ["a"], "budget": 1, "pool": "spring"}
        answer = client.post("/v1/campaigns", json=foreign, headers={"authorization": f"Bearer {keys['admin']}"})
        assert answer.status_code == 403


def test_clients_ask_for_tenants(store: str) -> None:
    async def spend(address: str) -> int:
        async with AsyncClient(address, "ann", template="free") as client:
            return len(await client.ask_many(2, most=0.25))

    with running(store) as address, Client(address, "bob", template="free") as client:
        with pytest.raises(NoCampaign, match="no campaign 'free/bob'"):
            client.ask()
        client._perform({"method": "POST", "url": "/v1/templates", "json": FREE})
        assert asyncio.run(spend(address)) == 2
        with client.ask() or pytest.fail("none") as pull:
            pull.tell(cost=Decimal("0.125"), reward=1)
        assert (client.status().name, client.status().spent) == ("free/bob", 0.125)
        assert client.ask_many(20, most=0.25)
        with pytest.raises(NotNow):
            client.ask(most=0.25)


def test_many_tenants_need_no_more_open_campaigns(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "MOST_OPEN", 4)
    with calling(store) as client:
        client.post("/v1/templates", json={**FREE, "total": 100})
        held: Any = client.app.campaigns  # type: ignore[attr-defined]
        for turn in range(2):
            for i in range(20):
                number = asked(client, f"u{i}", key="k")["pulls"][0]["id"]
                assert number == 2
                assert len(held._open) <= 4 + 2, turn
        assert client.get("/v1/campaigns/free%2Fu0").json()["in_flight"] == 1
        assert pool(client) == together(client)


def test_a_campaign_in_use_is_not_closed(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "MOST_OPEN", 0)

    async def use() -> None:
        held = OpenCampaigns(ServiceSettings(store=store))
        async with held.using("spring") as campaign:
            async with held.using("spring") as same:
                assert same is campaign
            assert await campaign.aask() is not None
        assert held._open == {}
        await held.close()

    asyncio.run(use())


def test_first_asks_at_the_same_time_make_one_campaign(two: list[TestClient], store: str) -> None:
    two[0].post("/v1/templates", json={**FREE, "budget": 3})
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda i: asked(two[i % 2], "ann", most=0.125), range(8)))
    numbers = [each["pulls"][0]["id"] for each in answers]
    assert sorted(numbers) == list(range(2, 10))
    assert pool(two[0]) == together(two[1])
    assert verify(store, "free/ann").ok
    assert Path(store.removeprefix("sqlite:///")).exists()
