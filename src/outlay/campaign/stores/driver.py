"""Statements that SQLAlchemy writes once and the driver runs each time: what is run for every batch of commands.

Rows are written many at a time, by one statement: for each that it runs, a driver lets other threads go first, and a
server answers.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect

MOST_ROWS = 128  # that one statement writes, a power of two

Values = tuple[Any, ...]  # of one row, in the order of the statement


def begin(connection: Connection) -> None:
    """Begin a transaction, in which nobody else writes to a SQLite file; what SQLAlchemy runs from here on is in it."""
    if connection.dialect.name == "sqlite":
        _driver(connection).execute("BEGIN IMMEDIATE")


def put(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Run a statement for each row: an INSERT for many at a time."""
    if rows and connection.dialect.name != "sqlite" and isinstance(statement, sa.Insert):
        names = statement.table.c.keys()
        listed = msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows]).decode()
        _driver(connection).execute(_text_for_json(statement, connection.dialect), (listed,))
        return
    start, most = 0, MOST_ROWS if isinstance(statement, sa.Insert) else 1
    while start < len(rows):
        # By powers of two, so that there are few different statements, which drivers keep prepared.
        count = min(most, 1 << (len(rows) - start).bit_length() - 1)
        values = rows[start] if count == 1 else tuple(chain.from_iterable(rows[start : start + count]))
        _driver(connection).execute(_text(statement, connection.dialect, count), values)
        start += count


def fetch(connection: Connection, statement: sa.Executable, values: Values) -> Callable[[], Sequence[Any]]:
    """Run a statement; the rows can be had at once, or within `together` when that is over."""
    cursor = _driver(connection).execute(_text(statement, connection.dialect, 1), values)
    return cursor.fetchall  # type: ignore[no-any-return]


@contextmanager
def together(connection: Connection) -> Iterator[None]:
    """What is run in this context goes to a server in one piece, and takes one round trip."""
    if connection.dialect.name == "sqlite":
        yield
        return
    with _driver(connection).pipeline():
        yield


def commit(connection: Connection) -> None:
    """COMMIT; for a server, the last of what goes there in one piece. SQLAlchemy's own then comes to nothing."""
    _driver(connection).commit()


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


@cache
def _text(statement: Any, dialect: Dialect, count: int) -> str:
    """The statement as the driver takes it, for so many rows; arguments are in the order in which they stand there."""
    text = re.sub(r"%\(\w+\)s", "%s", str(statement.compile(dialect=dialect)))
    if count == 1:
        return text
    before, row, after = _parts(text)
    return f"{before} VALUES {', '.join([row] * count)}{after}"


@cache
def _text_for_json(statement: Any, dialect: Dialect) -> str:
    """An INSERT whose one argument is a list of rows as JSON: psycopg would take long over a thousand arguments."""
    before, _, after = _parts(str(statement.compile(dialect=dialect)))
    names, table = ", ".join(statement.table.c.keys()), statement.table.name
    return f"{before} SELECT {names} FROM json_populate_recordset(NULL::{table}, %s::json){after}"  # noqa: S608


def _parts(insert: str) -> tuple[str, str, str]:
    """An INSERT as SQLAlchemy writes it: what comes before VALUES, a row of them, and what comes after."""
    parts = re.fullmatch(r"(.*) VALUES (\(.*?\))( ON CONFLICT .*)?", insert, re.DOTALL)
    assert parts is not None  # noqa: S101 (so it writes them)
    return parts[1], parts[2], parts[3] or ""
