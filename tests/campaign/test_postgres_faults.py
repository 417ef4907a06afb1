"""A PostgreSQL server that crashes, connections that are cut or pooled, workers that race, stop or fall asleep."""

import json
import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked, Told
from outlay.campaign.stores import engines
from outlay.errors import CampaignConflict, PullOver, StoreBusy
from tests.campaign.busy import asked
from tests.campaign.checker import checked
from tests.campaign.cutter import Cutter
from tests.campaign.postgres import PORT, Server, unavailable
from tests.campaign.worker import TERMS, Noted, Notes, Workers, pull_once, spend, together

PROCESSES, THREADS = 8, 4


@pytest.fixture(scope="module")
def crashing(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server to crash: what has reached the operating system outlives it, so waiting for the disk is for the soak."""
    if reason := unavailable():
        pytest.skip(reason)
    with Server(durable=request.param) as server:
        yield server


@pytest.mark.parametrize(
    ("crashing", "crashes"), [(False, 3), pytest.param(True, 50, marks=pytest.mark.soak)], indirect=["crashing"]
)
def test_a_server_that_crashes_under_load(crashing: Server, crashes: int, tmp_path: Path) -> None:
    """Callers wait for it, for a minute at most; an unanswered COMMIT is neither lost nor done twice.

    A server that takes seconds to start, on a busy machine, and is up for a tenth of one might be missed for a minute:
    now and then it stays until somebody was served.
    """
    rng, notes = random.Random(1), tmp_path / "notes"

    def crash() -> None:
        for i in range(crashes):
            seen, deadline = size(), time.monotonic() + 60
            while i % 5 == 0 and size() == seen and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.uniform(0.05, 0.15))
            crashing.restart("immediate")

    def size() -> int:
        return notes.stat().st_size if notes.exists() else 0

    under_load(crashing.create_database("crashes"), notes, crash)


@pytest.mark.parametrize(
    ("crashing", "cuts"), [(False, 20), pytest.param(True, 300, marks=pytest.mark.soak)], indirect=["crashing"]
)
def test_connections_that_are_cut_under_load(crashing: Server, cuts: int, tmp_path: Path) -> None:
    rng = random.Random(2)
    store = crashing.create_database("cuts")

    def cut() -> None:
        with psycopg.connect(crashing.url("postgres").replace("+psycopg", ""), autocommit=True) as connection:
            for _ in range(cuts):
                time.sleep(rng.uniform(0.0, 0.02))
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'cuts'")

    under_load(store, tmp_path / "notes", cut)


def under_load(store: str, notes: Path, trouble: Any) -> None:
    """Four threads ask and tell until the trouble is over; then every step is in the ledger, once."""
    note = Notes(notes)
    over = False

    def work(name: int) -> None:
        done = 0
        while not over or done < 10:
            pull_once(campaign, note, f"{name}/{done}")
            done += 1

    def troubled() -> None:
        nonlocal over
        try:
            trouble()
        finally:
            over = True

    with Campaign(**TERMS, store=store) as campaign:
        together([troubled, *(partial(work, i) for i in range(THREADS))])
    noted = Noted.read(notes)
    assert not noted.refused
    assert_all_is_there(noted, store)


def assert_all_is_there(noted: Noted, store: str) -> None:
    records = checked(store)
    noted.check(records)
    assert noted.asked == {r.event.key: r.seq for r in records if isinstance(r.event, Asked)}
    assert noted.told == {r.event.pull for r in records if isinstance(r.event, Told)} == set(noted.asked.values())


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("key", [None, "key"])
def test_a_commit_that_is_not_answered(
    postgres_server: Server, postgres_url: str, where: Literal["before", "after"], key: str | None
) -> None:
    """Whether it came to pass or not, the caller gets one decision, and the ledger has one."""
    name = sa.make_url(postgres_url).database
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        Cutter(postgres_server.folder, Path(folder), PORT) as wire,
        Campaign(**TERMS, store=f"postgresql://postgres@/{name}?host={folder}&port={PORT}") as campaign,
    ):
        wire.cut(where)
        pull = asked(campaign, key)
        wire.cut(where)
        receipt = campaign.tell(pull, 5, 0.5)
        wire.cut(where)
        assert campaign.tell(pull, 5, 0.5) == replace(receipt, duplicate=True)
        assert wire.cuts == 3
    assert not receipt.duplicate
    _, ask, told = checked(postgres_url)
    assert ask.seq == pull.id == told.event.pull  # type: ignore[union-attr]


def test_opening_at_the_same_moment(workers: Workers, postgres_url: str) -> None:
    """Both find no campaign and make one; who comes second opens that of the first."""
    Campaign(**TERMS, store=postgres_url, name="another").disconnect()
    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        connection.execute("LOCK TABLE campaign IN SHARE MODE")  # it can be read, and not written
        children = [workers.start("tests.campaign.test_postgres_faults.open_it", postgres_url) for _ in range(2)]
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'campaign'::regclass"
        while connection.execute(waiting).fetchone() != (2,):
            time.sleep(0.01)
    assert [workers.wait(child) for child in children] == [0, 0]
    assert len(checked(postgres_url)) == 1


def open_it(store: str) -> None:
    """In a process of its own."""
    Campaign(**TERMS, store=store).disconnect()


@pytest.mark.parametrize("keys", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_racing_workers_with_the_same_key_get_the_same_decision(
    workers: Workers, postgres_url: str, tmp_path: Path, keys: int
) -> None:
    """And may all tell it: who says the same is heard, who says otherwise is refused, and one tell counts."""
    Campaign(**TERMS, store=postgres_url).disconnect()
    name = "tests.campaign.test_postgres_faults.race"
    children = [workers.start(name, postgres_url, str(tmp_path / f"{i}.json"), i, keys) for i in range(4)]
    assert [workers.wait(child) for child in children] == [0] * 4
    answers = [json.loads((tmp_path / f"{i}.json").read_text()) for i in range(4)]
    assert all(answer["pulls"] == answers[0]["pulls"] for answer in answers)
    records = checked(postgres_url)
    assert {r.event.key: r.seq for r in records if isinstance(r.event, Asked)} == answers[0]["pulls"]
    outcomes = {r.event.pull: r.event.cost for r in records if isinstance(r.event, Told)}
    assert len(outcomes) == keys == sum(isinstance(r.event, Told) for r in records)
    for answer in answers:
        for decision, (cost, taken, duplicate) in zip(answer["pulls"].values(), answer["tells"], strict=True):
            assert taken == (outcomes[decision] == cost)
            assert taken or not duplicate
    first: Counter[int] = Counter()
    for answer in answers:
        first.update(
            d for d, tell in zip(answer["pulls"].values(), answer["tells"], strict=True) if tell[1:] == [True, False]
        )
    assert first == dict.fromkeys(outcomes, 1)


def race(store: str, path: str, name: int, keys: int) -> None:
    """In a process of its own: ask with the keys that all use, and tell one of two outcomes."""
    pulls, tells = {}, []
    with Campaign(**TERMS, store=store) as campaign:
        for i in range(keys):
            try:
                pull = campaign.ask(f"key {i}")
            except PullOver as over:  # another was so quick as to have told it
                pull = over.pull
            assert pull is not None
            pulls[f"key {i}"] = pull.id
            cost, taken, duplicate = 1 + name % 2, False, False
            with suppress(CampaignConflict):
                duplicate, taken = campaign.tell(pull, cost, 0.5).duplicate, True
            tells.append((cost, taken, duplicate))
    Path(path).write_text(json.dumps({"pulls": pulls, "tells": tells}))


def test_a_worker_that_falls_asleep_in_a_transaction(
    workers: Workers, postgres_server: Server, postgres_url: str, tmp_path: Path
) -> None:
    """It holds the others up for a while only, and goes on when it wakes."""
    name = sa.make_url(postgres_url).database
    holds = "state = 'idle in transaction' AND backend_xid IS NOT NULL"
    asleep = f"SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND {holds}"
    notes = tmp_path / "notes"
    with (
        Campaign(**TERMS, store=postgres_url) as campaign,
        psycopg.connect(postgres_server.url("postgres").replace("+psycopg", ""), autocommit=True) as connection,
    ):
        child = workers.start("tests.campaign.test_postgres_faults.sleeper", postgres_url, str(notes))
        while True:
            time.sleep(0.01)
            os.kill(child, signal.SIGSTOP)
            time.sleep(0.01)
            if connection.execute(asleep, [name]).fetchone() == (1,):
                break
            os.kill(child, signal.SIGCONT)
        with pytest.raises(StoreBusy, match=r"did not answer within 0\.01 s"):
            campaign.ask("not now", timeout=0.01)
        assert campaign.ask("mine") is not None
        before = len(Noted.read(notes).told)
        os.kill(child, signal.SIGCONT)
        while len(Noted.read(notes).told) <= before:
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        assert workers.wait(child) == -signal.SIGKILL
    Notes(notes)("asking", "mine")
    Noted.read(notes).check(checked(postgres_url))


def sleeper(store: str, notes: str) -> None:
    """In a process of its own: work as one that the server does not wait for long."""
    engines.SILENCE = 0.5
    spend(store, notes, "sleeper", 1, None, None)


def test_what_others_wrote_is_heard_once_and_in_order(postgres_url: str) -> None:
    """Whether they were at work the last time, when it comes with the lock, or were not."""
    heard: list[int] = []
    with Campaign(**TERMS, store=postgres_url) as one, Campaign.open(postgres_url) as two:
        one._ledger.listen(lambda news: heard.extend(record.seq for record in news))
        for campaign in [two, two, one, two, one, one, one, two, one, two, two, two, one]:
            assert campaign.ask() is not None
        assert heard == list(range(2, 15))
        assert one.status() == two.status()


def test_a_pool_of_connections_between_us_and_the_server(postgres_url: str) -> None:
    """Each transaction may have another connection, which does not know what was planned on the last."""
    with Campaign(**TERMS, store=postgres_url) as campaign:
        for n in range(4):
            assert campaign.ask(str(n)) is not None
            connection: Any = campaign._ledger._database._connection  # type: ignore[attr-defined]
            connection.connection.driver_connection.execute("DEALLOCATE ALL")
    assert len(checked(postgres_url)) == 5
