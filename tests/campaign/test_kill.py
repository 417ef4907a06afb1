"""kill -9 under load: what was acknowledged is there, once, in the same words; the rest is there wholly or not."""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from outlay.campaign import verify
from tests.campaign.checker import checked
from tests.campaign.postgres import Server
from tests.campaign.worker import Noted, Workers, finish

THREADS = 4
ASKS = 3  # that half of the processes have begun before they are killed
often = pytest.mark.parametrize(("rounds", "kills"), [(1, 5), pytest.param(20, 10, marks=pytest.mark.soak)])


@often
def test_sqlite(workers: Workers, tmp_path: Path, rounds: int, kills: int) -> None:
    """So many stores, and so many kills of each."""
    for i in range(rounds):
        survive(workers, f"sqlite:///{tmp_path}/{i}.db", tmp_path / f"{i}.notes", random.Random(i), kills)


@often
def test_postgres(workers: Workers, tmp_path: Path, postgres_server: Server, rounds: int, kills: int) -> None:
    for i in range(rounds):
        name = f"kill_{uuid4().hex}"
        survive(workers, postgres_server.lend_database(name), tmp_path / f"{i}.notes", random.Random(i), kills)
        postgres_server.take_back(name)


@often
def test_with_requests_that_differ(workers: Workers, tmp_path: Path, rounds: int, kills: int) -> None:
    """What is learned from is there once, too: the choices are made anew from the ledger."""
    terms = {"context": 3, "requests": 10**6, "propensity_draws": 3}
    for i in range(rounds):
        store = f"sqlite:///{tmp_path}/{i}.db"
        survive(workers, store, tmp_path / f"{i}.notes", random.Random(i), kills, terms)
        verdict = verify(store)
        assert verdict.ok, verdict.problems


def survive(
    workers: Workers, store: str, notes: Path, rng: random.Random, kills: int, terms: dict[str, Any] | None = None
) -> None:
    """Kill a process again and again; after each time check, and take up what it left."""
    for kill in range(kills):
        before = len(Noted.read(notes).asking)
        child = workers.start("tests.campaign.worker.spend", store, str(notes), str(kill), THREADS, None, terms)
        # The first may die while it makes the tables, half of the others as soon as they are at work.
        if kill % 2:
            while len(Noted.read(notes).asking) < before + ASKS:
                time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        assert workers.wait(child) == -signal.SIGKILL
        if kill:
            check(store, notes)
        finish(store, notes, terms)
    check(store, notes)
    noted = Noted.read(notes)
    assert not noted.refused
    assert len(noted.asking) > kills
    assert noted.asking == noted.asked.keys()
    assert noted.told == set(noted.asked.values())


def check(store: str, notes: Path) -> None:
    Noted.read(notes).check(checked(store))
