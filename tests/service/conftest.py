"""Shared by tests of the service: an application on a fresh store, and a client that calls it in this process."""

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from starlette.testclient import TestClient

from outlay import Campaign, Client
from outlay.campaign import verify
from outlay.errors import OutlayError
from outlay.service import ServiceSettings, application
from outlay.service.app import Beside
from outlay.service.auth import KeyStore
from outlay.service.server import Server, bound

POLICY = "Frugal"  # plain Python: nothing is compiled


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one campaign, "spring": to make its tables takes longer than most tests."""
    path = tmp_path_factory.mktemp("begun") / "outlay.db"
    with Campaign({"small": 1, "large": 2}, 10, POLICY, store=f"sqlite:///{path}", name="spring"):
        pass
    return path


@pytest.fixture
def store(tmp_path: Path, begun: Path) -> str:
    shutil.copy(begun, tmp_path / "outlay.db")
    return f"sqlite:///{tmp_path}/outlay.db"


@contextmanager
def calling(store: str, **settings: Any) -> Iterator[TestClient]:
    app = application(ServiceSettings(store=store, **settings))
    with TestClient(app, base_url="http://localhost:8700", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def client(store: str) -> Iterator[TestClient]:
    with calling(store) as client:
        yield client


@pytest.fixture
def key_store(store: str) -> Iterator[KeyStore]:
    key_store = KeyStore(store)
    yield key_store
    key_store.close()


@contextmanager
def running(
    store: str,
    port: int = 0,
    beside: Callable[[ServiceSettings], Beside] | None = None,
    patience: int = 5,
    **settings: Any,
) -> Iterator[str]:
    """A service on a real socket, in a thread of this process."""
    given = ServiceSettings(store=store, **settings)
    app = application(given, None if beside is None else beside(given))
    ready: Queue[str] = Queue()
    server = Server(app, ready.put, patience=patience)
    thread = threading.Thread(target=server.run, args=[[bound("127.0.0.1", port)]])
    thread.start()
    try:
        yield ready.get(timeout=20)
    finally:
        server.end()
        thread.join(20)
        assert not thread.is_alive()


class Served:
    """`outlay serve` as a process of its own."""

    def __init__(self, store: str, *options: str) -> None:
        command = [sys.executable, "-c", "from outlay.cli import main; main()", "serve", "--store", store, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip().removeprefix("outlay serves ")

    def stop(self) -> str:
        """End it as a supervisor does; what it logged."""
        self.process.send_signal(signal.SIGTERM)
        _, logged = self.process.communicate(timeout=30)
        assert self.process.returncode in (0, -signal.SIGTERM), logged
        return logged


@pytest.fixture
def served(store: str) -> Iterator[Served]:
    served = Served(store, "--port", "0")
    yield served
    if served.process.poll() is None:
        served.process.kill()
    served.process.communicate()


class Load:
    """Threads that ask and tell, each by a client of its own that tries again, until the load is stopped."""

    def __init__(self, name: str, addresses: list[str], cost: Decimal) -> None:
        self.told: list[int] = []
        self._name, self._cost, self._wrong = name, cost, list[BaseException]()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=[address]) for address in addresses]
        for thread in self._threads:
            thread.start()

    def _work(self, address: str) -> None:
        try:
            with Client(address, self._name, retry_for=60) as client:
                while not self._over.is_set():
                    pull = client.ask()
                    assert pull is not None
                    client.tell(pull, cost=self._cost, reward=1)
                    self.told.append(pull.id)
        except OutlayError as error:
            self._wrong.append(error)

    def wait_for(self, more: int) -> None:
        enough = len(self.told) + more
        while len(self.told) < enough and not self._wrong:
            time.sleep(0.01)

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        assert self._wrong == []

    def check(self, store: str) -> None:
        """Every tell was acknowledged, each once, and the sum is exact."""
        assert len(set(self.told)) == len(self.told)
        with Campaign.open(store, self._name) as campaign:
            assert {pull.id for pull in campaign.pulls(status="told")} == set(self.told)
            assert campaign.pulls(status="open").listed() == []  # and no ask was made twice
            assert campaign.status().exact.spent == len(self.told) * self._cost
        assert verify(store, self._name).ok
