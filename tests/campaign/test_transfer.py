"""Ledgers that travel: export, import, backup; what is not whole is refused, and nothing of it is kept."""

import hashlib
import io
import json
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from outlay import Campaign, __version__
from outlay.campaign import backup, campaigns, export_ledger, import_ledger, ledger_file, verify
from outlay.campaign.stores import queries
from outlay.errors import BadFile, BadParameter, OutlayError, StoreError
from tests.campaign.busy import asked, exported, forged, head_of


def test_the_format(content: bytes) -> None:
    lines = content.splitlines(keepends=True)
    assert json.loads(lines[0]) == {"outlay": "ledger", "format": 1, "version": __version__, "campaign": "default"}
    assert [json.loads(line)["seq"] for line in lines[1:-1]] == list(range(1, len(lines) - 1))
    assert json.loads(lines[-1]) == {
        "events": len(lines) - 2,
        "sha256": hashlib.sha256(b"".join(lines[:-1])).hexdigest(),
        "head": head_of([json.loads(line) for line in lines[1:-1]]),
    }
    assert forged(content, lambda lines: None).getvalue() == content


@pytest.mark.parametrize("size", [1, 7, 2000])
def test_there_and_back(content: bytes, store: str, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(queries, "CHUNK", size)
    verdict = import_ledger(store, io.BytesIO(content))
    assert (verdict.ok, verdict.choices_checked) == (True, True)
    assert exported(store) == content


def test_under_another_name(content: bytes, store: str) -> None:
    assert import_ledger(store, io.BytesIO(content), "another").name == "another"
    assert import_ledger(store, io.BytesIO(content)).name == "default"
    assert [status.name for status in campaigns(store)] == ["another", "default"]
    one, other = (exported(store, name).splitlines() for name in ("default", "another"))
    assert other[2:-1] == one[2:-1]
    assert other[0] == one[0].replace(b"default", b"another")
    assert json.loads(other[1])["event"] == {**json.loads(one[1])["event"], "name": "another"}
    with Campaign.open(store, "another") as campaign:
        assert campaign.name == campaign.status().name == "another"


def test_a_campaign_goes_on_where_it_was(tmp_path: Path, store: str) -> None:
    old = f"sqlite:///{tmp_path}/old.db"
    with Campaign(["a", "b"], 10, store=old) as here:
        pull = asked(here, "k")
        export_ledger(old, tmp_path / "ledger.ndjson")
        import_ledger(store, tmp_path / "ledger.ndjson")
        with Campaign(["a", "b"], 10, store=store) as there:
            assert there.ask("k") == pull
            assert there.status() == here.status()
            assert replace(there.tell(pull, 1, 1), head="") == replace(here.tell(pull, 1, 1), head="")
            following, again = here.ask(), there.ask()
            assert following is not None
            assert again is not None
            assert (again.id, again.arm) == (following.id, following.arm)


def test_a_file_that_was_cut_at_any_byte(content: bytes, store: str) -> None:
    short = b"".join(content.splitlines(keepends=True)[:4])
    whole = forged(short + b"\n", lambda lines: None).getvalue()
    with pytest.raises(BadFile, match=r"it was cut|this is no ledger"):
        import_ledger(store, io.BytesIO(b""))
    for end in [*range(0, len(whole), 7), len(whole) - 1]:
        with pytest.raises(BadFile, match=r"^the file: (it was cut|this is no ledger)"):
            import_ledger(store, io.BytesIO(whole[:end]))
    for lines in range(1, len(content.splitlines())):
        with pytest.raises(BadFile, match="it was cut: its last line is missing"):
            import_ledger(store, io.BytesIO(b"".join(content.splitlines(keepends=True)[:lines])))
    assert campaigns(store) == []
    assert import_ledger(store, io.BytesIO(whole)).events == 3


def test_a_file_that_is_damaged(content: bytes, store: str) -> None:
    for place in range(0, len(content), 97):
        broken = bytearray(content)
        broken[place] ^= 1
        with pytest.raises(BadFile):
            import_ledger(store, io.BytesIO(bytes(broken)))
    lines = content.splitlines(keepends=True)
    swapped = [*lines[:5], lines[6], lines[5], *lines[7:]]
    for other in (lines[:5] + lines[6:], swapped, [*lines, lines[-1]], [*lines, b"\n"], lines[1:]):
        with pytest.raises(BadFile):
            import_ledger(store, io.BytesIO(b"".join(other)))
    assert campaigns(store) == []


def test_files(source: str, content: bytes, store: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.ndjson"
    assert export_ledger(source, path) == len(content.splitlines()) - 2
    assert path.read_bytes() == content
    with pytest.raises(BadFile, match=r"cannot write .*ledger\.ndjson: it is there already"):
        export_ledger(source, str(path))
    refusals = ("no/x", "there is no folder"), ("", "it is there already"), ("x" * 300, "File name too long")
    for where, reason in refusals:
        with pytest.raises(BadFile, match=reason):
            export_ledger(source, tmp_path / where)
    with pytest.raises(BadParameter, match="path of export_ledger must be a path"):
        export_ledger(source, 5)  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="has no campaign 'nobody'"):
        export_ledger(source, tmp_path / "nobody", "nobody")
    with pytest.raises(BadFile, match=r"cannot read .*none: No such file"):
        import_ledger(store, tmp_path / "none")
    path.write_bytes(content[:-40])
    with pytest.raises(BadFile, match=r"ledger\.ndjson: it was cut"):
        import_ledger(store, path)
    assert campaigns(store) == []


def test_an_export_that_fails_leaves_nothing(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ledger_file, "_write", fail)
    with pytest.raises(OSError, match="No space left"):
        export_ledger(source, tmp_path / "ledger.ndjson")
    assert list(tmp_path.iterdir()) == []


def test_backup_while_in_use(tmp_path: Path) -> None:
    store, copy = f"sqlite:///{tmp_path}/a.db", tmp_path / "copy.db"
    given: dict[str, Any] = {"store": store, "first_pulls": None}
    with Campaign(["a", "b"], 100, name="one", **given) as one, Campaign(["a"], 5, name="two", **given) as two:
        one.ask_many(20)
        two.ask()
        backup(store, copy)
        pull = asked(one)
        assert [status.in_flight for status in campaigns(f"sqlite:///{copy}")] == [20, 1]
        for name in ("one", "two"):
            assert verify(f"sqlite:///{copy}", name).ok
    with Campaign.open(f"sqlite:///{copy}", "one") as there:
        again = asked(there)
        assert (again.id, again.arm) == (pull.id, pull.arm)
    with pytest.raises(BadFile, match=r"copy\.db: it is there already"):
        backup(store, copy)
    with pytest.raises(StoreError, match="there is no file"):
        backup(f"sqlite:///{tmp_path}/none.db", tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()


def test_a_backup_that_fails_leaves_nothing(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(ledger_file, "sqlite3", SimpleNamespace(connect=fail, Error=sqlite3.Error))
    with pytest.raises(StoreError, match=r"cannot copy .*spend\.db to .*copy\.db: disk I/O error"):
        backup(source, tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_no_backup_of_a_server(postgres_url: str, tmp_path: Path) -> None:
    Campaign(["a"], 1, store=postgres_url).disconnect()
    with pytest.raises(OutlayError, match="for PostgreSQL use pg_dump, or export each campaign"):
        backup(postgres_url, tmp_path / "x.db")
