"""What ends, is refused or shared so that others are served: streams of revoked keys, files."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import httpx2
import pytest
from starlette.testclient import TestClient

from outlay import Campaign
from outlay.service import auth, streams
from outlay.service.auth import KeyStore
from tests.service.conftest import calling, running

STREAMS = ["/v1/campaigns/spring/events/stream", "/v1/campaigns/spring/view/stream", "/v1/overview/stream"]
FILE = "/v1/campaigns/spring/export?format=csv"


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_ends_with_its_key(
    store: str, key_store: KeyStore, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "FRESH", 0.0)
    token, key = key_store.new("reader", ["read"], ["spring"])
    headers = {"authorization": f"Bearer {token}"}
    with running(store) as address, httpx2.stream("GET", address + path, headers=headers, timeout=10) as stream:
        lines: Iterator[str] = stream.iter_lines()
        assert next(lines).startswith("retry")
        key_store.revoke(key.id)
        with Campaign.open(store, "spring") as campaign:
            campaign.ask()
        rest = "\n".join(lines)  # to its end: a stream that went on would be waited for in vain
    assert '"in_flight":1' not in rest
    assert '"kind":"asked"' not in rest


@pytest.mark.parametrize("path", STREAMS)
def test_a_head_holds_no_stream(store: str, path: str) -> None:
    """It is answered and over: more of them than there may be streams are no trouble."""
    with running(store, most_streams=1) as address, httpx2.Client(base_url=address, timeout=10) as client:
        for _ in range(3):
            assert client.head(path).status_code == 200
        assert "outlay_streams 0.0" in client.get("/metrics").text


def test_a_stream_of_nobody_ends_when_the_first_key_is_made(
    store: str, key_store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "FRESH", 0.0)
    with running(store) as address, httpx2.stream("GET", address + STREAMS[2], timeout=10) as stream:
        lines = stream.iter_lines()
        assert any('"name":"spring"' in line for line in lines)
        key_store.new("first", ["read"])
        assert "campaigns" not in "".join(lines)  # to its end


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Semaphore, threading.Event]]:
    """Files that are not written until that is allowed: when each is begun, and the leave to go on."""
    begun, go_on = threading.Semaphore(0), threading.Event()

    def write(_: Campaign, file: BinaryIO) -> None:
        begun.release()
        go_on.wait(20)
        file.write(b"rows")

    monkeypatch.setattr(streams, "write_csv", write)
    yield begun, go_on
    go_on.set()


@contextmanager
def takers(client: TestClient, many: int, headers: dict[str, str]) -> Iterator[list[str]]:
    """So many who take a file away, each in a thread, and what they got."""
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.get(FILE, headers=headers).text)) for _ in range(many)
    ]
    for thread in threads:
        thread.start()
    yield answers
    for thread in threads:
        thread.join(20)


def test_files_beyond_a_few_are_refused(store: str, key_store: KeyStore, slow: tuple[Any, Any]) -> None:
    begun, go_on = slow
    headers = {"authorization": f"Bearer {key_store.new('reader', ['read'])[0]}"}
    with calling(store) as client, takers(client, streams.MOST_FILES, headers) as answers:
        assert all(begun.acquire(timeout=20) for _ in range(streams.MOST_FILES))
        refused = client.get(FILE, headers=headers)
        assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "busy", "5")
        go_on.set()
    assert answers == ["rows"] * streams.MOST_FILES


def test_keys_are_looked_up_while_all_other_threads_are_taken(
    store: str, key_store: KeyStore, slow: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "FRESH", 0.0)
    monkeypatch.setattr(streams, "MOST_FILES", 100)
    begun, go_on = slow
    headers = {"authorization": f"Bearer {key_store.new('reader', ['read'])[0]}"}
    threads = min(32, (os.cpu_count() or 1) + 4)  # of asyncio's own
    with calling(store) as client, takers(client, threads + 1, headers) as answers:
        assert all(begun.acquire(timeout=20) for _ in range(threads))
        assert client.get("/session", headers=headers).json()["name"] == "reader"
        assert not answers
        go_on.set()
    assert answers == ["rows"] * (threads + 1)
