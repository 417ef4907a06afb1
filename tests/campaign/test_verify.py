"""`verify` finds whatever was done to a ledger behind its back: each column of each table, each field of each event."""

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from outlay import Campaign, policies
from outlay.beliefs import Belief
from outlay.campaign import Verdict, verification, verify
from outlay.campaign.ledger import events as commands
from outlay.campaign.ledger.replay import Replay
from outlay.campaign.stores import schema, transaction
from outlay.errors import CampaignConflict, StoreError
from tests.campaign.busy import POLICY, asked, busy, sql
from tests.campaign.stories import ALL, Operation, for_stories, openings, operations, whole_story


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ledger") / "spend.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "SNAPSHOT_INTERVAL", 16)
        busy(f"sqlite:///{path}")
    return path


@pytest.fixture
def copy(ledger: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(ledger, tmp_path / "copy.db"))


def judged(path: Path, name: str = "default") -> Verdict:
    return verify(f"sqlite:///{path}", name)


def change(path: Path, statement: str, *values: Any) -> None:
    assert len(sql(path, f"{statement} RETURNING 1", *values)) == 1


def test_a_ledger_is_as_it_should_be(ledger: Path) -> None:
    events = dict(sql(ledger, "SELECT json_extract(body, '$.kind'), count(*) FROM event GROUP BY 1"))
    assert len(events) == 16, "one of each kind"
    verdict = judged(ledger)
    (head,) = sql(ledger, "SELECT head FROM campaign")[0]
    assert verdict == Verdict("default", sum(events.values()), events["asked"], (), (), True, head)
    assert verdict.ok
    assert sql(ledger, "SELECT count(*) FROM snapshot") >= [(1,)]


@pytest.mark.parametrize("size", [1, 2, 7])
def test_what_was_let_go_is_read_again(ledger: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(verification, "CHUNK", size)
    assert judged(ledger).problems == ()


COLUMNS = [(table.name, column.name) for table in schema.metadata.sorted_tables for column in table.c]
UNSEEN = {
    ("event", "transaction_id"),  # the name of a transaction, which nothing depends on
    ("snapshot", "campaign"),  # one that belongs to no campaign is of no use, and does no harm
}


def other(value: Any) -> Any:
    """Another value of the same kind."""
    if value is None:
        return 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    return value + 1


@pytest.mark.parametrize(("table", "column"), [pair for pair in COLUMNS if pair not in UNSEEN])
@pytest.mark.parametrize("which", [0, 1])
def test_every_column_counts(copy: Path, table: str, column: str, which: int) -> None:
    """The first row and the last; a time must be later than the next to be seen."""
    keys = {"campaign": ["id"], "event": ["campaign", "seq"], "snapshot": ["campaign", "seq"]}
    key = keys.get(table, ["campaign", "number"])
    columns = ", ".join([*key, column])
    *place, value = sql(copy, f"SELECT {columns} FROM {table} ORDER BY {', '.join(key)}")[-which]
    new = value + 10**15 if (table, column) == ("event", "at") else other(value)
    if (table, column) in (("pull", "key"), ("arm", "number"), ("pull", "number"), ("event", "seq")):
        new = 10**6
    if isinstance(value, int) and column in ("paused", "enabled", "late", "overrun", "amended"):
        new = 1 - value
    change(copy, f"UPDATE {table} SET {column} = ? WHERE {' AND '.join(f'{k} = ?' for k in key)}", new, *place)
    if (table, column) == ("campaign", "name"):
        with pytest.raises(StoreError, match="has no campaign 'default'"):
            judged(copy)
        assert judged(copy, "defaultx").problems[0] == "event 1 opens 'default', and the campaign's row says 'defaultx'"
        return
    verdict = judged(copy)
    assert verdict.problems, (value, new)
    assert all(len(problem) < 300 and "\n" not in problem for problem in verdict.problems)


@pytest.mark.parametrize("table", ["arm", "pull", "event"])
def test_a_row_that_is_missing_or_too_many(copy: Path, table: str) -> None:
    number = "seq" if table == "event" else "number"
    top, low = sql(copy, f"SELECT max({number}), min({number}) FROM {table}")[0]
    rest = ", ".join(column.name for column in schema.metadata.tables[table].c if column.name not in (number, "key"))
    again = f"SELECT {top + 1}, {rest} FROM {table} WHERE {number} = {top}"
    change(copy, f"INSERT INTO {table} ({number}, {rest}) {again}")
    assert judged(copy).problems
    change(copy, f"DELETE FROM {table} WHERE {number} = {top + 1}")
    assert judged(copy).ok
    change(copy, f"DELETE FROM {table} WHERE {number} = {low}")
    assert judged(copy).problems


# What is only said, or only acts on what is to come: nothing that is stored follows from it.
ONLY_SAID = {"reason", "source", "version", "format", "propensity_draws", "negative_costs", "max_in_flight"}


def changes(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The event with one field changed, for each."""
    for field, value in event.items():
        if field in ONLY_SAID or field == "kind":
            continue
        if isinstance(value, dict):
            inner: Iterator[Any] = changes(value)
        elif isinstance(value, list):
            inner = iter([[*value[1:], *(changes(value[0]) if isinstance(value[0], dict) else [value[0] + 1])]])
        else:
            inner = iter(["x" + value if isinstance(value, str) else other(value)])
        for new in inner:
            yield {**event, field: new}


def test_every_field_of_every_event_counts(ledger: Path, copy: Path) -> None:
    """Of the first event of each kind, and of each that has other fields."""
    seen = set()
    for seq, body in sql(ledger, "SELECT seq, body FROM event"):
        event = json.loads(body)
        shape = (event["kind"], *event)
        for changed in changes(event) if shape not in seen else ():
            change(copy, "UPDATE event SET body = ? WHERE seq = ?", json.dumps(changed, separators=(",", ":")), seq)
            assert judged(copy).problems, (event, changed)
        change(copy, "UPDATE event SET body = ? WHERE seq = ?", body, seq)
        seen.add(shape)
    assert len(seen) > 20


def test_an_event_that_cannot_be_read(copy: Path) -> None:
    for body in ("{", "[]", '{"kind":"dreamt"}', '{"kind":"told"}', "\ud800".encode("utf-8", "surrogatepass")):
        change(copy, "UPDATE event SET body = ? WHERE seq = 5", body)
        problems = judged(copy).problems
        assert problems[0].startswith("event 5 cannot be read: ")
        assert problems[1] == "nothing after that was checked"


def test_many_problems_are_counted(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MOST_SAID", 3)
    rows = len(sql(copy, "UPDATE pull SET reward = 7.5 RETURNING number"))
    problems = judged(copy).problems
    assert len(problems) == 4
    assert problems[0].startswith("pull ")
    assert problems[3] == f"{rows - 3} more problems"


@for_stories(openings(ALL), operations(), examples=40, soak=100)
def test_nothing_is_held_against_an_honest_ledger(opening: commands.Open, story: list[Operation]) -> None:
    _, records, _ = whole_story(opening, story)
    for choosing in (True, False):
        state, replay = None, Replay(choosing)
        for record in records:
            state, doubt = replay.fold(state, record)
            assert doubt is None


class Stubborn(NamedTuple):
    """A policy of the user's own."""

    favourite: int = 0

    def score(self, belief: Belief, log_n: float) -> float:
        return float(belief.arm == self.favourite)


def test_a_policy_that_is_not_built_in(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/own.db"
    with Campaign(["a", "b"], 5, Stubborn(1), store) as campaign:
        for _ in range(4):
            asked(campaign).tell(1, 1)
    verdict = verify(store)
    assert (verdict.ok, verdict.choices_checked) == (True, False)
    assert verdict.notes == ("choices were not checked: Stubborn is not built in, and was not given",)
    verdict = verify(store, policy=Stubborn(1))
    assert (verdict.ok, verdict.choices_checked, verdict.notes) == (True, True, ())
    for wrong in (Stubborn(0), policies.Frugal()):
        with pytest.raises(CampaignConflict, match="campaign 'default' runs another policy: Stubborn"):
            verify(store, policy=wrong)
        with pytest.raises(CampaignConflict, match="campaign 'default' runs another policy: Stubborn"):
            Campaign.open(store, policy=wrong)
    with Campaign.open(store, policy=Stubborn(1)) as campaign:
        assert campaign.ask() is not None


def test_several_at_work_and_every_policy_that_remembers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process remembers between choices is its own: snapshots do not depend on who took them."""
    monkeypatch.setattr(transaction, "SNAPSHOT_INTERVAL", 24)
    for policy in (policies.MedianRate(), policies.CatoniRate(), policies.UCBM1(1.0, 1.0, 0.0), POLICY):
        store = f"sqlite:///{tmp_path}/{type(policy).__name__}.db"
        with Campaign(["a", "b"], 1000, policy, store) as one, Campaign.open(store) as two:
            for i, campaign in zip(range(60), itertools.cycle([one, one, two]), strict=False):
                asked(campaign).tell(1 + 0.25 * (i % 3), 0.125 * (i % 5))
        with Campaign.open(store) as three:
            three.ask_many(30)
        assert verify(store)[:-1] == ("default", 151, 90, (), (), True)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_it_sees_one_moment(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written while it reads is not looked at."""
    store = request.getfixturevalue("postgres_url") if kind == "postgresql" else f"sqlite:///{tmp_path}/x.db"
    busy(store, name="busy")
    monkeypatch.setattr(verification, "CHUNK", 5)
    with Campaign(["a", "b"], 5, store=store, max_in_flight=40, first_pulls=40) as campaign:
        campaign.ask_many(12)
        fold = verification._Check._fold

        def fold_and_write(self: Any, chunk: list[Any]) -> None:
            campaign.ask_many(2)
            fold(self, chunk)

        monkeypatch.setattr(verification._Check, "_fold", fold_and_write)
        assert verify(store)[:-1] == ("default", 13, 12, (), (), True)
        assert campaign.status().in_flight == 18
        monkeypatch.setattr(verification._Check, "_fold", fold)
    assert verify(store, "busy").ok
