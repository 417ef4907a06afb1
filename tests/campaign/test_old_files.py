"""Files of older versions open, fold and go on; the migrations make the tables that the code has."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from outlay.campaign import Campaign, verify
from outlay.campaign.ledger.events import AnyEvent, from_json
from outlay.campaign.stores.db import making, tables
from outlay.campaign.stores.db.address import parsed
from tests.campaign.checker import checked

FILES = sorted((Path(__file__).parent / "assets").glob("ledger-*.db"))


@pytest.fixture(params=FILES, ids=[path.stem for path in FILES])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, dict[str, object]]]:
    """A copy of a file that an older version made, and how its campaigns stood."""
    shutil.copy(request.param, tmp_path / "old.db")
    return tmp_path / "old.db", json.loads(request.param.with_suffix(".json").read_text())


def test_there_is_one_of_each_revision() -> None:
    assert FILES[-1].stem == f"ledger-{making.REVISION}"
    assert len(FILES) == int(making.REVISION)


def test_it_opens_and_folds(kept: tuple[Path, dict[str, dict[str, object]]]) -> None:
    path, standing = kept
    for name, status in standing.items():
        with Campaign.open(f"sqlite:///{path}", name) as campaign:
            now = msgspec.json.decode(msgspec.json.encode(campaign.status()))
            now["arms"] = [new[: len(old)] for new, old in zip(now["arms"], cast("Any", status["arms"]), strict=True)]
            assert {field: now[field] for field in status} == status  # newer fields may follow
            assert len(list(campaign.history())) == status["events"]
        checked(f"sqlite:///{path}", name, choices=False)


@pytest.mark.parametrize("snapshot", [True, False])
def test_it_goes_on(kept: tuple[Path, dict[str, dict[str, object]]], snapshot: bool) -> None:
    """From its snapshot or from its first event, whichever this version can use."""
    path, standing = kept
    store = f"sqlite:///{path}"
    if not snapshot:
        connection = sqlite3.connect(path)
        assert connection.execute("DELETE FROM snapshot").rowcount
        connection.commit()
        connection.close()
    with Campaign.open(store, "eventful") as campaign:
        pull = campaign.ask("under way", ttl=1e9)
        assert pull is not None
        assert not campaign.tell(pull, 0.5, 0.5).duplicate
        assert campaign.tell(2 + 1, 0.0, 0.0).duplicate  # the first of all, told long ago
        another = campaign.ask()
        assert another is not None
        campaign.tell(another, 0.25, 1.0)
        assert campaign.status().events == standing["eventful"]["events"] + 3  # type: ignore[operator]
    with Campaign.open(store, "hard") as campaign:
        assert campaign.ask() is None
        campaign.set_budget(100)
        assert campaign.ask() is not None
    for name in standing:
        checked(store, name, choices=False)


def test_the_newest_has_an_event_of_every_kind() -> None:
    engine = sa.create_engine(f"sqlite:///file:{FILES[-1]}?immutable=1&uri=true")
    with engine.connect() as connection:
        bodies = connection.exec_driver_sql("SELECT body FROM event").scalars().all()
    engine.dispose()
    assert {type(from_json(body)) for body in bodies} == set(get_args(AnyEvent))


@pytest.mark.parametrize("way", [making.make, making.migrate])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_new_database_and_migrations_have_the_tables_of_the_code(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, way: Callable[[sa.Connection], None]
) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    engine = sa.create_engine(parsed(store))
    with engine.begin() as connection:
        way(connection)
    options = {"compare_type": True, "compare_server_default": True}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        there = [tables.metadata] if kind == "sqlite" else [tables.metadata, tables.of_servers]
        assert compare_metadata(context, there) == []  # type: ignore[arg-type]
        assert context.get_current_revision() == making.REVISION
        found = sa.inspect(connection)
        assert [found.get_pk_constraint(table)["constrained_columns"] for table in ("event", "alembic_version")] == [
            ["campaign", "seq"],
            ["version_num"],
        ]
    if kind == "sqlite":
        wanted = "SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID%'"
        with closing(sqlite3.connect(tmp_path / "a.db")) as file:
            older = {"event"} if way is making.migrate else set()
            assert {name for (name,) in file.execute(wanted)} == {"arm", "decision"} | older
    engine.dispose()


def test_a_role_that_works_on_tables_of_another(postgres_url: str) -> None:
    """The owner brings them up to date, and the role can go on as before."""
    engine = sa.create_engine(postgres_url)
    role = f"clerk_{engine.url.database}"
    with engine.begin() as connection:
        making.make(connection)
        connection.execute(sa.text("DROP TABLE errand"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0004'"))
        connection.execute(sa.text(f'CREATE ROLE "{role}" LOGIN'))
        connection.execute(sa.text(f'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO "{role}"'))
        connection.execute(sa.text(f'GRANT DELETE ON snapshot TO "{role}"'))
        connection.execute(sa.text(f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "{role}"'))
    terms: dict[str, Any] = {"arms": ["a"], "budget": 10}
    with Campaign(**terms, store=postgres_url) as campaign:
        assert campaign.ask() is not None
    with Campaign(**terms, store=str(engine.url.set(username=role).render_as_string())) as campaign:
        assert campaign.status().events == 2
        campaign.tell(2, 1, 1.0)
    assert verify(postgres_url).ok
    with engine.begin() as connection:
        connection.execute(sa.text(f'DROP OWNED BY "{role}"'))
        connection.execute(sa.text(f'DROP ROLE "{role}"'))
    engine.dispose()


def test_a_ledger_keeps_the_rules_it_was_opened_with(tmp_path: Path) -> None:
    """Format 1: half to even, any number of first pulls, no flag on an amendment; its chain begins with the upgrade."""
    shutil.copy(FILES[0], tmp_path / "old.db")
    store = f"sqlite:///{tmp_path}/old.db"
    with Campaign({"a": 3, "b": 2}, 40, None, store, name="hard", mode="hard", unit="1") as campaign:
        campaign.set_budget(50)
        pulls = campaign.ask_many(3)
        receipts = campaign.tell_many((pull, 0.5, 1.0) for pull in pulls)
        assert [(receipt.cost, receipt.rounded) for receipt in receipts] == [(0.0, True)] * 3
        for _ in range(5):
            pull = campaign.ask()
            assert pull is not None
            campaign.tell(pull, 2, 1.0)
        assert campaign.status().spent == 50
        amended = campaign.amend(pulls[0], 2, 1.0)
        assert (amended.cost, amended.overrun, campaign.status().spent) == (2.0, False, 52.0)
    verdict = verify(store, "hard", expected_head=amended.head)
    assert (verdict.ok, verdict.notes) == (True, ())
    records = checked(store, "hard", choices=False)
    assert [record.before is None for record in records] == [True] * 42 + [False] * (len(records) - 42)
    with Campaign.open(store, "eventful") as campaign:
        campaign.set_budget(1000)
        campaign.add_arm("unknown")
        for name in ("small", "large", "odd", "new"):
            campaign.disable_arm(name)
        assert len(campaign.ask_many(3)) == 3


def test_a_new_ledger_has_the_new_rules(tmp_path: Path) -> None:
    with Campaign(["a", "b"], 9, store=f"sqlite:///{tmp_path}/new.db", unit="1") as campaign:
        pulls = campaign.ask_many(30)
        assert len(pulls) == 2
        receipt = campaign.tell(pulls[0], 0.25, 1.0)
        assert (receipt.cost, receipt.rounded) == (1.0, True)
