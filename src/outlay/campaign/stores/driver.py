"""Statements that SQLAlchemy writes once and the driver runs each time: what is run for every batch of commands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect

Values = Mapping[str, Any]


class _Prepared(NamedTuple):
    text: str
    arguments: Callable[[Values], Any]  # of the statement, as the driver takes them


def put(connection: Connection, statement: sa.Executable, rows: Sequence[Values]) -> None:
    """Run a statement for each row."""
    if rows:
        text, arguments = _prepared(statement, connection.dialect)
        _cursor(connection).executemany(text, [arguments(row) for row in rows])


def fetch(connection: Connection, statement: sa.Executable, values: Values) -> Callable[[], Sequence[Any]]:
    """Run a statement; the rows can be had at once, or within `together` when that is over."""
    text, arguments = _prepared(statement, connection.dialect)
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
def _prepared(statement: Any, dialect: Dialect) -> _Prepared:
    compiled = statement.compile(dialect=dialect)
    text = str(compiled)
    if not compiled.positional:
        return _Prepared(text, lambda values: values)
    names = compiled.positiontup
    if len(names) == 1:
        return _Prepared(text, lambda values: (values[names[0]],))
    return _Prepared(text, itemgetter(*names))
