"""A ledger from one place to another: `export_ledger` to a file, `import_ledger` from it, `backup` of a database."""

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from copy import copy
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay._version import __version__
from outlay.campaign.ledger.events import Opened, Record
from outlay.campaign.ledger.replay import Replay
from outlay.campaign.ledger.state import Arm, State
from outlay.campaign.ledger_file import LedgerFile, write
from outlay.campaign.stores import rows, tables
from outlay.campaign.stores.database import connect, is_sqlite, reading, told_plainly, where
from outlay.campaign.terms import chosen, label
from outlay.campaign.verification import CHUNK, Verdict, events_of, recall, row_of, verify
from outlay.errors import BadFile, CampaignConflict, StoreError
from outlay.files import check_writable, checked_path, writing
from outlay.files import reading as reading_file


def export_ledger(store: str, path: str | Path | BinaryIO, name: str = "default") -> int:
    """Write a campaign's events to a new file, or one that is open for bytes; return how many they are."""
    name = label("export_ledger", "name", name)
    with reading(store) as connection:
        lines = events_of(connection, row_of(connection, name)["id"])
        with nullcontext(path) if _is_file(path) else _new_file(checked_path("export_ledger", path)) as file:
            return write(file, name, lines)


def import_ledger(store: str, path: str | Path | BinaryIO, name: str | None = None, policy: Any = None) -> Verdict:
    """Make a campaign from a file of `export_ledger`, all of it or nothing; return what `verify` says of it.

    Args:
        store: the address of the database, which is made if need be.
        path: the file, or one that is open for bytes.
        name: of the campaign in this store; None for the name it had.
        policy: the policy, where it is not built in; without it choices are not checked.

    Events keep their numbers and times. Under the same name, exporting it again gives the same bytes.
    """
    policy = None if policy is None else chosen(policy)
    with _old_file(path) as (file, title):
        ledger = LedgerFile(file, title)
        name = label("import_ledger", "name", ledger.campaign if name is None else name)
        engine = connect(store)
        try:
            with told_plainly(engine), engine.begin() as connection:
                _take(connection, ledger, name)
        finally:
            engine.dispose()
    return verify(store, name, policy)


def backup(store: str, path: str | Path) -> None:
    """Copy a SQLite database with all its campaigns to a new file, while it is in use."""
    to = checked_path("backup", path)
    engine = connect(store, new=False)
    try:
        if not is_sqlite(engine):
            raise StoreError("backup copies SQLite files: for PostgreSQL use pg_dump, or export each campaign")
        with told_plainly(engine), closing(engine.raw_connection()) as ours, _new_file(to):
            try:
                with closing(sqlite3.connect(to)) as copy:
                    ours.driver_connection.backup(copy)  # type: ignore[union-attr]
            except sqlite3.Error as error:
                raise StoreError(f"cannot copy {where(engine)} to {to}: {error}") from error
    finally:
        engine.dispose()


def _take(connection: Connection, ledger: LedgerFile, name: str) -> None:
    """Fold a ledger and write it, under this name, a part at a time."""
    table = tables.campaign
    if connection.execute(sa.select(table.c.id).where(table.c.name == name)).first() is not None:
        raise CampaignConflict(f"{where(connection.engine)} has a campaign {name!r} already")
    replay, by = Replay(choosing=False), f"import-{uuid.uuid4().hex[:20]}"
    state: State | None = None
    number, before = 0, list[Arm]()
    records = ledger.records()
    while chunk := [_renamed(record, name) for record in islice(records, CHUNK)]:
        if state is not None:
            recall(connection, number, state, chunk)
        for record in chunk:
            state = _folded(ledger, replay, state, record)
        assert state is not None  # noqa: S101 (there was a record)
        try:
            number = number or rows.make(connection, state)
            rows.write(connection, number, state, chunk, before, by)
        except (LookupError, OverflowError) as error:
            raise ledger.bad(f"it names a decision that was never made, or a number too large ({error})") from error
        before = [copy(arm) for arm in state.arms]
        state.forget_settled()
    if state is None:
        raise ledger.bad("there is no event in it")


def _folded(ledger: LedgerFile, replay: Replay, state: State | None, record: Record) -> State:
    try:
        after, doubt = replay.fold(state, record)
    except ValueError as error:
        raise ledger.bad(str(error)) from error
    if doubt and replay.version == __version__:
        raise ledger.bad(doubt)
    return after


def _renamed(record: Record, name: str) -> Record:
    """An opening under the name that it has here."""
    event = record.event
    if not isinstance(event, Opened) or event.name == name:
        return record
    return Record(record.seq, record.at, msgspec.structs.replace(event, name=name))


def _is_file(path: str | Path | BinaryIO) -> TypeGuard[BinaryIO]:
    """Whether it is a file that is open already."""
    return hasattr(path, "write") or hasattr(path, "readline")


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that was not there; gone again where something fails."""
    if path.exists():
        raise BadFile(f"cannot write {path}: it is there already")
    check_writable(path)
    with writing(path):
        file = path.open("xb")
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _old_file(path: str | Path | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    """A file to read, with its name for messages."""
    if _is_file(path):
        yield path, str(getattr(path, "name", "the file"))
        return
    there = checked_path("import_ledger", path)
    with reading_file(there):
        file = there.open("rb")
    with file:
        yield file, str(there)
