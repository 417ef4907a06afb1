"""SQLite files: where they may be, how they are made and opened, and the turns of the processes that write to one."""

import fcntl
import os
import random
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from sqlite3 import dbapi2
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Dialect, Engine

from outlay.errors import NoCampaign, StoreError
from outlay.text import cut

BUSY = 30.0  # seconds to wait for another process's transaction
# File systems where SQLite's locks cannot be trusted, as Linux names them.
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "ncpfs"}
PRIVATE = 0o600  # of a new file: what a campaign spends is nobody else's business
PATIENCE = 5.0  # seconds to wait for the turn: somebody may be asleep in it
AT_LEAST = 0.02  # the same where that was in vain again and again
LOOK = 0.0002  # seconds between two looks, about
SOON = 0.00005  # the same for the one who is next: while nobody looks, the turn is nobody's
IN_A_ROW = 4  # transactions of one process, while others wait
_TURN, _NEXT = 0, 1  # bytes of the file

_SAID: dict[Any, Any] = {}  # statements as SQLAlchemy compiled them; there are as many as this package has
Identity = tuple[int, int]  # of a file, whatever its name: its device and its number there


def checked_path(url: URL, new: bool) -> Path:
    """The file of an address, where there may be one: on a local disk, and there already unless it is to be new."""
    try:
        path = Path(url.database or "").resolve()
        is_folder, has_folder, is_there = path.is_dir(), path.parent.is_dir(), path.exists()
    except (OSError, RuntimeError) as error:  # too long a name; links in a circle
        reason = error.strerror if isinstance(error, OSError) else "it leads in a circle of links"
        raise StoreError(f"{cut(url.database or '', 80)} cannot be a store: {reason}") from None
    if is_folder:
        raise StoreError(f"{path} is a folder, not a file")
    if not has_folder:
        raise StoreError(f"{path}: there is no folder {path.parent}")
    if not (new or is_there):
        raise NoCampaign(f"there is no file {path}")
    kind = file_system(path.parent)
    if kind in _REMOTE:
        raise StoreError(f"{path} is on a network file system ({kind}), where SQLite can lose data: use PostgreSQL")
    return path


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read; one that is there stays as it is."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(f"{path}: unable to open database file ({error.strerror})") from error


def identity(path: Path | str) -> Identity | None:
    """Which file has this name now, if one has."""
    try:
        found = os.stat(path)  # noqa: PTH116 (run for each batch, on a plain string)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def engine_of(path: Path, mode: str = "rw") -> Engine:
    """An engine for a file that is there: in the mode "rw" it is never made anew where it was removed."""
    address = f"file:{quote(str(path))}?{'immutable=1' if mode == 'immutable' else f'mode={mode}'}"
    engine = sa.create_engine(
        URL.create("sqlite", database=str(path)),
        creator=lambda: dbapi2.connect(address, uri=True, timeout=BUSY, check_same_thread=False),
        execution_options={"compiled_cache": _SAID},
    )
    engine.dialect = _dialect()

    @sa.event.listens_for(engine, "connect")
    def _(connection: dbapi2.Connection, _: object) -> None:
        connection.isolation_level = None  # sqlite3 must not begin transactions of its own
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @sa.event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        reading = connection.get_execution_options().get("reading", False)
        if not driver.in_transaction:
            driver.execute("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


@cache
def _dialect() -> Dialect:
    """One for all files, so that a statement that was compiled for one of them is so for the others."""
    engine = sa.create_engine("sqlite://")
    engine.connect().close()  # which tells it what this SQLite can do
    engine.dispose()
    return engine.dialect


def file_system(folder: Path) -> str | None:
    """The kind of file system a folder is on, where the system tells (Linux)."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    kinds = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        kinds[before.split()[4].replace("\\040", " ")] = after.split()[0]
    folder = folder.resolve()
    return next((kinds[str(path)] for path in (folder, *folder.parents) if str(path) in kinds), None)


class FileTurns:
    """The turns of one database, for the one thread of this process that writes to it.

    Who has just written a few times stands at the back. SQLite's own waiting sleeps for up to 100 ms at a time, so that
    who comes at the right moment is served before those who have waited for seconds. Here there are two places, bytes
    of a file beside the database: the turn, and who is next. A process becomes next, waits for the turn, and only then
    makes room for another to be next. It is an order and no lock: SQLite still sees to it that one writes at a time,
    and who has waited too long for the turn goes ahead without it: a process that was stopped in its turn delays the
    others for seconds, not for as long as it sleeps.
    """

    def __init__(self, database: Path) -> None:
        self._path = f"{database}-turns"
        self._file: int | None = None
        self._identity: Identity | None = None
        self._patience = PATIENCE
        self._again = 0  # how often it was taken before those who wait

    def begin(self) -> None:
        """Wait for the turn, for a while; half as long where that was in vain the last time.

        Who comes back at once has it again, a few times: to hand it over, and to fold in what others wrote, takes as
        long as a transaction.
        """
        file = self._opened()
        if file is None:
            return
        self._again = (self._again + 1) % IN_A_ROW
        if self._again and _taken(file, _TURN, -1.0, SOON):
            self._patience = PATIENCE
            return
        self._again = 0
        deadline = time.monotonic() + self._patience
        mine = False
        if _taken(file, _NEXT, deadline, LOOK):
            mine = _taken(file, _TURN, deadline, SOON)
            fcntl.lockf(file, fcntl.LOCK_UN, 1, _NEXT)
        self._patience = PATIENCE if mine else max(AT_LEAST, self._patience / 2)

    def end(self) -> None:
        """Let the next have it."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _TURN)

    def close(self) -> None:
        """Let go of the file, which is removed; whoever still uses it makes another."""
        if self._file is not None:
            with suppress(OSError):
                Path(self._path).unlink()
            os.close(self._file)
            self._file = None

    def _opened(self) -> int | None:
        if self._file is not None:
            if identity(self._path) == self._identity:
                return self._file
            os.close(self._file)
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)
        except OSError:  # a folder where nothing may be made: whether the database can be written is for SQLite to say
            self._file = None
        self._identity = identity(self._path)
        return self._file


def _taken(file: int, place: int, deadline: float, look: float) -> bool:
    """Take a place; False where nobody makes room until the deadline."""
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(look * random.uniform(0.5, 1.5))  # noqa: S311 (in step, some would always look too late)
        else:
            return True
