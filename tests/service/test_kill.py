"""kill -9 of the server under load, again and again: what was acknowledged is there once, and the budget is exact."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from decimal import Decimal

import pytest

from outlay import Campaign, Client
from outlay import client as clients
from outlay.campaign import verify
from outlay.errors import OutlayError
from tests.client.conftest import asked
from tests.service.conftest import POLICY

WORKERS = 8
MAIN = "from outlay.cli import main; main()"


def started(store: str, port: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", MAIN, "serve", "--store", store, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("outlay serves")
    return process


def killed_under_load(store: str, kills: int) -> tuple[int, Decimal]:
    """Have workers ask and tell while the server is killed so many times; how many tells were acknowledged."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    stop = threading.Event()
    told: list[int] = []
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            with Client(f"http://127.0.0.1:{port}", "killed", retry_for=60) as client:
                while not stop.is_set():
                    pull = asked(client)
                    client.tell(pull, cost=Decimal("0.001"), reward=1)
                    told.append(pull.id)
        except OutlayError as error:
            wrong.append(error)

    server = started(store, port)
    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for _ in range(kills):
        enough = len(told) + 3 * WORKERS
        while len(told) < enough and not wrong:
            time.sleep(0.01)
        os.kill(server.pid, signal.SIGKILL)
        server.communicate()
        server = started(store, port)
    stop.set()
    for worker in workers:
        worker.join()
    server.terminate()
    server.communicate()
    assert wrong == []
    assert len(set(told)) == len(told)
    with Campaign.open(store, "killed") as campaign:
        kept = {pull.id for pull in campaign.pulls(status="told")}
        assert kept == set(told)  # every tell is repeated until it is acknowledged
        assert campaign.pulls(status="open").listed() == []  # and no ask was made twice
        return len(told), campaign.status().exact.spent


@pytest.mark.parametrize("kills", [1, pytest.param(100, marks=pytest.mark.soak)])
def test_kills_under_load_lose_nothing(store: str, kills: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "LONGEST", 0.5)
    with Campaign(["a", "b"], 1000, POLICY, store=store, name="killed", reservation=0.001, first_pulls=None):
        pass
    told, spent = killed_under_load(store, kills)
    assert spent == told * Decimal("0.001")
    assert verify(store, "killed").ok
