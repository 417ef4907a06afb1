"""Where a webhook may go: to the address that was checked, to no private one, and wherever it points to never."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from outlay import Campaign
from outlay.service import webhook
from outlay.service.warner import warning_id
from outlay.service.webhook import NotReceived, is_public, post

PRIVATE = [
    "127.0.0.1", "127.255.0.3", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:10.0.0.1",
    "2002:0a00:0001::1", "64:ff9b::7f00:1", "fec0::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_of_all_kinds(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"])
def test_public_addresses(address: str) -> None:
    assert is_public(address)


@contextmanager
def answering(status: int, **headers: str) -> Iterator[tuple[int, list[str]]]:
    """A receiver that answers so, and what paths it was called by."""
    called: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            called.append(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port, called
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_private_address_is_called_only_where_that_is_allowed() -> None:
    with answering(204) as (port, called):
        for host in ("127.0.0.1", "localhost"):
            with pytest.raises(NotReceived, match="private address"):
                post(f"http://{host}:{port}/hook", "hush", "1", b"{}")
        assert called == []
        post(f"http://127.0.0.1:{port}/hook?a=1", "hush", "1", b"{}", private=True)
        assert called == ["/hook?a=1"]


def test_redirects_and_refusals_are_not_received() -> None:
    with answering(204) as (port, elsewhere), answering(302, Location=f"http://127.0.0.1:{port}/") as (first, _):
        with pytest.raises(NotReceived, match="answered 302"):
            post(f"http://127.0.0.1:{first}/", "hush", "1", b"{}", private=True)
        assert elsewhere == []


def test_a_name_that_changes_its_mind_is_called_where_it_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rebinding: the name is public when it is looked up, and private when it is looked up again."""
    looked_up: list[str] = []
    connected: list[Any] = []

    def look_up(host: str, port: int, **_: object) -> list[Any]:
        looked_up.append(host)
        address = "93.184.216.34" if len(looked_up) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(address: Any, *_: object, **__: object) -> socket.socket:
        connected.append(address)
        raise OSError("no network in tests")

    monkeypatch.setattr("outlay.service.webhook.socket.getaddrinfo", look_up)
    monkeypatch.setattr("outlay.service.webhook.socket.create_connection", connect)
    with pytest.raises(OSError, match="no network"):
        post("https://hooks.example.com/a", "hush", "1", b"{}")
    assert (looked_up, connected) == (["hooks.example.com"], [("93.184.216.34", 443)])


def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80)) for each in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr("outlay.service.webhook.socket.getaddrinfo", lambda *_, **__: found)
    with pytest.raises(NotReceived, match="private address"):
        post("http://hooks.example.com/", "hush", "1", b"{}")


def test_a_warning_has_one_id_per_window() -> None:
    status = Campaign({"a": 1}, 10, "Frugal", window="day", timezone="Europe/Berlin").status()
    assert status.window is not None
    tomorrow = status._replace(window=status.window._replace(start=datetime(2030, 1, 1, tzinfo=UTC)))
    assert warning_id(status, 0.8) == warning_id(status._replace(spent=9.0), 0.8)
    assert len({warning_id(each, level) for each in (status, tomorrow) for level in (0.8, 0.9)}) == 4


def test_who_answers_a_byte_at_a_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte would be in time: other warnings, and the end of the service, would wait for the last."""
    monkeypatch.setattr(webhook, "TIMEOUT", 0.2)
    over = threading.Event()

    def drip() -> None:
        with server.accept()[0] as caller:
            for byte in b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20 + b"\r\n":
                with suppress(OSError):
                    caller.send(bytes([byte]))
                if over.wait(0.05):
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises(OSError, match="the receiver speaks no HTTP"):
                post(f"http://127.0.0.1:{server.getsockname()[1]}/", "s", "w", b"{}", private=True)
        finally:
            over.set()
            thread.join()
