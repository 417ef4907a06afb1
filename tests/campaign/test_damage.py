"""Damaged SQLite files: every entry gives what can be read, or one sentence; never a traceback, never a hang."""

import io
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from outlay.campaign import Campaign, backup, campaigns, export_ledger, verify
from outlay.cli import commands
from outlay.errors import OutlayError

VALUES = ("'x'",)
MORE = ("-1", "99999", "1.5", "x'fffe'", "NULL", "''", "9223372036854775807")
COLUMNS = {
    "campaign": "seq at budget spent reward paused ended head",
    "arm": "number name max_cost enabled pulls spent reward max_cost_seen",
    "pull": "arm reserved asked expires key status cost reward propensity late",
    "event": "seq at body before",
    "snapshot": "body",
}
GONE = [
    *(f"{verb} {table}" for table in COLUMNS for verb in ("DELETE FROM", "DROP TABLE")),
    "DELETE FROM event WHERE seq = 1",
    "DELETE FROM event WHERE seq > 30",
    """UPDATE event SET body = '{"kind":"paused"}' WHERE seq = 1""",
    "UPDATE event SET body = '[]' WHERE seq = 5",
    """UPDATE event SET body = replace(body, '"arm":0', '"arm":99')""",
    "UPDATE alembic_version SET version_num = x'ff'",
    "DELETE FROM alembic_version",
    "DROP TABLE alembic_version",
]


def changes(table: str, values: tuple[str, ...]) -> list[str]:
    """Every value where it does not belong, in the last row of a table."""
    order = {"event": "seq", "snapshot": "seq", "campaign": "id"}.get(table, "number")
    last = f"WHERE {order} = (SELECT max({order}) FROM {table})"
    return [f"UPDATE {table} SET {column} = {value} {last}" for column in COLUMNS[table].split() for value in values]


@pytest.fixture(scope="module")
def whole(source: str, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file in which everything happened, without a log beside it."""
    path = tmp_path_factory.mktemp("damage") / "whole.db"
    backup(source, path)
    return path.read_bytes()


@pytest.fixture
def attempt(tmp_path: Path) -> Callable[[bytes, str | None], list[str]]:
    """Try every entry on a damaged file; return what was refused."""
    path = tmp_path / "a.db"
    store = f"sqlite:///{path}"
    entries: list[Callable[[], object]] = [
        lambda: Campaign.open(store).disconnect(),
        lambda: everything(store),
        lambda: campaigns(store),
        lambda: verify(store),
        lambda: export_ledger(store, io.BytesIO()),
        lambda: backup(store, tmp_path / "copy.db"),
    ]

    def tried(content: bytes, change: str | None) -> list[str]:
        refused = []
        for entry in entries:
            for file in tmp_path.iterdir():
                file.unlink()
            path.write_bytes(content)
            if change is not None:
                connection = sqlite3.connect(path)
                try:
                    connection.execute(change)
                    connection.commit()
                except sqlite3.IntegrityError:
                    return []  # not even by hand
                finally:
                    connection.close()
            try:
                entry()
            except OutlayError as error:
                refused.append(str(error))
        return refused

    return tried


def everything(store: str) -> None:
    with Campaign.open(store) as campaign:
        campaign.status()
        list(campaign.pulls())
        list(campaign.history())
        campaign.set_budget(200)


@pytest.mark.parametrize("values", [VALUES, pytest.param(MORE, marks=pytest.mark.soak)], ids=["some", "others"])
@pytest.mark.parametrize("table", COLUMNS)
def test_values_that_do_not_belong_there(
    attempt: Callable[[bytes, str | None], list[str]], whole: bytes, table: str, values: tuple[str, ...]
) -> None:
    refused = [sentence for change in changes(table, values) for sentence in attempt(whole, change)]
    assert all("\n" not in sentence for sentence in refused)
    assert refused or table == "snapshot"  # which is passed over


@pytest.mark.parametrize("change", GONE)
def test_what_is_missing_or_changed(
    attempt: Callable[[bytes, str | None], list[str]], whole: bytes, change: str
) -> None:
    refused = attempt(whole, change)
    assert refused or "snapshot" in change or "pull" in change
    assert all("\n" not in sentence for sentence in refused)


@pytest.mark.parametrize(
    "seeds", [range(24), pytest.param(range(24, 1000), marks=pytest.mark.soak)], ids=["few", "many"]
)
def test_bytes_that_changed(attempt: Callable[[bytes, str | None], list[str]], whole: bytes, seeds: range) -> None:
    refused = []
    for seed in seeds:
        rng, content = random.Random(seed), bytearray(whole)
        for _ in range(rng.choice([1, 5, 50])):
            start, length = rng.randrange(len(content)), rng.choice([1, 1, 10, 1000])
            content[start : start + length] = rng.randbytes(len(content[start : start + length]))
        refused += attempt(bytes(content), None)
    assert refused
    assert all("\n" not in sentence for sentence in refused)


@pytest.mark.parametrize(
    "verb", ["status", "history", "list", "verify", "export -", "ask", "tell 3 --cost 1 --reward 1"]
)
def test_the_command_line_says_it_in_a_line(tmp_path: Path, whole: bytes, verb: str) -> None:
    (tmp_path / "a.db").write_bytes(whole[:6000] + b"\xff" * 20000 + whole[26000:])
    done = CliRunner().invoke(commands, ["campaign", *verb.split(), "--store", f"sqlite:///{tmp_path}/a.db"])
    assert done.exit_code == 1, done.output
    assert "Traceback" not in done.output
    assert len(done.stderr.splitlines()) == 1
