"""A ledger from one place to another: `export_ledger` to a file, `import_ledger` from it, `backup` of a database."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeGuard

import msgspec

from outlay.campaign.books.ledger_file import LedgerFile, write
from outlay.campaign.books.verification import Verdict, verify
from outlay.campaign.ledger.agreement import label
from outlay.campaign.ledger.events import Opened, Record
from outlay.campaign.ledger.rulings.replay import Replay
from outlay.campaign.ledger.state import State
from outlay.campaign.settings import PolicyGiven, chosen
from outlay.campaign.stores.db.adding import Addition, adding
from outlay.campaign.stores.db.database import connect, in_plain_words, is_sqlite, where
from outlay.campaign.stores.db.reading import reading
from outlay.campaign.stores.db.stored import CHUNK, Stored
from outlay.checks import check_writable, checked_path, writing
from outlay.checks import reading as reading_file
from outlay.errors import BadFile, StoreError


def export_ledger(store: str, path: str | Path | BinaryIO, name: str = "default") -> int:
    """Write a campaign's events to a new file, or to one open in binary mode; return how many there are."""
    name = label("export_ledger", "name", name)
    with reading(store, "export_ledger") as connection:
        lines = ((seq, at, _text(seq, body)) for seq, at, body, _ in Stored(connection, name).lines())
        with nullcontext(path) if _is_file(path) else _new_file(checked_path("export_ledger", path)) as file:
            return write(file, name, lines)


def _text(seq: int, body: object) -> str:
    """The text of an event: SQLite keeps anything in any column."""
    if not isinstance(body, str):
        raise StoreError(f"event {seq} cannot be read: it is damaged")
    return body


def import_ledger(
    store: str, path: str | Path | BinaryIO, name: str | None = None, policy: PolicyGiven = None
) -> Verdict:
    """Make a campaign from a file that `export_ledger` wrote, all of it or nothing; return the verdict of `verify`.

    Args:
        store: the address of the database, which is created if need be.
        path: the file, or one that is open in binary mode.
        name: of the campaign in this store; None for the name it had.
        policy: the policy, where it is not built in; without it choices are not checked.

    Events keep their numbers and times. Under the same name, exporting it again gives the same bytes.
    """
    policy = None if policy is None else chosen(policy)
    with _old_file(path) as (file, title):
        ledger = LedgerFile(file, title)
        name = label("import_ledger", "name", ledger.campaign if name is None else name)
        with adding(store, name) as addition:
            _take(addition, ledger, name)
    return verify(store, name, policy)


def backup(store: str, path: str | Path) -> None:
    """Copy a SQLite database with all its campaigns to a new file, while it is in use."""
    to = checked_path("backup", path)
    engine = connect(store, new=False, owner="backup")
    try:
        if not is_sqlite(engine):
            raise StoreError("backup copies SQLite files: for PostgreSQL use pg_dump, or export each campaign")
        with in_plain_words(engine), closing(engine.raw_connection()) as ours, _new_file(to):
            try:
                with closing(sqlite3.connect(to)) as copy:
                    ours.driver_connection.backup(copy)  # type: ignore[union-attr]
            except sqlite3.Error as error:
                raise StoreError(f"cannot copy {where(engine)} to {to}: {error}") from error
    finally:
        engine.dispose()


def _take(addition: Addition, ledger: LedgerFile, name: str) -> None:
    """Fold a ledger and write it, under this name, a part at a time."""
    replay = Replay(choosing=False)
    state: State | None = None
    records = ledger.records()
    while chunk := [_renamed(record, name) for record in islice(records, CHUNK)]:
        if state is not None:
            addition.recall(state, chunk)
        for record in chunk:
            state = _folded(ledger, replay, state, record)
        assert state is not None  # noqa: S101 (there was a record)
        try:
            addition.write(state, chunk)
        except (LookupError, OverflowError) as error:
            raise ledger.bad(f"it names a decision that was never made, or a number too large ({error})") from error
        state.forget_settled()
    if state is None:
        raise ledger.bad("there is no event in it")


def _folded(ledger: LedgerFile, replay: Replay, state: State | None, record: Record) -> State:
    try:
        after, doubt = replay.fold(state, record)
    except ValueError as error:
        raise ledger.bad(str(error)) from error
    if doubt:
        raise ledger.bad(doubt)
    return after


def _renamed(record: Record, name: str) -> Record:
    """An opening under the name that it has here."""
    event = record.event
    if not isinstance(event, Opened) or event.name == name:
        return record
    return msgspec.structs.replace(record, event=msgspec.structs.replace(event, name=name))


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
