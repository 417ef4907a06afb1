"""Databases that hold ledgers: SQLite files and PostgreSQL, opened so that COMMIT means kept.

SQLite: write-ahead log, every commit flushed to the disk (synchronous=FULL), the write lock taken at the start of a
transaction. What a database refuses is a `StoreError` of one sentence; no SQL and no password is in it.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url

from outlay.campaign.stores import tables
from outlay.errors import BadParameter, NoCampaign, StoreError

REVISION = "0002"  # of the tables this version reads and writes
BUSY = 30.0  # seconds to wait for another process's transaction on a SQLite file
SILENCE = 300.0  # seconds after which a server ends the transaction of a worker that sleeps or is gone
_ALLOWED = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"
# File systems where SQLite's locks cannot be trusted, as Linux names them.
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "ncpfs"}
FORKED = "a campaign cannot be used in a forked process: open it after forking"
_open: dict[Engine, int] = {}  # those in use, and the process that made each
_LOCK = 0x62757273  # of PostgreSQL's advisory locks: taken while tables are made


def connect(store: object, *, new: bool = True) -> Engine:
    """An engine for the store of this address, its tables brought to this version; `new`, they may be made."""
    url = _address(store)
    engine = _sqlite(url, new) if url.get_backend_name() == "sqlite" else _postgresql(url)
    _open[engine] = os.getpid()
    sa.event.listen(engine, "engine_disposed", lambda gone: _open.pop(gone, None))
    try:
        with in_plain_words(engine):
            _bring_up_to_date(engine, new)
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def reading(store: object) -> Iterator[Connection]:
    """A connection that sees a store as it is at one moment, whatever is written meanwhile."""
    engine = connect(store, new=False)
    try:
        with in_plain_words(engine), at_one_moment(engine) as connection:
            yield connection
    finally:
        engine.dispose()


def at_one_moment(engine: Engine) -> Connection:
    """A connection for reading; all that it reads is as it was at its first read.

    In a forked process it is refused before anything of the parent's is touched: even closing an inherited connection
    can wait for ever, for a lock inside SQLite that was held by a thread which does not exist here.
    """
    if _open.setdefault(engine, os.getpid()) != os.getpid():
        raise StoreError(FORKED)
    moment = {} if is_sqlite(engine) else {"isolation_level": "REPEATABLE READ"}
    return engine.connect().execution_options(reading=True, **moment)


def where(engine: Engine) -> str:
    """The store's name for messages: a file, or an address without its password."""
    if is_sqlite(engine):
        return engine.url.database or ""
    return engine.url.difference_update_query(["password", "sslpassword"]).render_as_string(hide_password=True)


def is_sqlite(engine: Engine) -> bool:
    """Whether it is a SQLite file."""
    return engine.dialect.name == "sqlite"


@contextmanager
def in_plain_words(engine: Engine) -> Iterator[None]:
    """What the database refuses, as StoreError."""
    try:
        yield
    except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
        raise StoreError(f"{where(engine)}: {_plain(error)}") from error


def lost(error: sa.exc.SQLAlchemyError) -> bool:
    """Whether trying again may help: the connection is gone, or two transactions were in each other's way."""
    if not isinstance(error, sa.exc.DBAPIError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    # 08: connection; 40001, 40P01: serialisation, deadlock; 57P01-03: the server shuts down or starts.
    tries = ("08", "40001", "40P01", "57P01", "57P02", "57P03")
    gone = error.connection_invalidated or (state is None and isinstance(error, sa.exc.OperationalError))
    return gone or (state is not None and state.startswith(tries))


def _address(store: object) -> URL:
    try:
        url = make_url(store) if isinstance(store, str) and store.isprintable() else None
    except (sa.exc.ArgumentError, ValueError):
        url = None
    if url is None or url.get_backend_name() not in ("sqlite", "postgresql", "postgres"):
        raise BadParameter("Campaign", "store", f"None or {_ALLOWED}", _without_password(store))
    if url.get_backend_name() != "sqlite":
        if "@" in (url.host or ""):
            allowed = "written with %40 for an @ in the password"
            raise BadParameter("Campaign", "store", allowed, _without_password(store))
        return url.set(drivername="postgresql+psycopg")
    if url.database in (None, "", ":memory:"):
        raise BadParameter("Campaign", "store", "None for a campaign in memory, or sqlite:///FILE", store)
    if url.host or url.query:
        raise BadParameter("Campaign", "store", "sqlite:///FILE and nothing else", store)
    return url.set(drivername="sqlite")


def _sqlite(url: URL, new: bool) -> Engine:
    path = Path(url.database or "").resolve()
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a file")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}")
    if not new and not path.exists():
        raise NoCampaign(f"there is no file {path}")
    if any(engine.url.database == str(path) and process != os.getpid() for engine, process in list(_open.items())):
        why = "was open when this process was forked, where SQLite loses data"
        raise StoreError(f"{path} {why}: open it after forking, or use PostgreSQL")
    kind = _file_system(path.parent)
    if kind in _REMOTE:
        raise StoreError(f"{path} is on a network file system ({kind}), where SQLite can lose data: use PostgreSQL")
    engine = sa.create_engine(url.set(database=str(path)), connect_args={"timeout": BUSY})

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # sqlite3 must not begin transactions of its own
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")

    @sa.event.listens_for(engine, "begin")
    def _(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _postgresql(url: URL) -> Engine:
    try:
        engine = sa.create_engine(url, connect_args={"connect_timeout": 10})
    except ImportError:
        raise StoreError("campaigns on PostgreSQL need psycopg: pip install 'outlay[postgres]'") from None

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _: Any) -> None:
        connection.execute(f"SET idle_in_transaction_session_timeout = '{SILENCE:g} s'")
        connection.commit()

    return engine


def _bring_up_to_date(engine: Engine, new: bool) -> None:
    with engine.connect().execution_options(reading=True) as connection:
        found = _revision(connection)
    if found is None and not new:
        raise NoCampaign(f"{where(engine)} holds no campaign")
    if is_sqlite(engine):
        _log_ahead(engine)
    if found == REVISION:
        return
    with engine.begin() as connection:
        if not is_sqlite(engine):
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        if _revision(connection) != REVISION:
            _migrate(connection)


def _log_ahead(engine: Engine) -> None:
    """Have a write-ahead log: a setting that stays in the file, and may be lost in a copy of it."""
    with engine.connect() as connection:  # outside of a transaction, where SQLAlchemy has no words for it
        driver: Any = connection.connection.driver_connection
        if driver.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise StoreError(f"{where(engine)}: no write-ahead log can be kept beside it")


def _revision(connection: Connection) -> str | None:
    """Which tables the database has: None for none; StoreError where they are newer, or not ours."""
    names = sa.inspect(connection).get_table_names()
    if "alembic_version" not in names:
        if set(names) & set(tables.metadata.tables):
            raise StoreError(f"{where(connection.engine)} has tables of these names that are not outlay's")
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if found is not None and not re.fullmatch(r"\d{4}", found):
        raise StoreError(f"{where(connection.engine)} has tables of another program: give outlay a database of its own")
    if found is not None and found > REVISION:
        raise StoreError(f"{where(connection.engine)} was written by a newer outlay: upgrade outlay to open it")
    return found


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    settings = Config()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    settings.set_main_option("path_separator", "os")
    settings.attributes["connection"] = connection
    command.upgrade(settings, "head")


def _file_system(folder: Path) -> str | None:
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


def _plain(error: Exception) -> str:
    """What the database says, without the statement."""
    cause = getattr(error, "orig", None) or error
    text = " ".join(str(cause).split())
    if "database is locked" in text:
        return f"another process has held the file for {BUSY:g} s: for many writers use PostgreSQL"
    return text[:200] or type(error).__name__


def _without_password(store: object) -> object:
    if not isinstance(store, str) or "://" not in store:
        return store
    scheme, _, rest = store.partition("?")[0].partition("://")
    return f"{scheme}://…@{rest.rpartition('@')[2]}" if "@" in rest else f"{scheme}://{rest}"
