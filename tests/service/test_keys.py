"""Who may do what: every route with every kind of key, own and foreign campaigns, cookies, failures, the audit log."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from outlay import Campaign
from outlay.service.keys import ring
from outlay.service.keys.book import KeyBook
from outlay.service.keys.key import SCOPES
from outlay.service.routes import ROUTES
from outlay.service.table import Route
from tests.service.conftest import POLICY, calling


@pytest.fixture
def tokens(store: str, book: KeyBook) -> dict[str, str]:
    """A key of each scope, and keys that must not work."""
    for name in ("own", "foreign"):
        with Campaign(["a", "b"], 5, POLICY, store=store, name=name):
            pass
    found: dict[str, str] = {scope: book.new(scope, [scope], ["own"])[0] for scope in SCOPES}
    found["revoked"], key = book.new("revoked", ["admin"])
    book.revoke(key.id)
    found["expired"] = book.new("expired", ["admin"], days=1e-9)[0]
    found["wrong"] = "out_nobody"
    return found


@pytest.fixture
def client(store: str, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(ring, "MOST_FAILURES", 10**6)
    with calling(store) as client:
        yield client


def called(client: TestClient, route: Route, token: str | None, campaign: str) -> int:
    """The status of a call whose body is empty: what is allowed goes on to be refused for that, or is done."""
    path = re.sub(r"{\w+}", "1", route.path.replace("{campaign}", campaign))
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    if path.endswith("/stream"):
        path += "?nonsense=1" if route.query is not None else ""
    return client.request(route.method, path, headers=headers).status_code


def endless(route: Route) -> bool:
    """Whether a call that is allowed never ends by itself."""
    return route.path.endswith("/view/stream")


PROTECTED = [route for route in ROUTES if route.scope is not None]


def test_every_route_says_who_may_call_it() -> None:
    """The routes that need no key are these and no others."""
    assert {(route.method, route.path) for route in ROUTES if route.scope is None} == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/v1/openapi.json"),
        ("POST", "/session"),
        ("DELETE", "/session"),
    }
    assert {route.scope for route in PROTECTED} == set(SCOPES)


@pytest.mark.parametrize("kind", [*SCOPES, "revoked", "expired", "wrong", None])
def test_every_route_with_every_kind_of_key(client: TestClient, tokens: dict[str, str], kind: str | None) -> None:
    for route in PROTECTED:
        allowed = kind in (route.scope, "admin")
        if allowed and endless(route):
            continue
        token = None if kind is None else tokens[kind]
        status = called(client, route, token, "own")
        if kind not in SCOPES:
            assert status == 401, route
        elif not allowed:
            assert status == 403, route
        else:
            assert status not in (401, 403), route
            assert status < 500, route


@pytest.mark.parametrize("kind", SCOPES)
def test_a_foreign_campaign_is_like_one_that_is_not_there(
    client: TestClient, tokens: dict[str, str], kind: str
) -> None:
    for route in PROTECTED:
        if "{campaign}" in route.path:
            answers = {called(client, route, tokens[kind], name) for name in ("foreign", "nowhere")}
            assert answers == {404}, route


def test_lists_and_numbers_leave_foreign_campaigns_out(client: TestClient, tokens: dict[str, str]) -> None:
    headers = {"authorization": f"Bearer {tokens['read']}"}
    assert [each["name"] for each in client.get("/v1/campaigns", headers=headers).json()["items"]] == ["own"]
    assert "foreign" not in client.get("/metrics", headers=headers).text
    admin = {"authorization": f"Bearer {tokens['admin']}"}
    new = {"name": "foreign", "arms": ["a", "b"], "budget": 5, "policy": POLICY}
    assert client.post("/v1/campaigns", json=new, headers=admin).status_code == 403


def test_revoking_the_last_key_does_not_open_the_door(store: str, book: KeyBook, monkeypatch) -> None:
    monkeypatch.setattr(ring, "FRESH", 0.0)
    with calling(store) as client:
        assert client.get("/v1/campaigns").status_code == 200
        token, key = book.new("only", ["admin"])
        assert client.get("/v1/campaigns").status_code == 401
        assert client.get("/v1/campaigns", headers={"authorization": f"Bearer {token}"}).status_code == 200
        book.revoke(key.id)
        for headers in ({}, {"authorization": f"Bearer {token}"}):
            assert client.get("/v1/campaigns", headers=headers).status_code == 401


def test_a_browser_logs_in_with_a_cookie_and_needs_its_token(client: TestClient, tokens: dict[str, str]) -> None:
    assert client.post("/session", json={"key": tokens["wrong"]}).status_code == 401
    entered = client.post("/session", json={"key": tokens["admin"]})
    assert {"HttpOnly", "SameSite=Strict"} <= set(entered.headers["set-cookie"].split("; "))
    assert client.get("/session").json()["scopes"] == ["admin"]
    assert client.get("/v1/campaigns/own").status_code == 200
    assert client.post("/v1/campaigns/own/pause").status_code == 403
    csrf = {"x-csrf-token": entered.json()["csrf"]}
    assert client.post("/v1/campaigns/own/pause", headers={"x-csrf-token": "0" * 64}).status_code == 403
    assert client.post("/v1/campaigns/own/pause", headers=csrf).json()["phase"] == "paused"
    assert client.delete("/session").status_code == 204
    assert client.get("/v1/campaigns/own").status_code == 401


def test_what_admins_did_is_on_record_and_keys_say_when_they_were_used(
    client: TestClient, tokens: dict[str, str], book: KeyBook
) -> None:
    headers = {"authorization": f"Bearer {tokens['admin']}", "x-request-id": "r1"}
    client.post("/v1/campaigns/own/budget", json={"budget": 7}, headers=headers)
    client.get("/v1/campaigns/own", headers=headers)
    (act,) = book.acts()
    keys = {key.name: key for key in book.all()}
    expected = (keys["admin"].id, "POST /v1/campaigns/{campaign}/budget", "own", 200, "r1")
    assert act[1:] == expected
    assert keys["admin"].used is not None
    assert keys["ask"].used is None


def test_who_fails_too_often_hears_so_and_others_do_not(store: str, book: KeyBook) -> None:
    token, _ = book.new("good", ["read"])
    with calling(store) as client:
        statuses = [client.get("/v1/campaigns").status_code for _ in range(ring.MOST_FAILURES + 1)]
        assert statuses == [401] * ring.MOST_FAILURES + [429]
        assert client.get("/v1/campaigns", headers={"authorization": f"Bearer {token}"}).status_code == 200


def test_no_token_is_kept(store: str, book: KeyBook) -> None:
    token, key = book.new("secret", ["read"])
    kept = b"".join(path.read_bytes() for path in Path(store[10:]).parent.iterdir())
    assert token.encode() not in kept
    assert key.digest.encode() in kept
