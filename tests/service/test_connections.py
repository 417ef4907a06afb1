"""Clients that behave badly: slow ones, endless heads, streams that nobody reads, crowds that say nothing."""

import json
import socket
import time

import pytest

from outlay.service import connection, stream
from tests.service.conftest import running

GET = b"GET /v1/campaigns/spring HTTP/1.1\r\nHost: localhost\r\n"


def connected(address: str) -> socket.socket:
    host, _, port = address.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def answered(client: socket.socket) -> int:
    return int(client.recv(65_536).split()[1])


def test_who_sends_a_request_byte_by_byte_is_not_waited_for(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SECONDS", 1.0)
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
                time.sleep(1.1)
            client.sendall(b"GET")
            assert client.recv(100) == b""


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


def test_a_stream_that_nobody_reads_ends_and_others_go_on(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SLOWEST", 0.5)
    with running(store, most_streams=1) as address:
        deaf = connected(address)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(b"GET /v1/campaigns/spring/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with connected(address) as client:
            note = {"n": 5, "metadata": {"text": "x" * 2000}}
            ask = json.dumps(note).encode()
            head = b"POST /v1/campaigns/spring/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            busy = b"GET /v1/campaigns/spring/events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
            client.sendall(busy)
            assert answered(client) == 503
            deaf.close()
            for _ in range(100):
                client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(ask) + ask)
                assert answered(client) in (200, 429)
                client.sendall(busy)
                if answered(client) == 200:
                    break
                time.sleep(0.05)
            else:
                pytest.fail("the stream of who has gone was never let go")


def test_a_crowd_that_says_nothing_keeps_nobody_out(store: str) -> None:
    with running(store) as address:
        crowd = [connected(address) for _ in range(150)]
        with connected(address) as client:
            client.sendall(GET + b"\r\n")
            assert answered(client) == 200
        for each in crowd:
            each.close()
