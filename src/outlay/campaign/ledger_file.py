"""Ledgers as files: lines of JSON, which any program can read.

The first line says what the file is, and the last one holds the number of events, the SHA-256 of all lines before it,
so that a file that was cut or damaged is not taken for whole, and the head of the chain of events.
"""

import hashlib
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

import msgspec

from outlay import __version__
from outlay.campaign.ledger.events import NOTHING, Opened, Record, from_json, link, to_json
from outlay.campaign.ledger.replay import Replay
from outlay.campaign.ledger.state import State
from outlay.campaign.ledger.validation import LONGEST, MOST_ARMS, label
from outlay.campaign.ledger.windows import MICROS, as_of
from outlay.campaign.records import Status, status_of
from outlay.campaign.settings import PolicyGiven, chosen
from outlay.campaign.stores import queries
from outlay.campaign.stores.engines import connect, is_sqlite, reading, translated_errors, where
from outlay.campaign.verification import Verdict, verify
from outlay.checks import check_writable, checked_path, writing
from outlay.checks import reading as reading_file
from outlay.errors import BadFile, BadParameter, CampaignConflict, StoreError

FORMAT = 1
LONGEST_LINE = 2**22  # bytes: ten thousand samples of a warm start need a quarter of it
_LONGEST = {1: 2**16, 2: LONGEST_LINE + MOST_ARMS * (4 * LONGEST + 64)}  # the header, and the opening with all arms


def campaigns(store: str, archived: bool = False) -> list[Status]:
    """How every campaign of a store stands, by name; those that were `archived`, or the others."""
    if not isinstance(archived, bool):
        raise BadParameter("campaigns", "archived", "True or False", archived)
    return some_campaigns(store, archived, lambda names: names)


def some_campaigns(
    store: str, archived: bool, wanted: Callable[[list[str]], list[str]], share: float | None = None
) -> list[Status]:
    """How some of them stand: those that are `wanted` of all the names, in order, and have spent such a share."""
    with reading(store, "campaigns") as connection:
        names = wanted(sorted(queries.names(connection, archived, share)))
        states = [queries.state_of(connection, name) for name in names]
    now = int(time.time() * MICROS)
    return [status_of(as_of(state, now)) for state in states if state is not None]


def export_ledger(store: str, path: str | Path | BinaryIO, name: str = "default") -> int:
    """Write a campaign's events to a new file, or to one open in binary mode; return how many there are."""
    name = label("export_ledger", "name", name)
    with reading(store, "export_ledger") as connection:
        lines = queries.StoredCampaign(connection, name).lines()
        with nullcontext(path) if _is_file(path) else _new_file(checked_path("export_ledger", path)) as file:
            return _write(file, name, lines)


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
    given = chosen(policy)
    opened: AbstractContextManager[BinaryIO]
    if _is_file(path):
        opened, title = nullcontext(path), getattr(path, "name", "the file")
    else:
        title = checked_path("import_ledger", path)
        with reading_file(title):
            opened = title.open("rb")
    with opened as file:
        ledger = _LedgerFile(file, str(title))
        name = label("import_ledger", "name", ledger.campaign if name is None else name)
        _add(store, name, ledger)
    return verify(store, name, given)


def backup(store: str, path: str | Path) -> None:
    """Copy a SQLite database with all its campaigns to a new file, while it is in use."""
    to = checked_path("backup", path)
    engine = connect(store, new=False, owner="backup")
    try:
        if not is_sqlite(engine):
            raise StoreError("backup copies SQLite files: for PostgreSQL use pg_dump, or export each campaign")
        with translated_errors(engine), closing(engine.raw_connection()) as ours, _new_file(to):
            try:
                with closing(sqlite3.connect(to)) as copy:
                    ours.driver_connection.backup(copy)  # type: ignore[union-attr]
            except sqlite3.Error as error:
                raise StoreError(f"cannot copy {where(engine)} to {to}: {error}") from error
    finally:
        engine.dispose()


class _Header(msgspec.Struct):
    outlay: str
    format: int
    version: str
    campaign: str


class _Event(msgspec.Struct):
    seq: int
    at: int
    event: msgspec.Raw


class _End(msgspec.Struct):
    events: int
    sha256: str
    head: str  # the hash of the last event


def _write(file: BinaryIO, campaign: str, events: Iterable[queries.Line]) -> int:
    digest, count, head = hashlib.sha256(), 0, NOTHING

    def put(line: msgspec.Struct) -> None:
        text = msgspec.json.encode(line) + b"\n"
        digest.update(text)
        file.write(text)

    put(_Header("ledger", FORMAT, __version__, campaign))
    for seq, at, body, _ in events:
        if not isinstance(body, str):  # SQLite keeps anything in any column
            raise StoreError(f"event {seq} cannot be read: it is damaged")
        put(_Event(seq, at, msgspec.Raw(body.encode())))
        count, head = count + 1, link(head, seq, at, body)
    put(_End(count, digest.hexdigest(), head))
    return count


class _LedgerFile:
    """A file to read from; what is not as `export_ledger` wrote it is BadFile, in a sentence with the file's name."""

    def __init__(self, file: BinaryIO, title: str) -> None:
        self._file, self._title = file, title
        self._digest = hashlib.sha256()
        self._line = 0
        header = self._decoded(self._next(), _Header, "this is no ledger of outlay")
        if header.outlay != "ledger":
            raise self.bad("this is no ledger of outlay")
        if header.format > FORMAT:
            raise self.bad(f"it was written by a newer outlay ({header.version}): upgrade outlay to read it")
        self.campaign: str = header.campaign

    def bad(self, reason: str) -> BadFile:
        return BadFile(f"{self._title}: {reason}")

    def records(self, name: str) -> Iterator[Record]:
        """The events, which open a campaign of this name; after the last, the file is known to be whole."""
        count, head = 0, NOTHING
        while line := self._next():
            if not line.startswith(b'{"seq":'):
                break
            parts = self._decoded(line, _Event, f"line {self._line} is no event")
            body = bytes(parts.event)
            event = self._decoded(body, None, f"line {self._line} is no event")
            if to_json(event).encode() != body:
                raise self.bad(f"line {self._line} says more than this version of outlay understands: upgrade it")
            if isinstance(event, Opened):
                event = msgspec.structs.replace(event, name=name)
            yield Record(parts.seq, parts.at, event, head)
            head = link(head, parts.seq, parts.at, body.decode())
            count += 1
        else:
            raise self.bad("it was cut: its last line is missing")
        whole = self._before.hexdigest()
        end = self._decoded(line, _End, f"line {self._line} is neither an event nor the last line")
        if end.sha256 != whole or end.events != count or end.head != head:
            raise self.bad("it is damaged: its lines are not those that its last line was written for")
        if self._next():
            raise self.bad("there is more after its last line")

    def _next(self) -> bytes:
        self._line += 1
        self._before = self._digest.copy()
        most = _LONGEST.get(self._line, LONGEST_LINE)
        line = self._file.readline(most)
        if len(line) >= most:
            raise self.bad(f"line {self._line} is longer than any line of a ledger")
        self._digest.update(line)
        if line and not line.endswith(b"\n"):
            raise self.bad("it was cut in the middle of a line" if self._line > 1 else "this is no ledger of outlay")
        return line

    def _decoded(self, text: bytes, kind: Any, otherwise: str) -> Any:
        try:
            return from_json(text) if kind is None else msgspec.json.decode(text, type=kind)
        except (msgspec.DecodeError, RecursionError):
            raise self.bad(otherwise) from None


def _add(store: str, name: str, ledger: _LedgerFile) -> None:
    """Fold a ledger and write it to a store under this name, a part at a time, all in one transaction."""
    engine = connect(store, owner="import_ledger")
    replay, transaction_id = Replay(choosing=False), f"import-{uuid.uuid4().hex[:20]}"
    state: State | None = None
    number: int | None = None
    try:
        with translated_errors(engine), engine.begin() as connection:
            if name in queries.names(connection):
                raise CampaignConflict(f"{where(engine)} has a campaign {name!r} already")
            records = ledger.records(name)
            while chunk := list(islice(records, queries.CHUNK)):
                if state is not None and number is not None:
                    queries.load_pulls(connection, number, state, chunk)
                for record in chunk:
                    try:
                        state, doubt = replay.fold(state, record)
                    except ValueError as error:
                        raise ledger.bad(str(error)) from error
                    if doubt:
                        raise ledger.bad(doubt)
                assert state is not None  # noqa: S101 (there was a record)
                try:
                    number = queries.make(connection, state) if number is None else number
                    queries.write_now(connection, queries.Written(number, state, chunk, transaction_id))
                except (LookupError, OverflowError) as error:
                    said = f"it names a pull that was never made, or a number too large ({error})"
                    raise ledger.bad(said) from error
                state.forget_settled()
            if state is None:
                raise ledger.bad("there is no event in it")
    finally:
        engine.dispose()


def _is_file(path: str | Path | BinaryIO) -> TypeGuard[BinaryIO]:
    return hasattr(path, "write") or hasattr(path, "readline")


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that was not there; gone again where something fails."""
    with writing(path):
        if path.exists():
            raise BadFile(f"cannot write {path}: it is there already")
        check_writable(path)
        file = path.open("xb")
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
