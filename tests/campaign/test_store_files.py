"""SQLite files: who may read them, what may only be read, and what becomes of one that is taken away."""

import io
import os
import sqlite3
import tempfile
from pathlib import Path
from pwd import getpwnam

import pytest

from outlay.campaign import Campaign, campaigns, export_ledger, verify
from outlay.errors import StoreError
from tests.campaign.busy import POLICY, busy, exported
from tests.campaign.worker import TERMS, Workers


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
        workers.run("tests.campaign.test_store_files.read", f"sqlite:///{path}", name, wanted.decode())
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


def test_an_event_of_many_brackets(tmp_path: Path) -> None:
    """It is damaged, and no reason to break down."""
    Campaign(**TERMS, store=f"sqlite:///{tmp_path}/a.db").disconnect()
    body = '{"kind":"opened","name":' + "[" * 100_000 + "]" * 100_000 + "}"
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("UPDATE event SET body = ?", [body])
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="event 1 cannot be read: a newer outlay wrote it, or it is damaged"):
        Campaign.open(f"sqlite:///{tmp_path}/a.db")
