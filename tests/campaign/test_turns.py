"""Processes that share a SQLite file: who has just written lets those who wait go first, and nobody waits for ever."""

import fcntl
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from outlay.campaign import Campaign
from outlay.campaign.stores import sqlite
from outlay.campaign.stores.sqlite import FileTurns
from outlay.errors import StoreBusy
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS, Workers


def test_who_is_next_comes_before_who_was_there_a_few_times(workers: Workers, tmp_path: Path) -> None:
    mine = FileTurns(tmp_path / "a.db")
    mine.begin()
    for i in range(5):
        child = workers.start("tests.campaign.test_turns.take_a_turn", str(tmp_path / "a.db"), str(tmp_path / str(i)))
        while not (tmp_path / f"next {i}").exists():
            workers.run("tests.campaign.test_turns.look", str(tmp_path / "a.db-turns"), str(tmp_path / f"next {i}"))
        assert not (tmp_path / str(i)).exists()
        for _ in range(sqlite.IN_A_ROW):
            mine.end()
            mine.begin()  # at once
        assert (tmp_path / str(i)).exists()
        assert workers.wait(child) == 0
    mine.end()
    mine.close()
    assert not (tmp_path / "a.db-turns").exists()


def take_a_turn(database: str, note: str) -> None:
    """In a process of its own."""
    theirs = FileTurns(Path(database))
    theirs.begin()
    Path(note).touch()
    theirs.end()


def look(path: str, note: str) -> None:
    """In a process of its own, for its own locks are no obstacle to a process: is somebody next?"""
    with Path(path).open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, sqlite._NEXT)
        except BlockingIOError:
            Path(note).touch()


def test_one_that_sleeps_in_its_turn(workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is passed over after a while: the turn is an order, and SQLite has the lock."""
    monkeypatch.setattr(sqlite, "PATIENCE", 0.05)
    store = f"sqlite:///{tmp_path}/a.db"
    Campaign(**TERMS, store=store).disconnect()
    with asleep(workers, tmp_path / "a.db"), Campaign(**TERMS, store=store) as campaign:
        assert campaign.ask() is not None
    assert len(checked(store)) == 2


@contextmanager
def asleep(workers: Workers, database: Path) -> Iterator[None]:
    """A process that sleeps in its turn, and is killed at the end."""
    note = database.with_name("note")
    child = workers.start("tests.campaign.test_turns.fall_asleep", str(database), str(note))
    try:
        while not note.exists():
            time.sleep(0.001)
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        assert workers.wait(child) == -signal.SIGKILL
        note.unlink()


def fall_asleep(database: str, note: str) -> None:
    """In a process of its own."""
    FileTurns(Path(database)).begin()
    Path(note).touch()
    signal.pause()


def test_a_worker_that_was_stopped_while_it_held_the_file(workers: Workers, tmp_path: Path) -> None:
    """The others are told so when their time is up, and go on when it does."""
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign(**TERMS, store=store) as campaign:
        child = workers.start("tests.campaign.test_turns.hold", str(tmp_path / "a.db"), str(tmp_path / "note"))
        while not (tmp_path / "note").exists():
            time.sleep(0.001)
        with pytest.raises(StoreBusy, match=r"did not answer within 0\.1 s"):
            campaign.ask(timeout=0.1)
        os.kill(child, signal.SIGKILL)
        assert workers.wait(child) == -signal.SIGKILL
        assert campaign.ask() is not None
    assert len(checked(store)) == 2  # what timed out was not done behind anybody's back


def hold(database: str, note: str) -> None:
    """In a process of its own."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    Path(note).touch()
    os.kill(os.getpid(), signal.SIGSTOP)
