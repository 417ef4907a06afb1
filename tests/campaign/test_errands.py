"""Many processes on one server: whose turn it is decides what the others have left, once, and each gets his answer."""

import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
import sqlalchemy as sa

from outlay.campaign import Campaign, verify
from outlay.campaign.ledger.commands import Ask, Pause, Tell
from outlay.campaign.ledger.events import Asked, Expired, Opened, Told, Voided
from outlay.campaign.stores.db import errands
from outlay.campaign.stores.db.errands import Left, Name, written
from outlay.campaign.stores.db.locking import Found
from outlay.campaign.stores.writing import book
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.job import Job
from outlay.campaign.stores.writing.share import UNRECEIVED, Share
from outlay.errors import CampaignConflict, StoreBusy, StoreError, UnknownPull
from tests.campaign.checker import checked
from tests.campaign.cutter import Cutter
from tests.campaign.postgres import PORT, Server
from tests.campaign.worker import TERMS, Noted, Workers, spend, together

PROCESSES = 5
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND xact_start IS NOT NULL"
AGO = "clock_timestamp() - %s * interval '1 s'"
LEAVE = f"INSERT INTO errand (campaign, process, number, body, at) VALUES (1, %s, 1, %s, {AGO})"


@pytest.fixture(autouse=True)
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever can leave an errand leaves one."""
    monkeypatch.setattr(errands, "CROWD", 0)


class Crowd:
    """As many stores as processes would have, on one campaign, and a connection of our own to look on."""

    def __init__(self, url: str, looking: psycopg.Connection[Any], campaigns: list[Campaign]) -> None:
        self.url, self._looking, self.campaigns = url, looking, campaigns
        self.answers: dict[int, Any] = {}

    def sql(self, text: str, *values: object) -> list[Any]:
        cursor = self._looking.execute(text, values)
        return cursor.fetchall() if cursor.description else []

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Nobody can have the campaign meanwhile."""
        with psycopg.connect(self.url.replace("+psycopg", "")) as connection:
            connection.execute("SELECT 1 FROM campaign FOR UPDATE")
            yield

    @contextmanager
    def line_held(self) -> Iterator[None]:
        """Nobody has his turn meanwhile."""
        with psycopg.connect(self.url.replace("+psycopg", "")) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s, 1)", [errands.LINE_OF])
            yield

    def start(self, *actions: Callable[[Campaign], Any], waiting: bool = True) -> list[threading.Thread]:
        """Each by a process of its own; one after the other, so that they are in line in this order."""
        threads = []
        for i, action in enumerate(actions):
            threads.append(threading.Thread(target=self._run, args=(i, action)))
            threads[-1].start()
            if waiting:
                self.wait_for_line(i)
        return threads

    def wait_for_line(self, length: int) -> None:
        """Until one has the turn, and so many others stand in line."""
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND NOT granted"
        has = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND granted"
        deadline = time.monotonic() + 30
        while (self.sql(has, errands.LINE_OF), self.sql(waiting, errands.LINE_OF)) != ([(1,)], [(length,)]):
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def together(self, *actions: Callable[[Campaign], Any]) -> list[Any]:
        """What each came to, where the first of them found the errands of all."""
        with self.held_up():
            threads = self.start(*actions)
        for thread in threads:
            thread.join(30)
        return [self.answers[i] for i in range(len(actions))]

    def transactions(self, after: int) -> list[int]:
        """How many events each transaction wrote, in order."""
        counted = "SELECT count(*) FROM event WHERE seq > %s GROUP BY xmin::text ORDER BY min(seq)"
        return [count for (count,) in self.sql(counted, after)]

    def left(self) -> list[Any]:
        return self.sql("SELECT process, body FROM errand WHERE body IS NOT NULL")

    def _run(self, i: int, action: Callable[[Campaign], Any]) -> None:
        try:
            self.answers[i] = action(self.campaigns[i])
        except Exception as error:
            self.answers[i] = error


@pytest.fixture
def crowd(postgres_url: str) -> Iterator[Crowd]:
    Campaign(**TERMS, store=postgres_url).disconnect()
    urls = [f"{postgres_url}&application_name=process{i}" for i in range(PROCESSES)]
    campaigns = [Campaign.open(url) for url in urls]
    try:
        with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as looking:
            yield Crowd(postgres_url, looking, campaigns)
    finally:
        for campaign in campaigns:
            campaign.disconnect()


def test_one_transaction_for_all_who_wait(crowd: Crowd) -> None:
    pulls = crowd.together(*[lambda campaign: campaign.ask(tags=["x"])] * PROCESSES)
    assert crowd.transactions(1) == [PROCESSES]
    receipts = crowd.together(*[lambda campaign, pull=pull: campaign.tell(pull, 7, 0.5) for pull in pulls])
    assert crowd.transactions(1) == [PROCESSES, PROCESSES]
    assert not crowd.left()
    records = checked(crowd.url)
    assert sorted(pull.id for pull in pulls) == [r.seq for r in records if isinstance(r.event, Asked)]
    named = {record.seq: record.event.arm for record in records if isinstance(record.event, Asked)}
    assert all(TERMS["arms"][named[pull.id]] == pull.arm and pull.status == "open" for pull in pulls)
    assert all(record.event.tags == ("x",) for record in records if isinstance(record.event, Asked))
    assert [receipt[:4] for receipt in receipts] == [(pull.id, pull.arm, 7.0, 0.5) for pull in pulls]
    assert not any(receipt.duplicate for receipt in receipts)
    assert all(verify(crowd.url, expected_head=receipt.head).ok for receipt in receipts)
    assert {campaign.status() for campaign in crowd.campaigns} == {crowd.campaigns[0].status()}


def test_a_server_whose_transactions_see_one_moment(postgres_url: str) -> None:
    """By default; then what another wrote while one waited in line would not be seen."""
    name = sa.make_url(postgres_url).database
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as looking:
        looking.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
        with ExitStack() as stack:
            stack.enter_context(Campaign(**TERMS, store=postgres_url))
            urls = [f"{postgres_url}&application_name=process{i}" for i in range(PROCESSES)]
            crowd = Crowd(postgres_url, looking, [stack.enter_context(Campaign.open(url)) for url in urls])
            crowd.together(*[lambda campaign: campaign.ask()] * PROCESSES)
            assert crowd.transactions(1) == [PROCESSES]
        looking.execute(f"ALTER DATABASE {name} RESET default_transaction_isolation")


def test_tells_before_asks(crowd: Crowd) -> None:
    pull = crowd.campaigns[0].ask()
    assert pull is not None
    ask = lambda campaign: campaign.ask()  # noqa: E731
    crowd.together(ask, ask, ask, lambda campaign: campaign.tell(pull, 1, 1.0))
    kinds = [type(record.event) for record in checked(crowd.url)[2:]]
    assert kinds == [Asked, Told, Asked, Asked]  # the first is that of whose turn it was


def test_everyone_hears_of_his_own_mistake_and_of_nobody_elses(crowd: Crowd) -> None:
    pull, told = crowd.campaigns[0].ask("key"), crowd.campaigns[0].ask()
    assert pull is not None
    assert told is not None
    crowd.campaigns[0].tell(told, 5, 1.0)
    asked, missing, other, again, same = crowd.together(
        lambda campaign: campaign.ask(),
        lambda campaign: campaign.tell(99, 1, 1.0),
        lambda campaign: campaign.tell(told, 6, 1.0),
        lambda campaign: campaign.tell(told, 5, 1.0),
        lambda campaign: campaign.ask("key"),
    )
    assert isinstance(missing, UnknownPull)
    assert isinstance(other, CampaignConflict)
    assert again.duplicate
    assert same == pull
    assert asked.decision == 5
    assert not crowd.left()
    assert len(checked(crowd.url)) == 5


def test_whose_command_comes_to_nothing_helps_nobody(crowd: Crowd) -> None:
    """Its transaction has no event by which it could be known whether it came to pass: the next one helps instead."""
    missing, *pulls = crowd.together(
        lambda campaign: campaign.tell(99, 1, 1.0), *[lambda campaign: campaign.ask()] * (PROCESSES - 1)
    )
    assert isinstance(missing, UnknownPull)
    assert len({pull.id for pull in pulls}) == PROCESSES - 1
    assert crowd.transactions(1) == [PROCESSES - 1]
    by = [name for (name,) in crowd.sql("SELECT batch FROM event WHERE seq > 1 ORDER BY seq")]
    assert [name.endswith(".errand") for name in by] == [False] + [True] * (PROCESSES - 2)


def test_what_expires_meanwhile_is_no_answer_to_an_errand(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    pull = crowd.campaigns[0].ask(ttl=60)
    assert pull is not None
    hours = iter([0, 1, 2, 3])

    def now(wall: int | None, _: int) -> int:
        assert wall is not None
        return wall + 3_600_000_000 * next(hours)

    monkeypatch.setattr(_book(crowd.campaigns[0])._clock, "now", now)
    asked, missing = crowd.together(lambda campaign: campaign.ask(), lambda campaign: campaign.tell(99, 1, 1.0))
    assert asked.decision == 3
    assert isinstance(missing, UnknownPull)
    assert [type(record.event) for record in checked(crowd.url)] == [Opened, Asked, Asked, Expired]


@pytest.mark.parametrize("error", [RuntimeError, StoreError])
def test_a_command_of_others_that_breaks_off_harms_nobody_else(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """A user's policy, or a row that is damaged: what was decided is dropped, and ours is decided alone."""
    ours = _book(crowd.campaigns[0])
    decide = ours.decide

    def breaking(commands: Any, until: float) -> Any:
        if commands == [Ask("theirs")]:
            raise error("spoilt")
        return decide(commands, until)

    monkeypatch.setattr(ours, "decide", breaking)
    mine, theirs = crowd.together(lambda campaign: campaign.ask("mine"), lambda campaign: campaign.ask("theirs"))
    assert {mine.decision, theirs.decision} == {2, 3}
    assert len(checked(crowd.url)) == 3


def test_what_others_told_at_the_same_time(crowd: Crowd) -> None:
    """One of two counts, and the other is told so."""
    pull = crowd.campaigns[0].ask()
    assert pull is not None
    tells = [lambda campaign, cost=cost: campaign.tell(pull, cost, 1.0) for cost in (1, 1, 2)]
    one, again, other = crowd.together(*tells)
    assert (one.duplicate, again.duplicate, isinstance(other, CampaignConflict)) == (False, True, True)
    assert [r.event.cost for r in checked(crowd.url) if isinstance(r.event, Told)] == [1]


def test_who_gives_up_while_others_decide_for_him(crowd: Crowd) -> None:
    with crowd.held_up():
        threads = crowd.start(lambda campaign: campaign.ask(), lambda campaign: campaign.ask(timeout=0.2))
        threads[1].join(30)
        assert isinstance(crowd.answers[1], StoreBusy)
    threads[0].join(30)
    crowd.campaigns[1].ask()  # with this at the latest it is taken back
    records = checked(crowd.url)
    voided = [record.event for record in records if isinstance(record.event, Voided)]
    assert [(event.decision, event.reason) for event in voided] == [(3, UNRECEIVED)]
    assert not crowd.left()


CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"


@pytest.mark.parametrize("key", [None, "key"])
def test_who_is_told_of_a_failure_while_others_decide_for_him(crowd: Crowd, key: str | None) -> None:
    """Somebody, or a limit of the server's, ends the waiting: the pull is nobody's, unless it can be asked for anew."""
    with crowd.held_up():
        threads = crowd.start(lambda campaign: campaign.ask(), lambda campaign: campaign.ask(key))
        while threads[1].is_alive():  # in line, and then before the campaign itself
            crowd.sql(CANCEL, "process1")
            threads[1].join(0.02)
        assert isinstance(crowd.answers[1], StoreError)
    threads[0].join(30)
    deadline = time.monotonic() + 30
    while crowd.left() or _book(crowd.campaigns[1]).unheard:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    records = checked(crowd.url)
    asked = {record.seq for record in records if isinstance(record.event, Asked)}
    voided = {r.event.decision for r in records if isinstance(r.event, Voided) and r.event.reason == UNRECEIVED}
    assert asked - voided == {crowd.answers[0].id, *([3] if key and len(asked) == 2 else [])}


def test_who_gives_up_and_ends(crowd: Crowd) -> None:
    """Nobody decides for a process that has ended in order."""
    script = Path(__file__).with_name("errand_given_up.py")
    with crowd.line_held():
        (thread,) = crowd.start(lambda campaign: campaign.ask(), waiting=False)
        command = [sys.executable, str(script), f"{crowd.url}&application_name=process1"]
        assert subprocess.run(command, timeout=60, check=True, capture_output=True, text=True).stdout == "busy\n"
    thread.join(30)
    assert [record.seq for record in checked(crowd.url) if isinstance(record.event, Asked)] == [2]


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
def test_who_cannot_fold_what_was_decided_for_him(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """His policy fails at it, once: he is told so, and the pull is taken back."""
    second = crowd.campaigns[1]
    told = crowd.campaigns[0].ask()
    assert told is not None
    assert second.ask() is not None
    learner = _book(second).known().learner
    assert learner is not None

    def fail(*_: object) -> None:
        raise error("no")

    monkeypatch.setattr(learner, "observe", fail)  # of this state, which is dropped
    _, failed = crowd.together(lambda campaign: campaign.tell(told, 1, 1.0), lambda campaign: campaign.ask())
    assert isinstance(failed, StoreError | RuntimeError)
    deadline = time.monotonic() + 30
    while _book(second).unheard:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    records = checked(crowd.url)
    assert [(r.event.decision, r.event.reason) for r in records if isinstance(r.event, Voided)] == [(5, UNRECEIVED)]


def test_a_late_tell_of_what_its_teller_has_forgotten(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = crowd.campaigns
    monkeypatch.setattr(book, "KEPT", 0)
    pull = second.ask()
    assert pull is not None
    second.charge(pull)
    for campaign in (first, second, first, second):
        assert campaign.ask() is not None
    assert pull.id not in _book(second).known().decisions
    _, receipt = crowd.together(lambda campaign: campaign.ask(), lambda campaign: campaign.tell(pull, 3, 0.5))
    assert receipt[:6] == (pull.id, pull.arm, 3.0, 0.5, False, True)
    assert len(checked(crowd.url)) == 9


def test_who_waits_in_line_in_vain_goes_ahead(crowd: Crowd) -> None:
    with crowd.line_held():
        (thread,) = crowd.start(lambda campaign: campaign.ask(), waiting=False)
        crowd.wait_for_line(1)
        crowd.sql(CANCEL, "process0")
        thread.join(30)
        assert crowd.answers[0].decision == 2
    assert not crowd.left()


def test_keys_of_others_are_looked_up_together(crowd: Crowd) -> None:
    looked: list[int] = []
    sa.event.listen(
        crowd.campaigns[0]._ledger._store.engine,  # type: ignore[attr-defined]
        "before_cursor_execute",
        lambda *said: looked.append("FROM decision" in said[2]),
    )
    asks = [lambda campaign, key=key: campaign.ask(key) for key in "abcde"]
    assert len({pull.id for pull in crowd.together(*asks)}) == PROCESSES
    assert sum(looked) == 2  # its own, and those of the others


@pytest.mark.parametrize("rounds", [6, pytest.param(300, marks=pytest.mark.soak)])
def test_connections_that_are_cut_while_they_wait(crowd: Crowd, rounds: int) -> None:
    """Who calls his errand back and who does it race for the campaign: it is done once, and answered."""
    rng, got = random.Random(3), list[int]()
    for _ in range(rounds):
        with crowd.held_up():
            threads = crowd.start(*[lambda campaign: campaign.ask()] * PROCESSES)
            victims = rng.sample(range(PROCESSES), rng.randint(1, PROCESSES))
            for i in victims:
                crowd.sql(CUT, f"process{i}")
                time.sleep(rng.choice([0.0, 0.06]))
        for thread in threads:
            thread.join(60)
        got += [crowd.answers[i].id for i in range(PROCESSES)]
    assert sorted(got) == [r.seq for r in checked(crowd.url) if isinstance(r.event, Asked)]
    assert not crowd.left()


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("passing", [0, 1])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("verb", ["ask", "tell"])
def test_a_commit_that_is_not_answered(
    crowd: Crowd,
    postgres_server: Server,
    monkeypatch: pytest.MonkeyPatch,
    where: Literal["before", "after"],
    passing: int,
    first: bool,
    verb: str,
) -> None:
    """When the errand is left, or when it is done: by its own process with those of others, or by another.

    What is read again starts from a snapshot, which does not have what was told before.
    """
    monkeypatch.setattr(book, "EVERY", 1)
    for campaign in crowd.campaigns:
        _book(campaign)._every = 1
    name = sa.make_url(crowd.url).database
    pulls = crowd.campaigns[-1].ask_many(3)
    actions: list[Callable[[Campaign], Any]] = [lambda campaign: campaign.ask()] * 3
    if verb == "tell":
        actions = [lambda campaign, pull=pull: campaign.tell(pull, 5, 0.5) for pull in pulls]  # type: ignore[misc]
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as folder,
        Cutter(postgres_server.folder, Path(folder), PORT) as wire,
        Campaign.open(f"postgresql://postgres@/{name}?host={folder}&port={PORT}") as cut,
    ):
        crowd.campaigns.insert(0 if first else 1, cut)
        wire.cut(where, passing)
        with crowd.held_up():
            threads = crowd.start(*actions, waiting=passing == 1)
        for thread in threads:
            thread.join(60)
        crowd.campaigns.remove(cut)
        assert wire.cuts == 1
    answers = [crowd.answers[i] for i in range(3)]
    if verb == "tell":
        assert [answer[:5] for answer in answers] == [(pull.id, pull.arm, 5.0, 0.5, False) for pull in pulls]
    else:
        assert sorted(answer.id for answer in answers) == [5, 6, 7]
    assert len(checked(crowd.url)) == 7
    assert not crowd.left()


def test_what_was_called_back_is_not_done_and_cannot_come_late(crowd: Crowd) -> None:
    """Nor does it undo what the same process has left since."""
    engine = sa.create_engine(crowd.url)
    leave = errands._LEAVE
    with engine.begin() as connection:
        first = {"campaign": 1, "process": "p", "number": 7, "body": written(Ask())}
        assert errands.call_back(connection, Found(1, 1, None, None, [], []), Left(Name("p", 7), Ask(), 1, "")) == []
        connection.execute(leave, first)
        assert not crowd.left()
        connection.execute(leave, first | {"number": 8, "body": written(Ask("later"))})
        connection.execute(leave, first)
    assert crowd.left() == [("p", written(Ask("later")))]
    engine.dispose()
    assert crowd.campaigns[0].ask() is not None  # and so that of the process that left it, which is not there
    assert [r.event.key for r in checked(crowd.url) if isinstance(r.event, Asked)] == [None, "later"]


def test_what_was_left_long_ago(crowd: Crowd) -> None:
    """Nobody waits for it any more; it is deleted when somebody opens the campaign."""
    for process, age in (("young", 0), ("old", 2), ("ancient", 3601)):
        values = "VALUES (1, %s, 1, %s, clock_timestamp() - %s * interval '1 s')"
        crowd.sql(
            f"INSERT INTO errand (campaign, process, number, body, at) {values}", process, written(Ask(process)), age
        )
    crowd.campaigns[0].ask()
    assert [r.event.key for r in checked(crowd.url) if isinstance(r.event, Asked)] == [None, "young"]
    Campaign.open(f"{crowd.url}&application_name=another").disconnect()
    assert [process for process, _ in crowd.left()] == ["old"]


@pytest.mark.parametrize("body", ["", "[", "{}", '{"ask":[1]}', '{"bet":[]}', '{"tell":[1,2,null]}', "[" * 100_000])
def test_what_cannot_be_read_is_left_alone(crowd: Crowd, body: str) -> None:
    """Another version may have written it: its own process sees to it."""
    crowd.sql(LEAVE, "p", body, 0)
    assert crowd.campaigns[0].ask() is not None
    assert crowd.left() == [("p", body)]
    assert len(checked(crowd.url)) == 2


@pytest.mark.parametrize("command", [Pause(), Ask(metadata={"a": 1}), Tell(1, 2, 0.5, "\ud800")])
def test_what_is_not_left(command: Any) -> None:
    assert written(command) is None


def test_what_is_not_all_there_is_to_do_is_not_left(crowd: Crowd) -> None:
    """The rest of many commands, and one beside pulls that are to be taken back."""
    job = Job(_book(crowd.campaigns[0]), [Ask(), Ask()])
    job.replies = [None]
    assert Share(job.book, [job]).to_leave() is None
    job = Job(job.book, [Ask()])
    assert Share(job.book, [job]).to_leave() == written(Ask())
    job.book.unwanted = [2]
    assert Share(job.book, [job]).to_leave() is None
    job.book.unwanted = []


def test_many_commands_and_several_campaigns_are_not_left(crowd: Crowd) -> None:
    with Campaign(**TERMS, store=f"{crowd.url}&application_name=process0", name="another") as another:
        assert len(crowd.campaigns[0].ask_many(3)) == 3
        together([partial(_many, campaign) for campaign in (another, crowd.campaigns[0])])
    for name in ("default", "another"):
        assert verify(crowd.url, name).ok


def _many(campaign: Campaign) -> None:
    together([partial(_several, campaign)] * 4)


def _several(campaign: Campaign) -> None:
    for _ in range(10):
        pull = campaign.ask()
        assert pull is not None
        campaign.tell(pull, 1, 1.0)


@pytest.mark.parametrize("waiting", [False, True])
def test_a_campaign_that_is_set_back_meanwhile(crowd: Crowd, waiting: bool) -> None:
    """By a backup: what was known is dropped, and what is decided stands on what is there, for each once."""
    tables = ["event", "decision", "arm"]
    for campaign in crowd.campaigns:
        campaign.ask("before")
    for table in (*tables, "campaign"):
        crowd.sql(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}")
    for campaign in (*crowd.campaigns, *crowd.campaigns):
        campaign.ask()

    def set_back() -> None:
        with psycopg.connect(crowd.url.replace("+psycopg", "")) as connection:
            for table in tables:
                connection.execute(f"DELETE FROM {table}")
                connection.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")
            columns = "seq, at, spent, reserved, reward, used, head"
            connection.execute(f"UPDATE campaign SET ({columns}) = (SELECT {columns} FROM kept_campaign)")

    asks = [lambda campaign: campaign.ask()] * PROCESSES
    if waiting:
        with crowd.line_held():
            threads = crowd.start(*asks, waiting=False)
            crowd.wait_for_line(PROCESSES)
            set_back()
        for thread in threads:
            thread.join(60)
        pulls = [crowd.answers[i] for i in range(PROCESSES)]
    else:
        set_back()
        pulls = crowd.together(*asks)
    asked = [record.seq for record in checked(crowd.url) if isinstance(record.event, Asked)]
    assert sorted(pull.id for pull in pulls) == asked[1:]


def test_another_campaign_that_has_its_name_now(crowd: Crowd) -> None:
    """And more events; while to the one that is known others have written, too."""
    Campaign(**TERMS, store=crowd.url, name="another").disconnect()
    first, second, *_ = crowd.campaigns
    for campaign in (first, second, first, second):
        campaign.ask()
    with Campaign.open(crowd.url, "another") as another:
        another.ask_many(9)
    crowd.sql("UPDATE campaign SET name = CASE id WHEN 1 THEN 'former' ELSE 'default' END")
    pull = first.ask()
    assert pull is not None
    assert pull.id == 11
    assert [len(checked(crowd.url, name, choices=False)) for name in ("former", "default")] == [5, 11]


@pytest.mark.parametrize("pulls", [40, pytest.param(400, marks=pytest.mark.soak)])
def test_processes_on_one_server(
    workers: Workers, postgres_server: Server, postgres_url: str, tmp_path: Path, pulls: int
) -> None:
    """With connections cut now and then: every step is in the ledger, once."""
    notes, over = tmp_path / "notes", threading.Event()
    Campaign(**TERMS, store=postgres_url).disconnect()
    name = "tests.campaign.test_errands.spend_in_a_crowd"
    children = [workers.start(name, postgres_url, str(notes), str(i), pulls) for i in range(PROCESSES)]
    rng, database = random.Random(4), sa.make_url(postgres_url).database
    while len({key.partition("/")[0] for key in Noted.read(notes).asking}) < PROCESSES:  # reading is not tried again
        time.sleep(0.01)

    def cut() -> None:
        with psycopg.connect(postgres_server.url("postgres").replace("+psycopg", ""), autocommit=True) as connection:
            while not over.wait(rng.uniform(0.01, 0.1)):
                one = "SELECT pid FROM pg_stat_activity WHERE datname = %s ORDER BY random() LIMIT 1"
                connection.execute(f"SELECT pg_terminate_backend(pid) FROM ({one}) one", [database])

    cutting = threading.Thread(target=cut)
    cutting.start()
    try:
        assert [workers.wait(child) for child in children] == [0] * PROCESSES
    finally:
        over.set()
        cutting.join()
    noted, records = Noted.read(notes), checked(postgres_url)
    noted.check(records)
    assert not noted.refused
    assert len(noted.told) == sum(isinstance(record.event, Told) for record in records) == PROCESSES * pulls


def _book(campaign: Campaign) -> Book:
    return campaign._ledger._book  # type: ignore[attr-defined, no-any-return]


def spend_in_a_crowd(store: str, notes: str, name: str, pulls: int) -> None:
    """In a process of its own."""
    errands.CROWD = 0
    spend(store, notes, name, 1, pulls, None)
