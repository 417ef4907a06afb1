"""SQLite files: where they may be, how they are made and opened, and whether one is still what it was."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from sqlite3 import dbapi2
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Dialect, Engine

from outlay.errors import NoCampaign, StoreError

BUSY = 30.0  # seconds to wait for another process's transaction
# File systems where SQLite's locks cannot be trusted, as Linux names them.
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "ncpfs"}
PRIVATE = 0o600  # of a new file: what a campaign spends is nobody else's business

_SAID: dict[Any, Any] = {}  # statements as SQLAlchemy compiled them; there are as many as this package has
Identity = tuple[int, int]  # of a file, whatever its name: its device and its number there


def checked_path(url: URL, new: bool) -> Path:
    """The file of an address, where there may be one: on a local disk, and there already unless it is to be new."""
    path = Path(url.database or "").resolve()
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a file")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}")
    if not new and not path.exists():
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
    engine = sa.create_engine(
        URL.create("sqlite", database=str(path)),
        creator=_opener(path, mode),
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


def _opener(path: Path, mode: str) -> Callable[[], dbapi2.Connection]:
    address = f"file:{quote(str(path))}?{'immutable=1' if mode == 'immutable' else f'mode={mode}'}"
    return lambda: dbapi2.connect(address, uri=True, timeout=BUSY, check_same_thread=False)


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
