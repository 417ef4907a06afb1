"""What a caller of the service sees: every verb, exact money, pages, problems with stable codes."""

import asyncio
import csv
import io
import json
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from outlay.campaign import import_ledger
from outlay.service import document
from tests.service.conftest import POLICY, calling

SPRING = "/v1/campaigns/spring"


def ask(client: TestClient, **said: Any) -> dict[str, Any]:
    pull: dict[str, Any] = client.post(f"{SPRING}/ask", json=said).json()["pulls"][0]
    return pull


def code(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert said["status"] == answer.status_code
    assert said["request"] == answer.headers["x-request-id"]
    return answer.status_code, said["code"]


def test_each_of_many_tells_has_its_own_result(client: TestClient) -> None:
    pulls = client.post(f"{SPRING}/ask", json={"n": 3, "key": "batch"}).json()["pulls"]
    tells = [{"pull": pull["id"], "cost": 0.5, "reward": 1} for pull in pulls]
    results = client.post(f"{SPRING}/tell", json=[*tells, {"pull": 999, "cost": 1, "reward": 1}, tells[0]]).json()
    kinds = [each["problem"]["code"] if "problem" in each else "told" for each in results["results"]]
    assert kinds == ["told"] * len(pulls) + ["no_pull", "told"]
    assert results["results"][-1]["receipt"]["duplicate"]
    before = client.get(SPRING).json()["events"]
    bad = [{"pull": pulls[0]["id"], "cost": "NaN", "reward": 1}, tells[0]]
    assert code(client.post(f"{SPRING}/tell", json=bad)) == (422, "bad_request")
    assert client.get(SPRING).json()["events"] == before


def test_opening_again(client: TestClient) -> None:
    new = {"name": "spring", "arms": {"small": "1.0", "large": 2}, "budget": 10.0, "policy": POLICY}
    assert client.post("/v1/campaigns", json=new).status_code == 200
    assert code(client.post("/v1/campaigns", json={**new, "budget": 11})) == (409, "conflict")
    assert code(client.post("/v1/campaigns", json={**new, "policy": "Nonsense"})) == (422, "bad_request")
    with_parameters = {**new, "name": "other", "policy": {"name": POLICY, "parameters": {"slope": 0.5}}}
    assert client.post("/v1/campaigns", json=with_parameters).status_code == 201


def test_managing(client: TestClient) -> None:
    assert client.post(f"{SPRING}/pause").json()["phase"] == "paused"
    refused = client.post(f"{SPRING}/ask", json={})
    assert code(refused) == (429, "not_now")
    assert int(refused.headers["retry-after"]) >= refused.json()["retry_after"]
    assert client.post(f"{SPRING}/resume").json()["phase"] == "open"
    assert client.post(f"{SPRING}/budget", json={"budget": "12.5"}).json()["exact"]["budget"] == "12.5"
    assert client.post(f"{SPRING}/requests", json={"requests": 50}).json()["requests"] == 50
    assert client.post(f"{SPRING}/arms", json={"name": "a/b c", "max_cost": 3}).status_code == 201
    assert client.post(f"{SPRING}/arms/a%2Fb%20c/disable").json()["enabled"] is False
    assert client.post(f"{SPRING}/arms/a%2Fb%20c/enable").json()["enabled"] is True
    assert code(client.post(f"{SPRING}/arms/none/disable"))[0] in (404, 409, 422)
    samples = {"samples": [["small", 0.5, 1.0], ["large", "1.5", 0.5]], "key": "log"}
    assert [client.post(f"{SPRING}/warm", json=samples).json()["samples"] for _ in range(2)] == [2, 0]
    assert client.post(f"{SPRING}/close").json()["ended"] == "closed"


def test_lists_come_in_pages(client: TestClient) -> None:
    for number in range(5):
        ask(client, key=f"job {number}", tags=["odd" if number % 2 else "even"], metadata={"n": number})
    pages, after = [], 0
    while after is not None:
        page = client.get(f"{SPRING}/pulls", params={"limit": 2, "after": after}).json()
        pages.append([pull["key"] for pull in page["items"]])
        after = page["next"]
    assert pages == [["job 0", "job 1"], ["job 2", "job 3"], ["job 4"]]
    odd = client.get(f"{SPRING}/pulls", params={"tag": "odd", "status": "open"}).json()["items"]
    assert [pull["metadata"]["n"] for pull in odd] == [1, 3]
    assert client.get(f"{SPRING}/pulls", params={"key": "job 4"}).json()["items"][0]["tags"] == ["even"]
    assert client.get(f"{SPRING}/tags").json() == {
        "items": [{"tag": "even", "pulls": 3}, {"tag": "odd", "pulls": 2}],
        "next": None,
    }
    assert client.get(f"{SPRING}/tags?limit=1").json()["next"] == "even"
    arms = client.get(f"{SPRING}/arms?limit=1").json()
    assert client.get(f"{SPRING}/arms?after={arms['next']}").json()["items"][0]["name"] == "large"
    client.post("/v1/campaigns", json={"name": "autumn", "arms": ["a"], "budget": 1, "policy": POLICY})
    first = client.get("/v1/campaigns?limit=1").json()
    assert (first["items"][0]["name"], first["next"]) == ("autumn", "autumn")
    assert [each["name"] for each in client.get("/v1/campaigns?after=autumn").json()["items"]] == ["spring"]


def test_events_and_files_to_take_away(client: TestClient, store: str) -> None:
    pull = ask(client, key="=HYPERLINK(1)")
    client.post(f"{SPRING}/tell", json={"pull": pull["id"], "cost": 0.5, "reward": 1})
    lines = [json.loads(line) for line in client.get(f"{SPRING}/events?after=1").text.splitlines()]
    assert [(event["kind"], event["pull"]) for event in lines] == [("asked", pull["id"]), ("told", pull["id"])]
    rows = list(csv.DictReader(io.StringIO(client.get(f"{SPRING}/export?format=csv").text)))
    assert [(row["id"], row["cost"], row["key"]) for row in rows] == [(str(pull["id"]), "0.5", "'=HYPERLINK(1)")]
    ledger = client.get(f"{SPRING}/export").content
    assert import_ledger(store, io.BytesIO(ledger), "copy").ok


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"{", "application/json", (400, "bad_json")),
        (b'{"pull": 1, "cost": NaN, "reward": 1}', "application/json", (400, "bad_json")),
        (b'{"pull": 1, "cost": 1, "reward": 1e999}', "application/json", (422, "bad_request")),
        (b'{"pull": 1, "reward": 1}', "application/json", (422, "bad_request")),
        (b'{"pull": 1, "cost": 1, "reward": 1, "more": 1}', "application/json", (422, "bad_request")),
        (b'{"pull": 1, "cost": 1, "reward": 1}', "text/plain", (415, "not_json")),
        (b"\xff\xfe", "application/json", (400, "bad_json")),
        (b" " * 2_000_000, "application/json", (413, "too_large")),
    ],
)
def test_malformed_requests_write_nothing(client: TestClient, body: bytes, kind: str, said: tuple[int, str]) -> None:
    assert code(client.post(f"{SPRING}/tell", content=body, headers={"content-type": kind})) == said
    assert client.get(SPRING).json()["events"] == 1


def test_bodies_without_a_length_and_deep_ones_are_bounded(client: TestClient) -> None:
    taken, sent = 0, list[Any]()

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 65_536
        return {"type": "http.request", "body": b" " * 65_536, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": f"{SPRING}/tell", "query_string": b"", "headers": headers}
    asyncio.run(client.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 413
    assert taken < 2_000_000
    deep = b'{"metadata": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    answer = client.post(f"{SPRING}/ask", content=deep, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert client.get(SPRING).json()["events"] == 1


def test_paths_methods_queries_and_names_that_are_not_there(client: TestClient) -> None:
    for path in ("/v1/nothing", "/v1", f"{SPRING}/", f"{SPRING}/arms/small", f"{SPRING}/arms//disable"):
        assert code(client.get(path)) == (404, "not_found")
    assert code(client.get("/v1/campaigns/winter")) == (404, "no_campaign")
    assert code(client.post("/v1/campaigns/winter/ask", json={})) == (404, "no_campaign")
    wrong = client.put(f"{SPRING}/ask", json={})
    assert (code(wrong), wrong.headers["allow"]) == ((405, "method_not_allowed"), "POST")
    assert code(client.get(f"{SPRING}/pulls?limit=0")) == (422, "bad_request")
    assert code(client.get(f"{SPRING}/pulls?colour=red")) == (422, "bad_request")
    assert code(client.get(f"{SPRING}/events?after=-1")) == (422, "bad_request")


def test_other_hosts_and_origins(client: TestClient) -> None:
    assert code(client.get("/healthz", headers={"host": "evil.example"})) == (400, "bad_host")
    for name in ("host", "authorization", "content-type"):
        twice = [("host", "localhost:8700")] * (name != "host") + [(name, "localhost:8700")] * 2
        assert code(client.get("/healthz", headers=twice)) == (400, "bad_headers")
    evil = {"origin": "http://evil.example"}
    assert code(client.post(f"{SPRING}/pause", headers=evil)) == (403, "bad_origin")
    assert client.post(f"{SPRING}/pause", headers={"origin": "http://localhost:8700"}).status_code == 200
    assert "access-control-allow-origin" not in client.get(SPRING, headers=evil).headers


def test_what_every_answer_carries(client: TestClient) -> None:
    page = client.get("/", headers={"x-request-id": "mine-17"})
    assert page.headers["x-request-id"] == "mine-17"
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert client.get(SPRING).headers["cache-control"] == "no-store"
    assert len(client.get(SPRING, headers={"x-request-id": "<script>"}).headers["x-request-id"]) == 32


def test_health_and_numbers(client: TestClient) -> None:
    ask(client)
    assert client.get("/healthz").json()["status"] == client.get("/readyz").json()["status"] == "ok"
    numbers = client.get("/metrics").text
    assert 'outlay_campaign_left{campaign="spring"}' in numbers
    assert 'outlay_arm_in_flight{arm="small",campaign="spring"}' in numbers
    assert 'outlay_requests_total{method="POST",route="/v1/campaigns/{campaign}/ask",status="200"} 1.0' in numbers
    assert "outlay_queue_depth 0.0" in numbers
    assert 'outlay_arm_reserved{arm="small",campaign="spring"}' in numbers
    assert 'outlay_request_seconds_count{route="/v1/campaigns/{campaign}/ask"} 1.0' in numbers


def test_too_many_at_once_are_refused(store: str) -> None:
    with calling(store, most_active=0) as client:
        refused = client.get("/v1/campaigns")
        assert code(refused) == (503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert client.get("/healthz").status_code == 200


def test_hostile_names_stay_text(client: TestClient) -> None:
    name = "</script><img src=x onerror=alert(1)>"
    new = {"name": name, "arms": ["=1+1", "<b>"], "budget": 1, "policy": POLICY}
    assert client.post("/v1/campaigns", json=new).json()["name"] == name
    assert client.post("/v1/campaigns", json={**new, "name": "a\nb"}).status_code == 422
    assert client.get("/metrics").status_code == 200


def test_it_is_served(client: TestClient) -> None:
    assert client.get("/v1/openapi.json").json() == json.loads(json.dumps(document()))
