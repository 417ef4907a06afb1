"""Shared by tests of the endpoint: its file, a gateway on a socket, a provider that answers as it is told."""

import copy
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import tomli_w

from outlay import Campaign
from outlay.campaign.records import PullStatus, Status
from outlay.integrations.gateway import Gateway
from outlay.integrations.gateway_file import load
from tests.service.conftest import running

KEY, HERE = "sk-of-the-provider-4711", "HERE_KEY"
FILE: dict[str, Any] = {
    "campaign": {"name": "bill", "budget": 1.0, "policy": "Frugal", "currency": "USD"},
    "providers": {"here": {"base_url": "", "key_env": HERE, "limit": "max_tokens"}},
    "arms": {
        "small": {"provider": "here", "model": "small", "input": 0.15, "output": 0.6, "max_output_tokens": 500},
        "large": {"provider": "here", "model": "large", "input": 2.5, "output": 10, "max_output_tokens": 500},
    },
}
GONE = object()
ASKED: dict[str, Any] = {"model": "auto", "messages": [{"role": "user", "content": "Why?"}]}


def changed(changes: dict[str, Any]) -> dict[str, Any]:
    """The file with other values at dotted paths; GONE for none."""
    file = copy.deepcopy(FILE)
    for path, value in changes.items():
        *parents, last = path.split(".")
        table = file
        for parent in parents:
            table = table.setdefault(parent, {})
        table.pop(last, None)
        if value is not GONE:
            table[last] = value
    return file


def written(folder: Path, base_url: str, changes: dict[str, Any]) -> Path:
    path = folder / "gateway.toml"
    path.write_text(tomli_w.dumps(changed({"providers.here.base_url": base_url, **changes})))
    return path


class Running:
    """A gateway that runs, its campaign and clients."""

    def __init__(self, address: str, store: str) -> None:
        self.address, self.store = address, store
        self.clients = ExitStack()

    def client(self, key: str = "any") -> openai.OpenAI:
        client = openai.OpenAI(base_url=f"{self.address}/v1", api_key=key, max_retries=0)
        return self.clients.enter_context(client)

    def status(self) -> Status:
        with Campaign.open(self.store, "bill") as campaign:
            return campaign.status()

    def pulls(self) -> list[PullStatus]:
        with Campaign.open(self.store, "bill") as campaign:
            return [*campaign.pulls()]

    def settled(self) -> list[PullStatus]:
        """The pulls, when none is open any more."""
        pulls = self.pulls()
        while any(pull.status == "open" for pull in pulls):
            time.sleep(0.02)
            pulls = self.pulls()
        return pulls


@contextmanager
def gateway(folder: Path, base_url: str, changes: dict[str, Any] | None = None, patience: int = 5) -> Iterator[Running]:
    file, store = load(written(folder, base_url, changes or {})), f"sqlite:///{folder / 'bill.db'}"
    with running(store, beside=lambda settings: Gateway(file, settings), patience=patience) as address:
        gate = Running(address, store)
        with gate.clients:
            yield gate


class Scripted(ThreadingHTTPServer):
    """A provider that does with each request what it is told, and keeps what it was sent."""

    def __init__(self, act: Callable[["Handler"], None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.act, self.seen = act, list[tuple[dict[str, str], dict[str, Any]]]()
        self.ports = set[int]()  # of the connections
        self.base_url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Scripted
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.ports.add(self.client_address[1])
        self.server.seen.append(({name.lower(): value for name, value in self.headers.items()}, json.loads(body)))
        self.server.act(self)

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, content: object, status: int = 200, media: str = "application/json", **headers: str) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"content-type": media, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def scripted(act: Callable[[Handler], None]) -> Iterator[Scripted]:
    provider = Scripted(act)
    thread = threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        provider.shutdown()
        provider.server_close()
        thread.join()
