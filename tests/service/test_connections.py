"""Clients that behave badly: slow ones, endless heads, streams that nobody reads, crowds that say nothing."""

import asyncio
import socket
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from outlay import Campaign
from outlay.service import ServiceSettings, application, server
from outlay.service.auth import KeyStore
from tests.service.conftest import running

NOTE, PULLS = 2000, 5000  # so many notes of so many letters are more than the buffers on the way hold
GET = b"GET /v1/campaigns/spring HTTP/1.1\r\nHost: localhost\r\n"


def connected(address: str) -> socket.socket:
    host, _, port = address.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def answered(client: socket.socket) -> int:
    return int(client.recv(65_536).split()[1])


def test_who_sends_a_request_byte_by_byte_is_not_waited_for(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS", 0.4)
    body = b"POST /v1/campaigns/spring/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    with running(store) as address:
        clients = [connected(address) for _ in range(4)]
        for client, start in zip(clients, (b"", b"GET / HT", GET, body), strict=True):
            client.sendall(start)
        for client in clients:
            with client:
                assert client.recv(100) == b""  # it was cut off
        with connected(address) as client:
            for _ in range(2):  # between two requests there is more time
                client.sendall(GET + b"\r\n")
                assert answered(client) == 200
                time.sleep(0.5)
            client.sendall(b"GET")
            assert client.recv(100) == b""


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET /v1/camp", id="line"),
        pytest.param(GET, id="headers"),
        pytest.param(b"POST /session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", id="body"),
        pytest.param(b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100, id="nothing read"),
        pytest.param(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", id="idle"),
    ],
)
def test_a_crowd_without_a_key_takes_no_place(
    store: str, key_store: KeyStore, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_KEYLESS", 5)
    monkeypatch.setattr(server, "SHOW_KEY", 0.2)
    token = key_store.new("boss", ["admin"])[0].encode()
    ask = GET + b"Authorization: Bearer " + token + b"\r\n\r\n"
    with running(store, most_active=3) as address, ExitStack() as held:
        first = held.enter_context(connected(address))
        first.sendall(ask)
        assert answered(first) == 200
        crowd = [held.enter_context(deafly(address, sent)) for _ in range(30)]
        for each in (first, held.enter_context(connected(address))):  # one that showed its key before, and a new one
            each.sendall(ask)
            assert answered(each) == 200
        for _ in range(300):
            if sum(map(was_cut_off, crowd)) == 25:
                break
            time.sleep(0.05)
        else:
            pytest.fail("more than five were left")
        first.sendall(ask)
        assert answered(first) == 200


def test_a_body_that_does_not_arrive_takes_no_place(store: str) -> None:
    unfinished = b"POST /v1/campaigns/spring/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    with running(store, most_active=1) as address, ExitStack() as held:
        for _ in range(5):
            held.enter_context(deafly(address, unfinished))
        assert httpx2.get(f"{address}/v1/campaigns/spring").status_code == 200


def test_little_is_read_of_who_has_no_key(store: str) -> None:
    with running(store) as address:
        said = httpx2.post(f"{address}/session", json={"key": "x" * 5000})
    assert (said.status_code, said.json()["code"]) == (413, "too_large")


def test_a_head_without_end_is_refused(store: str) -> None:
    sent = 0
    with running(store) as address, connected(address) as client:
        client.sendall(GET)
        try:
            while sent < 10_000_000:
                client.sendall(b"X-More: " + b"x" * 1000 + b"\r\n")
                sent += 1010
                time.sleep(0.0001)
        except OSError:
            pass  # it was cut off
    assert sent < 5_000_000


def deafly(address: str, sent: bytes) -> socket.socket:
    """Somebody who sends this, and reads nothing of the answer."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # before it connects, so that little fits
    host, _, port = address.removeprefix("http://").rpartition(":")
    deaf.settimeout(20)
    deaf.connect((host, int(port)))
    deaf.sendall(sent)
    return deaf


def was_cut_off(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        while client.recv(1 << 20):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


def bytes_left(client: socket.socket) -> int:
    """How many bytes can be read until the connection ends, one way or another."""
    found = 0
    try:
        while data := client.recv(1 << 20):
            found += len(data)
    except ConnectionResetError:
        pass
    return found


@pytest.mark.parametrize("path", [b"/events/stream", b"/export"])
def test_who_reads_nothing_is_cut_off_and_others_go_on(
    store: str, path: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SLOWEST", 0.5)
    with Campaign.open(store, "spring") as campaign:
        campaign.set_budget(10**6)
        campaign.ask_many(PULLS, metadata={"text": "x" * NOTE})
    with running(store, most_streams=1) as address, ExitStack() as held:
        deaf = held.enter_context(deafly(address, GET.replace(b" HTTP", path + b" HTTP") + b"\r\n"))
        for _ in range(300):
            numbers = httpx2.get(f"{address}/metrics").text
            if "outlay_requests_active 1.0" in numbers and "outlay_streams 0.0" in numbers:
                break
            time.sleep(0.05)
        else:
            pytest.fail("whoever reads nothing was never let go")
        assert bytes_left(deaf) < PULLS * NOTE  # it was cut off in the middle
        with deafly(
            address, GET.replace(b" HTTP", b"/events/stream HTTP") + b"\r\n"
        ) as other:  # there is room for a stream again
            other.settimeout(10)
            assert other.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize("number", [100, pytest.param(1000, marks=pytest.mark.soak)])
def test_a_crowd_that_says_nothing_keeps_nobody_out(store: str, number: int) -> None:
    with running(store) as address:
        crowd = [connected(address) for _ in range(number)]
        with connected(address) as client:
            client.sendall(GET + b"\r\n")
            assert answered(client) == 200
        for each in crowd:
            each.close()


def test_nothing_is_sent_on_a_connection_that_is_lost(store: str) -> None:
    """Before uvicorn knows of it, uvloop raises: a stream could not be heard to its end."""
    cycle = SimpleNamespace(disconnected=False)
    connection = SimpleNamespace(transport=SimpleNamespace(is_closing=lambda: True), cycle=cycle, keyless_since=None)
    scope = {"type": "http", "method": "GET", "path": "/none", "headers": [(b"host", b"localhost")]}

    async def send(_: object) -> None:
        raise RuntimeError("the handler is closed")

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    asyncio.run(application(ServiceSettings(store=store))({**scope, "outlay.connection": connection}, receive, send))
    assert cycle.disconnected, "nothing more is sent of a stream"
