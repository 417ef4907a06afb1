"""`outlay serve` as a process: what it refuses, streams that go on, waits, and an end that loses nothing."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, nullcontext
from pathlib import Path
from unittest.mock import Mock

import httpx2
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from outlay import Campaign
from outlay.campaign import verify
from outlay.campaign.stores import schema
from outlay.cli import commands
from outlay.errors import BadParameter, StoreError
from outlay.service import ServiceSettings, application
from outlay.service.app import traced
from outlay.service.auth import KeyStore
from outlay.service.server import bound, check
from tests.service.conftest import Served, running


def test_it_does_not_listen_beyond_this_machine_without_a_key(store: str, key_store: KeyStore) -> None:
    settings = ServiceSettings(store=store, host="0.0.0.0")
    with pytest.raises(BadParameter, match="keys new"):
        check(settings)
    _, key = key_store.new("first", ["read"])
    check(settings)
    key_store.revoke(key.id)
    with pytest.raises(BadParameter, match="keys new"):
        check(settings)
    check(ServiceSettings(store=store))


def test_a_port_that_is_taken_and_a_host_that_is_not_ours() -> None:
    with bound("127.0.0.1", 0) as taken, pytest.raises(BadParameter, match="port of serve"):
        bound("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(BadParameter, match="host of serve"):
        bound("192.0.2.1", 0)


def test_streams_waits_and_an_orderly_end(served: Served, store: str) -> None:
    """One process for all of it, for a process takes a second to start."""
    spring = f"{served.address}/v1/campaigns/spring"
    kinds: list[str] = []
    numbers: list[int] = []
    begun, ended = threading.Event(), threading.Event()

    def listen() -> None:
        with httpx2.stream("GET", f"{spring}/events/stream", headers={"last-event-id": "1"}, timeout=30) as stream:
            for line in stream.iter_lines():
                begun.set()
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    kinds.append(event["kind"])
                    numbers.append(event["seq"])
                    if len(kinds) == 2:
                        ended.set()

    listening = threading.Thread(target=listen)
    listening.start()
    assert begun.wait(20)
    with httpx2.Client(timeout=30) as client:
        pull = client.post(f"{spring}/ask", json={}).json()["pulls"][0]
        client.post(f"{spring}/tell", json={"pull": pull["id"], "cost": 1, "reward": 1})
        assert ended.wait(20)
        assert (kinds, numbers) == (["asked", "told"], [2, 3])
        client.post(f"{spring}/pause")
        refused = client.post(f"{spring}/ask", json={"wait": 0.2})
        assert refused.json()["code"] == "not_now"
        waiting: list[int] = []
        waiter = threading.Thread(
            target=lambda: waiting.append(httpx2.post(f"{spring}/ask", json={"wait": 60}, timeout=60).status_code)
        )
        waiter.start()
        while "requests_active 3.0" not in client.get(f"{served.address}/metrics").text:
            time.sleep(0.02)
    logged = served.stop()
    listening.join(20)
    waiter.join(20)
    assert waiting == [503]
    assert not listening.is_alive()
    for line in logged.splitlines():
        assert {"at", "level", "log", "message"} <= json.loads(line).keys()
    assert verify(store, "spring").ok


def test_an_older_store_is_not_served(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/old.db"
    Campaign(["a"], 5, store=store).disconnect()
    for version in ("0000", schema.REVISION):
        with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
            connection.execute("UPDATE alembic_version SET version_num = ?", [version])
            connection.commit()
        with nullcontext() if version == schema.REVISION else pytest.raises(StoreError, match="outlay migrate"):
            check(ServiceSettings(store=store))
    again = CliRunner().invoke(commands, ["migrate", "--store", store])
    assert again.output == "the store is of this version already\n"


def test_keys_from_the_command_line(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/new.db"

    def run(*words: str) -> list[dict[str, object]]:
        done = CliRunner().invoke(commands, ["keys", words[0], "--store", store, *words[1:]])
        assert done.exit_code == 0, done.output
        return [json.loads(line) for line in done.output.splitlines()]

    (made,) = run("new", "workers", "--scope", "ask", "--campaign", "spring", "--days", "30")
    assert str(made["key"]).startswith("out_")
    assert len(str(made["key"])) == 47
    run("revoke", str(made["id"]))
    (listed,) = run("list")
    assert "key" not in listed
    assert listed["revoked"] is not None
    assert run("audit") == []
    unknown = CliRunner().invoke(commands, ["keys", "revoke", "--store", store, "none"])
    assert unknown.exit_code == 1
    with Campaign(["a"], 5, store=store):  # the tables of keys are in nobody's way
        pass


def test_the_demo_shows_a_campaign_that_moves(tmp_path: Path) -> None:
    main = "from outlay.cli import main; main()"
    command = [sys.executable, "-c", main, "demo-service", "--port", "0", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1].partition("/#")[0]
        pulls = 0
        while pulls < 5:
            pulls = httpx2.get(f"{address}/v1/campaigns/router").json()["pulls"]
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{address}/healthz")


EXAMPLE = Path(__file__).parents[2] / "examples" / "shared_budget.py"


def test_the_workers_share_the_cap(store: str) -> None:
    with running(store) as address:
        command = [sys.executable, "-W", "error", str(EXAMPLE), address, "0.1"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    calls, money = done.stdout.splitlines()
    assert len(re.findall(r"\d+", calls)) == 4
    assert 0.098 < float(money.split("$")[1].split()[0]) <= 0.1
    assert money.endswith("of $0.1: closed")
    assert verify(store, "shared").ok


def test_without_the_package_it_is_refused(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    done = CliRunner().invoke(commands, ["serve", "--store", store, "--trace", "--port", "0"])
    assert done.exit_code == 2
    assert "opentelemetry-instrumentation-asgi" in done.output


def test_spans_are_named_by_routes(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    span, modules = Mock(), {f"opentelemetry{part}": Mock() for part in ("", ".trace", ".instrumentation")}
    modules["opentelemetry.trace"].get_current_span.return_value = span
    modules["opentelemetry.instrumentation.asgi"] = Mock(OpenTelemetryMiddleware=lambda app, **_: app)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    with TestClient(traced(application(ServiceSettings(store=store))), base_url="http://localhost:8700") as client:
        client.post("/v1/campaigns/spring/ask", json={}, headers={"x-request-id": "r7"})
    span.update_name.assert_called_once_with("POST /v1/campaigns/{campaign}/ask")
    span.set_attributes.assert_called_once_with({"http.route": "/v1/campaigns/{campaign}/ask", "outlay.request": "r7"})
