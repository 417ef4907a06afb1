"""Keys: what lists leave out, cookies and their tokens, failures, the audit log, and that no token is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from outlay import Campaign
from outlay.service import auth
from outlay.service.auth import SCOPES, KeyStore
from tests.service.conftest import POLICY, calling


@pytest.fixture
def tokens(store: str, key_store: KeyStore) -> dict[str, str]:
    """A key of each scope, and keys that must not work."""
    for name in ("own", "foreign"):
        with Campaign(["a", "b"], 5, POLICY, store=store, name=name):
            pass
    found: dict[str, str] = {scope: key_store.new(scope, [scope], ["own"])[0] for scope in SCOPES}
    found["revoked"], key = key_store.new("revoked", ["admin"])
    key_store.revoke(key.id)
    found["expired"] = key_store.new("expired", ["admin"], days=1e-9)[0]
    found["wrong"] = "out_nobody"
    return found


@pytest.fixture
def client(store: str, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(auth, "MOST_FAILURES", 10**6)
    with calling(store) as client:
        yield client


def test_lists_and_numbers_leave_foreign_campaigns_out(client: TestClient, tokens: dict[str, str]) -> None:
    headers = {"authorization": f"Bearer {tokens['read']}"}
    assert [each["name"] for each in client.get("/v1/campaigns", headers=headers).json()["items"]] == ["own"]
    assert "foreign" not in client.get("/metrics", headers=headers).text
    admin = {"authorization": f"Bearer {tokens['admin']}"}
    new = {"name": "foreign", "arms": ["a", "b"], "budget": 5, "policy": POLICY}
    assert client.post("/v1/campaigns", json=new, headers=admin).status_code == 403


def test_revoking_the_last_key_does_not_open_the_door(store: str, key_store: KeyStore, monkeypatch) -> None:
    monkeypatch.setattr(auth, "FRESH", 0.0)
    with calling(store) as client:
        assert client.get("/v1/campaigns").status_code == 200
        token, key = key_store.new("only", ["admin"])
        assert client.get("/v1/campaigns").status_code == 401
        assert client.get("/v1/campaigns", headers={"authorization": f"Bearer {token}"}).status_code == 200
        key_store.revoke(key.id)
        for headers in ({}, {"authorization": f"Bearer {token}"}):
            assert client.get("/v1/campaigns", headers=headers).status_code == 401


def test_a_browser_logs_in_with_a_cookie_and_needs_its_token(client: TestClient, tokens: dict[str, str]) -> None:
    assert client.post("/session", json={"key": tokens["wrong"]}).status_code == 401
    entered = client.post("/session", json={"key": tokens["admin"]})
    assert {"httponly", "samesite=strict"} <= set(entered.headers["set-cookie"].lower().split("; "))
    assert client.get("/session").json()["scopes"] == ["admin"]
    assert client.get("/v1/campaigns/own").status_code == 200
    assert client.post("/v1/campaigns/own/pause").status_code == 403
    csrf = {"x-csrf-token": entered.json()["csrf"]}
    assert client.post("/v1/campaigns/own/pause", headers={"x-csrf-token": "0" * 64}).status_code == 403
    assert client.post("/v1/campaigns/own/pause", headers=csrf).json()["phase"] == "paused"
    assert client.delete("/session").status_code == 204
    assert client.get("/v1/campaigns/own").status_code == 401


def test_what_admins_did_is_on_record_and_keys_say_when_they_were_used(
    client: TestClient, tokens: dict[str, str], key_store: KeyStore
) -> None:
    headers = {"authorization": f"Bearer {tokens['admin']}", "x-request-id": "r1"}
    client.post("/v1/campaigns/own/budget", json={"budget": 7}, headers=headers)
    client.get("/v1/campaigns/own", headers=headers)
    (act,) = key_store.entries()
    keys = {key.name: key for key in key_store.all()}
    expected = (keys["admin"].id, "POST /v1/campaigns/{campaign}/budget", "own", 200, "r1")
    assert (act.key, act.act, act.campaign, act.status, act.request) == expected
    (said,) = client.get("/v1/audit", headers=headers).json()["items"]
    assert (said["key"], said["act"], said["campaign"], said["status"], said["request"]) == expected
    assert keys["admin"].used is not None
    assert keys["ask"].used is None


def test_the_audit_log_has_pages_and_leaves_out_what_a_key_may_not_see(
    client: TestClient, tokens: dict[str, str], key_store: KeyStore
) -> None:
    everything = {"authorization": f"Bearer {key_store.new('all', ['admin'])[0]}"}
    own = {"authorization": f"Bearer {tokens['admin']}"}
    for name in ("own", "foreign", "own"):
        client.post(f"/v1/campaigns/{name}/pause", headers=everything)
    other = {"name": "own", "arms": ["other"], "budget": 5}
    assert client.post("/v1/campaigns", json=other, headers=everything).status_code == 409
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = client.get(f"/v1/audit?limit=2{after}", headers=everything).json()
        seen += [each["campaign"] for each in page["items"]]
        after = None if page["next"] is None else f"&after={page['next']}"
    assert seen == ["own", "own", "foreign", "own"]
    mine = [(each["campaign"], each["status"]) for each in client.get("/v1/audit", headers=own).json()["items"]]
    assert mine == [("own", 409), ("own", 200), ("own", 200)]


def test_who_fails_too_often_hears_so_and_others_do_not(store: str, key_store: KeyStore) -> None:
    token, _ = key_store.new("good", ["read"])
    with calling(store) as client:
        statuses = [client.get("/v1/campaigns").status_code for _ in range(auth.MOST_FAILURES + 1)]
        assert statuses == [401] * auth.MOST_FAILURES + [429]
        assert client.get("/v1/campaigns", headers={"authorization": f"Bearer {token}"}).status_code == 200


def test_no_token_is_kept(store: str, key_store: KeyStore) -> None:
    token, key = key_store.new("secret", ["read"])
    kept = b"".join(path.read_bytes() for path in Path(store[10:]).parent.iterdir())
    assert token.encode() not in kept
    assert key.digest.encode() in kept
