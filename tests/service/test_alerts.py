"""Warnings before a budget is spent: once for each level and budget, signed, sent again until they are received."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from outlay import Campaign
from outlay.cli import commands
from outlay.service import alerts
from outlay.service.alerts import post, signature, warning_id
from tests.service.conftest import calling

SPRING = "/v1/campaigns/spring"


class Receiver:
    """A webhook that answers so at first."""

    def __init__(self, failures: int, status: int = 500, **headers: str) -> None:
        self.received: list[tuple[str, dict[str, object]]] = []
        self.arrived = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                at = self.headers["x-outlay-time"]
                assert self.headers["x-outlay-signature"] == signature("hush", at, body)
                outer.received.append((self.headers["x-outlay-warning"], json.loads(body)))
                self.send_response(status if len(outer.received) <= failures else 204)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                outer.arrived.set()

            def log_message(self, *args: object) -> None:
                return

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def wait(self, number: int) -> None:
        """Until so many were received."""
        while len(self.received) < number:
            self.arrived.clear()
            if len(self.received) < number:
                assert self.arrived.wait(20)

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver(failures=1)
    yield receiver
    receiver.close()


def test_each_level_of_each_budget_is_warned_of_once(
    store: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "EVERY", 0.05)
    monkeypatch.setattr(alerts, "FIRST", 0.05)
    settings = {"warn_at": (0.5, 0.9), "webhook": receiver.address, "webhook_secret": "hush"}
    with calling(store, **settings) as client:

        def spend(cost: float) -> None:
            pull = client.post(f"{SPRING}/ask", json={}).json()["pulls"][0]["id"]
            client.post(f"{SPRING}/tell", json={"pull": pull, "cost": cost, "reward": 1})

        spend(4.9)
        spend(0.1)
        receiver.wait(2)
        (first, said), (again, _) = receiver.received
        assert first == again == said["warning"]
        assert (said["campaign"], said["level"]) == ("spring", 0.5)
        assert said["exact"] == {"budget": "10", "spent": "5", "reserved": "0", "left": "5"}
        client.post(f"{SPRING}/budget", json={"budget": 8})
        receiver.wait(3)
        assert receiver.received[2][0] != first
        spend(2.5)
        receiver.wait(4)
        assert [each["level"] for _, each in receiver.received] == [0.5, 0.5, 0.5, 0.9]
    with calling(store, **settings):  # after a restart it is said again, under the same names
        receiver.wait(6)
    assert {name for name, _ in receiver.received[4:6]} == {name for name, _ in receiver.received[2:4]}


def test_the_service_ends_while_a_receiver_does_not_answer_and_says_it_after_the_next_start(
    store: str, receiver: Receiver
) -> None:
    warnings = {"warn_at": (0.5, 0.8, 0.9), "webhook_secret": "hush"}
    with Campaign.open(store, "spring") as campaign:
        pull = campaign.ask()
        assert pull is not None
        pull.tell(cost=9.5, reward=1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        with calling(store, webhook=f"http://127.0.0.1:{deaf.getsockname()[1]}/", **warnings):
            unanswered, _ = deaf.accept()
            began = time.monotonic()
        assert time.monotonic() - began < alerts.TIMEOUT
        unanswered.close()
    with calling(store, webhook=receiver.address, **warnings):
        receiver.wait(4)  # the first is answered 500
    assert {said["level"] for _, said in receiver.received} == {0.5, 0.8, 0.9}


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    elsewhere = Receiver(failures=1, status=302, Location=receiver.address)
    try:
        with pytest.raises(OSError, match="answered 302"):
            asyncio.run(post(elsewhere.address, "hush", "1", b"{}"))
    finally:
        elsewhere.close()
    assert receiver.received == []


def test_a_warning_has_one_id_per_window() -> None:
    status = Campaign({"a": 1}, 10, "Frugal", window="day", timezone="Europe/Berlin").status()
    assert status.window is not None
    tomorrow = replace(status, window=replace(status.window, start=datetime(2030, 1, 1, tzinfo=UTC)))
    assert warning_id(status, 0.8) == warning_id(replace(status, spent=9.0), 0.8)
    assert len({warning_id(each, level) for each in (status, tomorrow) for level in (0.8, 0.9)}) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--warn", "1.5"], "warn of serve"),
        (["--warn", "0.5", "--webhook", "file:///etc/passwd"], "webhook of serve"),
        (["--warn", "0.5", "--webhook", "http://localhost/x"], "OUTLAY_WEBHOOK_SECRET"),
        (["--webhook", "http://localhost/x"], "warn of serve"),
    ],
)
def test_settings_that_make_no_sense(store: str, options: list[str], said: str) -> None:
    done = CliRunner().invoke(commands, ["serve", "--store", store, *options], env={"OUTLAY_WEBHOOK_SECRET": None})
    assert done.exit_code == 2
    assert said in done.output
