"""Who may do what: every route of the table, with every kind of key, on own campaigns, others' and nobody's."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from outlay import Campaign
from outlay.campaign import campaigns
from outlay.service import auth
from outlay.service.auth import SCOPES, KeyStore
from outlay.service.endpoints import Route
from outlay.service.openapi import ROUTES
from tests.service.conftest import POLICY, calling

OPEN = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/v1/openapi.json"),
    ("POST", "/session"),
    ("DELETE", "/session"),
}
PROTECTED = [route for route in ROUTES if route.scope is not None]
CAMPAIGNS = ("own", "foreign", "nowhere")


class Holder(NamedTuple):
    """A key: what it is, and what it may do."""

    token: str | None
    scope: str | None  # None where it may do nothing at all
    limited: bool  # to "own"


@pytest.fixture(scope="module")
def place(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Holder]]:
    """A store with two campaigns, and a key of every kind."""
    path = tmp_path_factory.mktemp("matrix") / "outlay.db"
    path.write_bytes(begun.read_bytes())
    store = f"sqlite:///{path}"
    for name in ("own", "foreign"):
        with Campaign(["a", "b"], 5, POLICY, store=store, name=name):
            pass
    key_store = KeyStore(store)
    found = {"none": Holder(None, None, False), "wrong": Holder("out_nobody", None, False)}
    for scope in SCOPES:
        found[f"{scope} of own"] = Holder(key_store.new(scope, [scope], ["own"])[0], scope, True)
        found[f"{scope} of all"] = Holder(key_store.new(scope, [scope])[0], scope, False)
        revoked, key = key_store.new("revoked", [scope])
        key_store.revoke(key.id)
        found[f"{scope} revoked"] = Holder(revoked, None, False)
        found[f"{scope} expired"] = Holder(key_store.new("expired", [scope], days=1e-9)[0], None, False)
    key_store.close()
    return store, found


@pytest.fixture
def client(place: tuple[str, dict[str, Holder]], monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A service that has no room for streams: who may have one is told that, and does not listen for ever."""
    monkeypatch.setattr(auth, "MOST_FAILURES", 10**9)
    with calling(place[0], most_streams=0) as client:
        yield client


def called(client: TestClient, route: Route, token: str | None, campaign: str) -> int:
    """The status of a call whose body is empty: what is allowed goes on to be refused for that, or is done."""
    path = re.sub(r"{\w+}", "1", route.path.replace("{campaign}", campaign))  # templates: 1, tenants: 1/1
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return client.request(route.method, path, headers=headers).status_code


def expected(route: Route, holder: Holder, campaign: str) -> int | None:
    """The status that must come; None where the key may do this, and the request itself decides."""
    if holder.scope is None:
        return 401
    if holder.limited and ("{template}" in route.path or ("{campaign}" in route.path and campaign != "own")):
        return 404  # like one that is not there, whatever the key may do elsewhere
    return None if holder.scope in (route.scope, "admin") else 403


def cells(route: Route) -> tuple[str, ...]:
    return CAMPAIGNS if "{campaign}" in route.path else ("own",)


def test_every_route_says_who_may_call_it() -> None:
    """The routes that need no key are these and no others."""
    assert {(route.method, route.path) for route in ROUTES if route.scope is None} == OPEN
    assert {route.scope for route in PROTECTED} == set(SCOPES)


def test_what_is_not_allowed_is_refused_and_changes_nothing(
    client: TestClient, place: tuple[str, dict[str, Holder]]
) -> None:
    store, holders = place
    before = campaigns(store)
    seen = 0
    for route in PROTECTED:
        for title, holder in holders.items():
            for campaign in cells(route):
                wanted = expected(route, holder, campaign)
                if wanted is not None:
                    assert called(client, route, holder.token, campaign) == wanted, (route.path, title, campaign)
                    seen += 1
    assert seen > 1000
    assert campaigns(store) == before


def test_what_is_allowed_is_not_refused_for_its_key(client: TestClient, place: tuple[str, dict[str, Holder]]) -> None:
    _, holders = place
    for route in PROTECTED:
        for title, holder in holders.items():
            for campaign in cells(route):
                if expected(route, holder, campaign) is None:
                    status = called(client, route, holder.token, campaign)
                    assert status not in (401, 403, 405), (route.path, title, campaign)
                    assert status < 500 or (status == 503 and route.path.endswith("/stream")), (route.path, status)
                    assert campaign != "nowhere" or status in (404, 422), (route.path, status)


@pytest.mark.parametrize("path", sorted({route.path for route in ROUTES}))
def test_other_methods_are_refused_everywhere(client: TestClient, path: str) -> None:
    methods = {route.method for route in ROUTES if route.path == path}
    for method in {"PUT", "PATCH", "DELETE", "POST", "GET"} - methods:
        assert client.request(method, re.sub(r"{\w+}", "1", path)).status_code == 405
