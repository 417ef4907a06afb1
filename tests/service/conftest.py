"""Shared by tests of the service: an application on a fresh store, and a client that calls it in this process."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from starlette.testclient import TestClient

from outlay import Campaign
from outlay.service import ServiceSettings, application
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
    """A service without keys."""
    with calling(store) as client:
        yield client


@pytest.fixture
def key_store(store: str) -> Iterator[KeyStore]:
    key_store = KeyStore(store)
    yield key_store
    key_store.close()


@contextmanager
def running(store: str, port: int = 0, **settings: Any) -> Iterator[str]:
    """A service on a real socket, in a thread of this process."""
    app = application(ServiceSettings(store=store, **settings))
    ready: Queue[str] = Queue()
    server = Server(app, ready.put, patience=5)
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
        command = [
            sys.executable,
            "-c",
            "from outlay.cli import main; main()",
            "serve",
            "--store",
            store,
            "--port",
            "0",
            *options,
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
        )
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
    served = Served(store)
    yield served
    if served.process.poll() is None:
        served.process.kill()
    served.process.communicate()
