"""kill -9 under load: what was acknowledged is there, once, in the same words; the rest is there wholly or not."""

import os
import random
import signal
import time
from pathlib import Path
from uuid import uuid4

from tests.campaign.checker import checked
from tests.campaign.postgres import Server
from tests.campaign.worker import Noted, Workers, finish

ROUNDS, KILLS = (20, 10) if "OUTLAY_SOAK" in os.environ else (1, 8)  # stores, and kills of each
THREADS = 4


def test_sqlite(workers: Workers, tmp_path: Path) -> None:
    for i in range(ROUNDS):
        survive(workers, f"sqlite:///{tmp_path}/{i}.db", tmp_path / f"{i}.notes", random.Random(i))


def test_postgres(workers: Workers, tmp_path: Path, postgres_server: Server) -> None:
    for i in range(ROUNDS):
        name = f"kill_{uuid4().hex}"
        store = postgres_server.create_database(name)
        survive(workers, store, tmp_path / f"{i}.notes", random.Random(i))
        postgres_server.drop_database(name)


def survive(workers: Workers, store: str, notes: Path, rng: random.Random) -> None:
    """Kill a process again and again; after each time check, and take up what it left."""
    for kill in range(KILLS):
        before = len(Noted.read(notes).asking)
        child = workers.start("tests.campaign.worker.spend", store, str(notes), str(kill), THREADS, None, None)
        # The first may die while it makes the tables, half of the others as soon as they are at work.
        if kill % 2:
            while len(Noted.read(notes).asking) == before:
                time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        assert workers.wait(child) == -signal.SIGKILL
        if kill:
            check(store, notes)
        finish(store, notes)
    check(store, notes)
    noted = Noted.read(notes)
    assert not noted.refused
    assert len(noted.asking) > KILLS
    assert noted.asking == noted.asked.keys()
    assert noted.told == set(noted.asked.values())


def check(store: str, notes: Path) -> None:
    Noted.read(notes).check(checked(store))
