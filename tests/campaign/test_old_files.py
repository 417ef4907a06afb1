"""Files of older versions open, fold and go on; the migrations make the tables that the code has."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any, cast, get_args

import msgspec
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import AnyEvent, from_json
from outlay.campaign.stores import database, tables
from tests.campaign.checker import checked

FILES = sorted((Path(__file__).parent / "assets").glob("ledger-*.db"))


@pytest.fixture(params=FILES, ids=[path.stem for path in FILES])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, dict[str, object]]]:
    """A copy of a file that an older version made, and how its campaigns stood."""
    shutil.copy(request.param, tmp_path / "old.db")
    return tmp_path / "old.db", json.loads(request.param.with_suffix(".json").read_text())


def test_there_is_one_of_each_revision() -> None:
    assert FILES[-1].stem == f"ledger-{database.REVISION}"
    assert len(FILES) == int(database.REVISION)


def test_it_opens_and_folds(kept: tuple[Path, dict[str, dict[str, object]]]) -> None:
    path, standing = kept
    for name, status in standing.items():
        with Campaign.open(f"sqlite:///{path}", name) as campaign:
            now = msgspec.json.decode(msgspec.json.encode(campaign.status()._asdict()))
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


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_migrations_make_the_tables_of_the_code(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    engine = database.connect(store)
    options = {"compare_type": True, "compare_server_default": True}
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata) == []
    engine.dispose()
