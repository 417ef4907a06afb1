"""Stores that cannot be had: one sentence says why, and nothing is changed; the tables, and who may use them."""

import io
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from pwd import getpwnam
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from outlay.campaign import Campaign, campaigns, export_ledger, verify
from outlay.campaign.stores import engines, schema, sqlite
from outlay.campaign.stores.engines import parsed
from outlay.errors import BadParameter, OutlayError, StoreError
from tests.campaign.busy import POLICY, busy, exported, sql
from tests.campaign.checker import checked
from tests.campaign.worker import TERMS, Workers

SECRET = "hush-hush"


def refused(store: object) -> str:
    """The sentence with which a store is refused."""
    with pytest.raises(OutlayError) as caught:
        Campaign(**TERMS, store=store)  # type: ignore[arg-type]
    message = str(caught.value)
    assert message == " ".join(message.split())
    assert not re.search(rf"Traceback|SELECT|PRAGMA|sqlite3|sqlalche\.me|{SECRET}", message)
    return message


@pytest.mark.parametrize(
    ("store", "allowed"),
    [
        (5, "None or sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE; got 5"),
        ("", "None or sqlite:///FILE or "),
        ("mysql://me:hush-hush@there/db", "None or sqlite:///FILE or .*; got 'mysql://…@there/db'"),
        ("postgresql://me:hush-hush@there:port/db", "None or sqlite:///FILE or .*; got 'postgresql://…@there:port/db'"),
        ("postgresql://me:too@hush-hush@there/db", "written with %40 for an @ in the password; got .*…@there/db"),
        ("postgresql:me:hush-hush@there/db", "None or sqlite:///FILE or .*; got 'postgresql:…@there/db'"),
        ("me:hush-hush@there/db", "None or sqlite:///FILE or .*; got 'me:…@there/db'"),
        ("postgresql://me:hush-hush%00@there/db", "None or sqlite:///FILE or .*; got 'postgresql://…@there/db'"),
        ("postgresql://there/db?user=%00", "None or sqlite:///FILE or "),
        ("sqlite:///a%00b.db", "None or sqlite:///FILE or "),
        ("sqlite://", "None for a campaign in memory, or sqlite:///FILE; got 'sqlite://'"),
        ("sqlite:///:memory:", "None for a campaign in memory, or sqlite:///FILE; "),
        ("sqlite://here/spend.db", "sqlite:///FILE, with three slashes; "),
        ("sqlite:///spend.db?mode=ro", "sqlite:///FILE, without options [(]mode[)]; "),
    ],
)
def test_addresses(store: object, allowed: str) -> None:
    with pytest.raises(BadParameter, match=f"^store of Campaign must be {allowed.replace('?', '[?]')}"):
        engines.connect(store)
    refused(store)


def test_folders_and_files_of_other_kinds(tmp_path: Path) -> None:
    assert refused(f"sqlite:///{tmp_path}") == f"{tmp_path} is a folder, not a file"
    for name in ("x" * 300, f"{'x' * 300}/a.db"):
        assert re.fullmatch(r"/tmp/x+….+ cannot be a store: File name too long", refused(f"sqlite:////tmp/{name}"))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert refused(f"sqlite:///{tmp_path}/loop")
    (tmp_path / "loop").unlink()
    assert refused(f"sqlite:///{tmp_path}/no/a.db") == f"{tmp_path}/no/a.db: there is no folder {tmp_path}/no"
    with pytest.raises(StoreError, match=f"there is no file {tmp_path}/a.db"):
        Campaign.open(f"sqlite:///{tmp_path}/a.db")
    text = tmp_path / "text.db"
    text.write_text("not a database, but longer than the head of one " * 100)
    before = text.read_bytes()
    assert refused(f"sqlite:///{text}") == f"{text}: file is not a database"
    assert text.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["text.db"]


def test_an_event_of_a_kind_that_is_not_known_yet(tmp_path: Path) -> None:
    Campaign(**TERMS, store=f"sqlite:///{tmp_path}/a.db").disconnect()
    columns, body = "(campaign, seq, at, body, transaction_id, before)", '{"kind":"auctioned"}'
    sql(tmp_path / "a.db", f"INSERT INTO event {columns} VALUES (1, 2, 9, ?, 'x', '')", body)
    sql(tmp_path / "a.db", "UPDATE campaign SET seq = 2")
    why = "event 2 cannot be read: a newer outlay wrote it, or it is damaged"
    assert refused(f"sqlite:///{tmp_path}/a.db") == f"{tmp_path}/a.db: {why}"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TABLE event (x)", "has tables of these names that are not outlay's"),
        ("CREATE TABLE alembic_version AS SELECT '9999' AS version_num", "was written by a newer outlay: upgrade"),
        ("CREATE TABLE alembic_version AS SELECT '00ae1027a6' AS version_num", "has tables of another program: give"),
    ],
)
def test_databases_of_others_stay_as_they_are(tmp_path: Path, statement: str, reason: str) -> None:
    path = tmp_path / "other.db"
    sql(path, statement)
    before = path.read_bytes()
    assert refused(f"sqlite:///{path}").startswith(f"{path} {reason}")
    assert path.read_bytes() == before


def test_looking_for_a_campaign_makes_no_tables(tmp_path: Path, postgres_url: str) -> None:
    path = tmp_path / "other.db"
    sql(path, "CREATE TABLE stuff (x)")
    before = path.read_bytes()
    for look in (Campaign.open, verify):
        with pytest.raises(StoreError, match=f"{path} holds no campaign"):
            look(f"sqlite:///{path}")
        with pytest.raises(StoreError, match="holds no campaign"):
            look(postgres_url)
    assert path.read_bytes() == before
    with psycopg.connect(postgres_url.replace("+psycopg", "")) as server:
        assert server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


@pytest.mark.parametrize("kind", ["nfs4", "fuse.sshfs"])
def test_network_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(sqlite, "file_system", lambda folder: kind)
    why = f"is on a network file system ({kind}), where SQLite can lose data: use PostgreSQL"
    assert refused(f"sqlite:///{tmp_path}/a.db") == f"{tmp_path}/a.db {why}"
    assert not list(tmp_path.iterdir())


def test_a_copy_without_its_log_gets_one(tmp_path: Path) -> None:
    """VACUUM INTO makes a file in which COMMIT would be kept in another, less certain way."""
    Campaign(**TERMS, store=f"sqlite:///{tmp_path}/a.db").disconnect()
    sql(tmp_path / "a.db", "VACUUM INTO ?", str(tmp_path / "b.db"))
    with Campaign(**TERMS, store=f"sqlite:///{tmp_path}/b.db") as campaign:
        campaign.ask()
    assert len(checked(f"sqlite:///{tmp_path}/b.db")) == 2  # which sees that the log is kept ahead


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    told = refused(f"postgresql://me:{SECRET}@127.0.0.1:1/db?password={SECRET}")
    assert told.startswith("postgresql+psycopg://me:***@127.0.0.1:1/db: connection failed: connection to server at ")
    assert "No such file or directory" in refused(f"postgresql://me:{SECRET}@/db?host={tmp_path}")
    assert 'invalid connection option "nonsense"' in refused(f"postgresql://me:{SECRET}@/db?nonsense=1")


def test_a_new_file_is_its_owners(tmp_path: Path) -> None:
    """Also the log beside it; one that is there keeps the rights that it has."""
    with Campaign(**TERMS, store=f"sqlite:///{tmp_path}/a.db") as campaign:
        campaign.ask()
        assert {path.name for path in tmp_path.iterdir()} >= {"a.db", "a.db-wal"}
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    (tmp_path / "a.db").chmod(0o640)
    with Campaign(**TERMS, store=f"sqlite:///{tmp_path}/a.db"):
        assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("writable", ["neither", "folder", "file"])
def test_what_may_only_be_read_can_be_verified_and_exported(workers: Workers, writable: str) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # all parents of which anybody can enter
        path = Path(folder, "a.db")
        busy(f"sqlite:///{path}")
        before, name = path.read_bytes(), campaigns(f"sqlite:///{path}")[0].name
        wanted = exported(f"sqlite:///{path}", name)
        path.write_bytes(before)
        path.chmod(0o666 if writable == "file" else 0o444)
        path.parent.chmod(0o777 if writable == "folder" else 0o555)
        workers.run("tests.campaign.test_store_manners.read", f"sqlite:///{path}", name, wanted.decode())
        path.parent.chmod(0o700)
        assert path.read_bytes() == before


def read(store: str, name: str, wanted: str) -> None:
    """In a process of its own, without root's privileges: read all that there is."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(getpwnam("nobody").pw_gid)
        os.setuid(getpwnam("nobody").pw_uid)
    assert verify(store, name, POLICY if name == "default" else None).ok
    assert campaigns(store)[0].name == name
    file = io.BytesIO()
    export_ledger(store, file, name)
    assert file.getvalue().decode() == wanted


@pytest.mark.parametrize("way", [schema.make, schema.migrate])
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
        assert compare_metadata(context, schema.metadata) == []
        assert context.get_current_revision() == schema.REVISION
        found = sa.inspect(connection)
        assert [found.get_pk_constraint(table)["constrained_columns"] for table in ("event", "alembic_version")] == [
            ["campaign", "seq"],
            ["version_num"],
        ]
    if kind == "sqlite":
        wanted = "SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID%'"
        assert {name for (name,) in sql(tmp_path / "a.db", wanted)} == {"arm", "pull"}
    engine.dispose()


def test_a_role_that_works_on_tables_of_another(postgres_url: str) -> None:
    engine = sa.create_engine(postgres_url)
    role = f"clerk_{engine.url.database}"
    with engine.begin() as connection:
        schema.make(connection)
        connection.execute(sa.text(f'CREATE ROLE "{role}" LOGIN'))
        connection.execute(sa.text(f'GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO "{role}"'))
        connection.execute(sa.text(f'GRANT DELETE ON snapshot TO "{role}"'))
        connection.execute(sa.text(f'GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "{role}"'))
    terms: dict[str, Any] = {"arms": ["a"], "budget": 10}
    with Campaign(**terms, store=str(engine.url.set(username=role).render_as_string())) as campaign:
        assert campaign.ask() is not None
    assert verify(postgres_url).ok
    with engine.begin() as connection:
        connection.execute(sa.text(f'DROP OWNED BY "{role}"'))
        connection.execute(sa.text(f'DROP ROLE "{role}"'))
    engine.dispose()
