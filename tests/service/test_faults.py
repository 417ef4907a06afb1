"""What breaks under the service: a disk that is full, a database that goes away, a queue that is full."""

import json
import resource
import socket
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest

from outlay import Campaign
from outlay import client as clients
from outlay.campaign import verify
from outlay.campaign.stores import writer
from tests.campaign.postgres import Server, unavailable
from tests.service.conftest import POLICY, Load, Served, calling, running

COST = Decimal("0.001")


def test_a_queue_that_is_full_says_when_to_come_back(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with calling(store) as client:
        asked = client.post("/v1/campaigns/spring/ask", json={}).json()["pulls"][0]
        monkeypatch.setattr(writer, "MOST_WAITING", 0)
        tell = {"pull": asked["id"], "cost": 1, "reward": 1}
        for verb, body in (("ask", {}), ("tell", tell), ("tell", [tell]), ("pause", None)):
            refused = client.post(f"/v1/campaigns/spring/{verb}", json=body)
            assert (refused.status_code, refused.json()["code"]) == (503, "busy")
            assert refused.headers["retry-after"] == "1"
        monkeypatch.undo()
        assert client.post("/v1/campaigns/spring/tell", json=tell).status_code == 200
    assert verify(store, "spring").events == 3


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system cannot limit the files of another process")
def test_a_full_disk_is_answered_with_503_and_loses_nothing(served: Served, store: str, tmp_path: Path) -> None:
    """No file of the server may grow any more, until it may again."""
    acknowledged: list[int] = []
    refused = 0
    with httpx2.Client(base_url=f"{served.address}/v1/campaigns/spring", timeout=30) as client:
        client.post("/budget", json={"budget": 10**6})

        def pair(note: str) -> int:
            asked = client.post("/ask", json={"metadata": {"note": note}})
            if asked.status_code != 200:
                assert asked.json()["code"] == "store_error"
                assert asked.headers["retry-after"] == "1"
                assert "sqlite" not in asked.text.lower()
                return 503
            tell = {"pull": asked.json()["pulls"][0]["id"], "cost": "0.001", "reward": 1}
            told = client.post("/tell", json=tell)
            if told.status_code == 200:
                acknowledged.append(tell["pull"])
            return told.status_code

        assert pair("") == 200
        largest = max(file.stat().st_size for file in tmp_path.glob("outlay.db*"))
        limit = largest + 20_000
        _, hard = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (limit, hard))
        for _ in range(400):
            refused += pair("x" * 1000) == 503
            if refused > 3:
                break
        assert refused > 3
        assert client.get("/arms").status_code == 200  # it can be read
        assert client.get(f"{served.address}/healthz").status_code == 200
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))
        assert pair("") == 200
    logged = served.stop()
    assert all(json.loads(line) for line in logged.splitlines())
    with Campaign.open(store, "spring") as campaign:
        told = {pull.id for pull in campaign.pulls(status="told")}
        assert set(acknowledged) <= told
        assert campaign.status().exact.spent == len(told) * COST
    assert verify(store, "spring").ok


@pytest.mark.parametrize("restarts", [1, pytest.param(30, marks=pytest.mark.soak)])
def test_a_database_that_is_stopped_and_started_under_load(restarts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := unavailable():
        pytest.skip(reason)
    monkeypatch.setattr(clients, "LONGEST", 0.2)
    with Server() as server:
        store = server.create_database("away")
        with Campaign(["a", "b"], 1000, POLICY, store=store, name="away", reservation=0.001, first_pulls=None):
            pass
        with running(store) as one, running(store) as other:
            load = Load("away", [one, other] * 3, COST)
            for _ in range(restarts):
                load.wait_for(30)
                server.restart("immediate")
            load.wait_for(30)
            load.stop()
        load.check(store)


RAW = [
    b"\x00\x01\x02\x03\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET /v1/campaigns HTTP/1.1\r\n\r\n",
    b"GET /%zz%ff/../..//v1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/campaigns/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/campaigns/%ff%fe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/campaigns/spring/pulls?after=%ff&after=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/campaigns?" + b"a=1&" * 100 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/campaigns HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xff\r\nCookie: =;=;\xff\r\n\r\n",
    b"POST /v1/campaigns/spring/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}",
    b"POST /v1/campaigns/spring/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    b"POST /v1/campaigns/spring/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n"
    b"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
    b"POST /v1/campaigns/spring/ask HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
]


def test_bytes_that_are_no_request_are_refused_and_write_nothing(store: str) -> None:
    with running(store) as address:
        host, _, port = address.removeprefix("http://").rpartition(":")
        for raw in RAW:
            with socket.create_connection((host, int(port)), timeout=10) as client:
                client.sendall(raw)
                client.shutdown(socket.SHUT_WR)
                answer = client.recv(65_536)
            assert answer == b"" or 400 <= int(answer.split()[1]) < 500, (raw, answer)
            assert b"smuggled" not in answer
        assert httpx2.get(f"{address}/v1/campaigns/spring").json()["events"] == 1
