"""Databases that hold ledgers: SQLite files and PostgreSQL, by their addresses, opened so that COMMIT means kept.

SQLite: write-ahead log, every commit flushed to the disk (synchronous=FULL), the write lock taken at the start of a
transaction. What a database refuses is a `StoreError` of one sentence; no SQL and no password is in it.
"""

import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url

from outlay.campaign.stores import schema, sqlite
from outlay.campaign.stores.base import FORKED
from outlay.errors import BadParameter, NoCampaign, OutlayError, StoreBusy, StoreError

SILENCE = 10.0  # seconds after which a server ends the transaction of a worker that sleeps or is gone
_open: dict[Engine, int] = {}  # those in use, and the process that made each
_LOCK = 0x62757273  # of PostgreSQL's advisory locks: taken while tables are made
# What PostgreSQL's client does to notice that the server's machine is gone: probes after so many seconds of silence.
_KEEPALIVE = {"connect_timeout": 10, "keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 4}
_ALLOWED = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"
# How SQLAlchemy names drivers of the databases that we know; whichever is named, we use our own.
_DRIVER_BY_NAME = {
    **dict.fromkeys(["sqlite", "sqlite+pysqlite", "sqlite+aiosqlite"], "sqlite"),
    **dict.fromkeys(["postgres", "postgresql"], "postgresql+psycopg"),
    **{f"postgresql+{name}": "postgresql+psycopg" for name in ("psycopg", "psycopg2", "asyncpg", "pg8000")},
}


def connect(store: object, *, new: bool = True, owner: str = "Campaign") -> Engine:
    """An engine for the store of this address, its tables brought to this version; `new`, they may be made."""
    engine = _engine_of(parsed(store, owner), new)
    try:
        with translated_errors(engine):
            if revision(engine, new) != schema.REVISION:
                _make_or_migrate(engine)
            if is_sqlite(engine):
                _log_ahead(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def is_older(store: object, owner: str = "Campaign") -> bool:
    """Whether an older version made the tables of this store, which `connect` would bring to this one."""
    try:
        engine = _engine_of(parsed(store, owner), new=False)
    except NoCampaign:
        return False
    try:
        with translated_errors(engine):
            return revision(engine, new=True) not in (None, schema.REVISION)
    finally:
        engine.dispose()


def revision(engine: Engine, new: bool = False) -> str | None:
    """Which tables the database has; None for none, which is NoCampaign unless they are to be made."""
    with engine.connect().execution_options(reading=True) as connection:
        found = _revision(connection)
    if found is None and not new:
        raise NoCampaign(f"{where(engine)} holds no campaign")
    return found


@contextmanager
def read_snapshot(engine: Engine) -> Iterator[Connection]:
    """A connection for reading; all that it reads is as it was at its first read.

    In a forked process it is refused before anything of the parent's is touched: even closing an inherited connection
    can wait for ever, for a lock inside SQLite that was held by a thread which does not exist here.
    """
    if _open.setdefault(engine, os.getpid()) != os.getpid():
        raise StoreError(FORKED)
    moment = {} if is_sqlite(engine) else {"isolation_level": "REPEATABLE READ"}
    with translated_errors(engine), engine.connect().execution_options(reading=True, **moment) as connection:
        yield connection


def where(engine: Engine) -> str:
    """The store's name for messages: a file, or an address without its password."""
    if is_sqlite(engine):
        return engine.url.database or ""
    return engine.url.difference_update_query(["password", "sslpassword"]).render_as_string(hide_password=True)


def is_sqlite(engine: Engine | Connection) -> bool:
    """Whether it is of a SQLite file."""
    return engine.dialect.name == "sqlite"


def database_errors(engine: Engine) -> tuple[type[Exception], ...]:
    """What a database raises; a damaged file's own words may be no text."""
    return sa.exc.SQLAlchemyError, engine.dialect.loaded_dbapi.Error, sqlite3.Error, UnicodeError


@contextmanager
def reading(store: object, owner: str = "Campaign.open") -> Iterator[Connection]:
    """A connection that sees a store as it is at one moment, whatever is written; a file may be one to read only."""
    url = parsed(store, owner)
    path = sqlite.checked_path(url, new=False) if url.get_backend_name() == "sqlite" else None
    still = path is not None and _is_still(path)
    if path is None or (_writable(path) and _writable(path.parent)):
        engine = connect(store, new=False, owner=owner)
    else:
        engine = _adopted(sqlite.engine_of(path, "immutable" if still else "ro"))
    try:
        with translated_errors(engine):
            if revision(engine) != schema.REVISION:
                raise StoreError(f"{path} was written by an older outlay: open it where it may be written")
        with read_snapshot(engine) as connection:
            yield connection
    finally:
        engine.dispose()
        if path is not None and still and not _is_still(path):
            raise StoreError(f"{path} was written to while it was read: read it again")


def _is_still(path: Path) -> bool:
    """Whether SQLite could keep no log beside the file, and nobody else keeps one: then nothing changes in it."""
    return not _writable(path.parent) and not path.with_name(f"{path.name}-wal").exists()


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


@contextmanager
def translated_errors(engine: Engine) -> Iterator[None]:
    """What the database refuses, as StoreError."""
    try:
        yield
    except database_errors(engine) as error:
        text = _plain(error)
        raise (StoreBusy if text.startswith("another process") else StoreError)(f"{where(engine)}: {text}") from error


def is_retryable(error: Exception) -> bool:
    """Whether trying again may help: the connection is gone, or two transactions were in each other's way."""
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "sqlstate", None)
    # 08: connection; 25P03: idle for too long; 26000, 42P05: of another connection than we thought; 40001, 40P01:
    # serialisation, deadlock; 57P01-03: the server is stopping.
    tries = ("08", "25P03", "26000", "40001", "40P01", "42P05", "57P01", "57P02", "57P03")
    gone = getattr(error, "connection_invalidated", False) or (state is None and "OperationalError" in _kinds(error))
    return gone or (state is not None and state.startswith(tries))


def is_duplicate_row(error: Exception) -> bool:
    """Whether a row was there already."""
    return "IntegrityError" in _kinds(error)


def blames_one_request(error: BaseException) -> bool:
    """Whether a batch failed for what was in it, so that others may fare better without it."""
    kinds = {"DataError", "IntegrityError", "InterfaceError", "NotSupportedError"}
    cause = error.__cause__ if isinstance(error, StoreError) else None
    if isinstance(cause, Exception):
        return not kinds.isdisjoint(_kinds(cause))
    return not isinstance(error, OutlayError)


def _engine_of(url: URL, new: bool) -> Engine:
    if url.get_backend_name() == "sqlite":
        path = sqlite.checked_path(url, new)
        if any(engine.url.database == str(path) and process != os.getpid() for engine, process in list(_open.items())):
            why = "was open when this process was forked, where SQLite loses data"
            raise StoreError(f"{path} {why}: open it after forking, or use PostgreSQL")
        if new:
            sqlite.make_private(path)
        return _adopted(sqlite.engine_of(path))
    try:
        engine = sa.create_engine(url, connect_args=_KEEPALIVE | {"client_encoding": "utf8"})
    except ImportError:
        raise StoreError("campaigns on PostgreSQL need psycopg: pip install 'outlay[postgres]'") from None

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, _: Any) -> None:
        connection.execute(f"SET idle_in_transaction_session_timeout = '{SILENCE:g} s'")
        connection.execute(f"SET lock_timeout = '{sqlite.BUSY:g} s'")
        # Statements are planned once, for any values and while tables are small: a plan must not read all of them.
        connection.execute("SET enable_seqscan = off")
        # Whatever the server's own: who has waited for a lock sees what was written meanwhile.
        connection.execute("SET default_transaction_isolation = 'read committed'")
        connection.commit()

    return _adopted(engine)


def _adopted(engine: Engine) -> Engine:
    """Note that an engine is in use, and whose process made it."""
    _open[engine] = os.getpid()
    sa.event.listen(engine, "engine_disposed", lambda gone: _open.pop(gone, None))
    return engine


def _make_or_migrate(engine: Engine) -> None:
    with engine.begin() as connection:
        if not is_sqlite(engine):
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        found = _revision(connection)  # again: another process may have made them meanwhile
        if found is None:
            schema.make(connection)
        elif found != schema.REVISION:
            schema.migrate(connection)


def _log_ahead(engine: Engine) -> None:
    """Have a write-ahead log: a setting that stays in the file, and may be lost in a copy of it."""
    with engine.connect() as connection:  # outside of a transaction, where SQLAlchemy has no words for it
        driver: Any = connection.connection.driver_connection
        end = time.monotonic() + sqlite.BUSY
        while True:
            try:
                mode = driver.execute("PRAGMA journal_mode = WAL").fetchone()
                break
            except sqlite3.OperationalError as error:
                # Others make the tables: for this statement SQLite does not wait. What else fails, fails at once.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)
        if mode != ("wal",):
            raise StoreError(f"{where(engine)}: no write-ahead log can be kept beside it")


def _revision(connection: Connection) -> str | None:
    """Which tables the database has: None for none; StoreError where they are newer, or not ours."""
    names = sa.inspect(connection).get_table_names()
    if "alembic_version" not in names:
        if set(names) & set(schema.metadata.tables):
            raise StoreError(f"{where(connection.engine)} has tables of these names that are not outlay's")
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    if found is not None and not re.fullmatch(r"\d{4}", str(found)):
        raise StoreError(f"{where(connection.engine)} has tables of another program: give outlay a database of its own")
    if found is not None and found > schema.REVISION:
        raise StoreError(f"{where(connection.engine)} was written by a newer outlay: upgrade outlay to open it")
    return found


def _plain(error: Exception) -> str:
    """What the database says, without the statement."""
    cause = getattr(error, "orig", None) or error
    text = "it is damaged" if isinstance(cause, UnicodeError) else " ".join(str(cause).split())
    if "database is locked" in text:
        return f"another process has held the file for {sqlite.BUSY:g} s: for many writers use PostgreSQL"
    if getattr(cause, "sqlstate", None) == "55P03":  # lock_timeout
        return f"another process has held the campaign for {sqlite.BUSY:g} s"
    return text[:200] or type(error).__name__


def _kinds(error: Exception) -> set[str]:
    """What the driver's error is, by name: each driver has classes of its own."""
    return {kind.__name__ for kind in type(getattr(error, "orig", None) or error).__mro__}


def parsed(store: object, owner: str = "Campaign") -> URL:
    """The address of a store, or BadParameter, in which there is no password; `owner` is who was given it."""
    try:
        url = make_url(store) if isinstance(store, str) and store.isprintable() else None
    except (sa.exc.ArgumentError, ValueError):
        url = None
    driver = None if url is None else _DRIVER_BY_NAME.get(url.drivername)
    if url is None or driver is None or not _clean(url):
        allowed = f"None or {_ALLOWED}" if owner == "Campaign" else _ALLOWED
    elif driver != "sqlite" and "@" in (url.host or ""):
        allowed = "written with %40 for an @ in the password"
    elif driver != "sqlite":
        return url.set(drivername=driver)
    elif url.database in (None, "", ":memory:"):
        allowed = "None for a campaign in memory, or sqlite:///FILE" if owner == "Campaign" else _ALLOWED
    elif url.query:
        allowed = f"sqlite:///FILE, without options ({', '.join(url.query)})"
    elif url.host:
        allowed = "sqlite:///FILE, with three slashes"
    else:
        return url.set(drivername=driver)
    raise BadParameter(owner, "store", allowed, without_password(store))


def without_password(store: object) -> object:
    """An address for messages: nothing that stands before an @, and no options, one of which may be a password.

    >>> without_password("postgresql:me:secret@there/db")
    'postgresql:…@there/db'
    """
    if not isinstance(store, str):
        return store
    shown = store.partition("?")[0]
    scheme = re.match(r"[a-z0-9+]*:/*", shown, re.IGNORECASE)
    start = scheme.group() if scheme else ""
    if "@" in shown:
        return f"{start}…@{shown.rpartition('@')[2]}"
    return start + re.split("password", shown[len(start) :], maxsplit=1, flags=re.IGNORECASE)[0]


def _clean(url: URL) -> bool:
    """Whether there is no NUL in it, once %-escapes are read: C programs end a text there."""
    parts = [url.username, url.password, url.host, url.database, *url.query, *url.query.values()]
    return not any("\0" in part for part in parts if part is not None)
