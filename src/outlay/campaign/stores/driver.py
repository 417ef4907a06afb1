"""Statements that SQLAlchemy writes once and the driver runs each time: what is run for every batch of commands.

Rows are written many at a time, by one statement: for each that it runs, a driver lets other threads go first, and a
server answers.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect

MOST_ROWS = 128  # that one statement writes, a power of two

Values = Mapping[str, Any]


class _Prepared(NamedTuple):
    """A statement's text, in which every argument has its place, and how to have them from a row in that order."""

    text: str
    arguments: Callable[[Values], tuple[Any, ...]]


def put(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Run a statement for each row: an INSERT for many at a time."""
    if not rows:
        return
    cursor = _cursor(connection)
    start = 0
    while start < len(rows):
        # By powers of two, so that there are few different statements, which drivers keep prepared.
        count = min(MOST_ROWS, 1 << (len(rows) - start).bit_length() - 1)
        if not isinstance(statement, sa.Insert):
            count = 1
        text, arguments = _prepared(statement, connection.dialect, count)
        cursor.execute(text, tuple(chain.from_iterable(map(arguments, rows[start : start + count]))))
        start += count


def fetch(connection: Connection, statement: sa.Executable, values: Values) -> Callable[[], Sequence[Any]]:
    """Run a statement; the rows can be had at once, or within `together` when that is over."""
    text, arguments = _prepared(statement, connection.dialect, 1)
    cursor = _cursor(connection)
    cursor.execute(text, arguments(values))
    return lambda: cursor.fetchall()


@contextmanager
def together(connection: Connection) -> Iterator[None]:
    """What is run in this context goes to a server in one piece, and takes one round trip."""
    if connection.dialect.name == "sqlite":
        yield
        return
    driver: Any = connection.connection.driver_connection
    with driver.pipeline():
        yield


def commit(connection: Connection) -> None:
    """COMMIT, as the last of what goes to a server in one piece; SQLAlchemy's own comes to nothing then."""
    if connection.dialect.name != "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.commit()


def _cursor(connection: Connection) -> Any:
    driver: Any = connection.connection.driver_connection
    return driver.cursor()


@cache
def _prepared(statement: Any, dialect: Dialect, count: int) -> _Prepared:
    compiled = statement.compile(dialect=dialect)
    text = str(compiled)
    names = compiled.positiontup if compiled.positional else re.findall(r"%\((\w+)\)s", text)
    text = re.sub(r"%\(\w+\)s", "%s", text)
    if count > 1:
        head, row, tail = re.fullmatch(r"(.* VALUES )(\(.*?\))( ON CONFLICT .*)?", text, re.DOTALL).groups()  # type: ignore[union-attr]
        text = head + ", ".join([row] * count) + (tail or "")
    if len(names) == 1:
        return _Prepared(text, lambda values: (values[names[0]],))
    return _Prepared(text, itemgetter(*names))
