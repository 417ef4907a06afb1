"""Windows, fallbacks and the archive over HTTP, and what the numbers and files say of them."""

import io
from typing import Any

import pytest
from starlette.testclient import TestClient

from outlay.service import streams
from tests.service.conftest import POLICY

DAILY: dict[str, Any] = {
    "name": "daily", "arms": {"small": 1, "large": 2}, "budget": 2, "policy": POLICY, "mode": "hard",
    "window": "day", "timezone": "Europe/Berlin",
}  # fmt: skip
PATH = "/v1/campaigns/daily"


def test_a_budget_by_the_day_is_not_the_end(client: TestClient) -> None:
    new = client.post("/v1/campaigns", json=DAILY).json()
    assert (new["window"]["kind"], new["window"]["timezone"], new["window"]["earlier"]) == ("day", "Europe/Berlin", 0)
    for _ in range(2):
        pull = client.post(f"{PATH}/ask", json={}).json()["pulls"][0]
        client.post(f"{PATH}/tell", json={"pull": pull["id"], "cost": 1, "reward": 1})
    refused = client.post(f"{PATH}/ask", json={})
    assert (refused.status_code, refused.json()["code"]) == (429, "not_now")
    assert "of this day" in refused.json()["detail"]
    assert 0 < int(refused.headers["retry-after"]) <= 25 * 3600
    assert client.get(PATH).json()["phase"] == "waiting"
    assert client.post("/v1/campaigns", json={**DAILY, "window": "week"}).status_code == 409
    assert client.post("/v1/campaigns", json={**DAILY, "timezone": "Nowhere"}).status_code == 422


def test_an_archived_campaign_is_listed_apart(client: TestClient) -> None:
    client.post("/v1/campaigns", json=DAILY)
    assert client.post(f"{PATH}/archive").json()["archived"] is True

    def names(query: str = "") -> list[str]:
        return [each["name"] for each in client.get(f"/v1/campaigns{query}").json()["items"]]

    assert (names(), names("?archived=true")) == (["spring"], ["daily"])
    assert 'campaign="daily"' not in client.get("/metrics").text
    assert client.post(f"{PATH}/ask", json={}).json() == {"pulls": [], "ended": True}
    assert client.post(f"{PATH}/restore").json()["phase"] == "open"
    assert names() == ["daily", "spring"]


def test_a_table_is_written_in_parts(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas

    monkeypatch.setattr(streams, "PULLS", 2)
    client.post("/v1/campaigns/spring/budget", json={"budget": 1000})
    empty = pandas.read_parquet(io.BytesIO(client.get("/v1/campaigns/spring/export?format=parquet").content))
    client.post("/v1/campaigns/spring/ask", json={"n": 5, "tags": ["t"], "metadata": {"a": 1}})
    found = pandas.read_parquet(io.BytesIO(client.get("/v1/campaigns/spring/export?format=parquet").content))
    assert (list(empty.columns), len(empty)) == (list(found.columns), 0)
    assert list(found["id"]) == [2 + 1, 4, 5, 6, 7]
    assert list(found["metadata"]) == ['{"a":1}'] * 5
    assert [list(tags) for tags in found["tags"]] == [["t"]] * 5
