"""Statements that SQLAlchemy writes once and the driver runs each time: what is run for every batch of commands.

Rows are written many at a time, by one statement: for each that it runs, a driver lets other threads go first, and a
server answers. To PostgreSQL several statements go in one piece, which takes one round trip.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain, count
from typing import Any
from weakref import WeakSet

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

MOST_ROWS = 128  # that one statement writes to SQLite, a power of two

_forgetful: WeakSet[Engine] = WeakSet()  # servers behind a pool, where the next transaction has another connection
Values = tuple[object, ...]  # of one row, in the order of the statement
Rows = Sequence[Sequence[Any]]


class Talk:
    """One transaction on a connection: what is said is run by the next `hear`, or at once.

    What SQLAlchemy runs meanwhile on the same connection is in the same transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection, self.dialect = connection, connection.dialect
        self._words: Any = type(connection.dialect)  # of which there is one, whereas every engine has its own dialect
        self._driver: Any = connection.connection.driver_connection

    def begin(self) -> None:
        """Begin the transaction, in which nobody else writes to a SQLite file."""
        self._driver.execute("BEGIN IMMEDIATE")

    def say(self, statement: sa.Executable, values: Values, anew: bool = False) -> Callable[[], Rows]:  # noqa: ARG002
        """Have a statement run; its rows can be had when it was heard of. `anew`, a server plans for these values."""
        cursor = self._driver.execute(_text(statement, self._words), values)
        return cursor.fetchall  # type: ignore[no-any-return]

    def put(self, statement: sa.Insert, rows: Sequence[Values]) -> None:
        """Have rows written."""
        start = 0
        while start < len(rows):
            # By powers of two, so that there are few different statements, which the driver keeps prepared.
            size = min(MOST_ROWS, 1 << (len(rows) - start).bit_length() - 1)
            values = rows[start] if size == 1 else tuple(chain.from_iterable(rows[start : start + size]))
            self._driver.execute(_text(statement, self._words, size), values)
            start += size

    def commit(self) -> None:
        """COMMIT; SQLAlchemy's own then comes to nothing."""
        self._driver.execute("COMMIT")

    def hear(self) -> None:
        """See that all that was said has been run."""


class PostgresTalk(Talk):
    """The same with a server, to which what was said goes in one piece; arguments are written into it by psycopg."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._said: list[str] = []
        self._values: list[object] = []
        self._heard: list[Rows] = []
        # What the server has parsed and planned for this connection, which is dropped where anything fails.
        self._prepared: dict[str, str] = connection.connection.info.setdefault("outlay", {})

    def begin(self) -> None:
        """Begin the transaction."""
        self._driver.autocommit = True  # psycopg must not begin one of its own, which takes a round trip
        self._said.append("BEGIN")

    def say(self, statement: sa.Executable, values: Values, anew: bool = False) -> Callable[[], Rows]:
        """Have a statement run with the others."""
        self._run(_text(statement, self._words), values, anew)
        place = len(self._said) - 1
        return lambda: self._heard[place]

    def put(self, statement: sa.Insert, rows: Sequence[Values]) -> None:
        """Have rows written: as JSON, for the server is quicker with that than psycopg with a thousand arguments."""
        if rows:
            names = statement.table.c.keys()
            lines = msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows]).decode()
            self._run(_text_for_json(statement, self._words), (lines,))

    def _run(self, text: str, values: Values, anew: bool = False) -> None:
        """Have a statement run, unless `anew` as the server planned it before: that takes it longer than to run it."""
        self._values += values
        if anew or self.connection.engine in _forgetful:
            self._said.append(text)
            return
        name = self._prepared.get(text)
        if name is None:
            name = self._prepared[text] = f"outlay_{len(self._prepared)}"
            numbers = count(1)
            self._said.append(f"PREPARE {name} AS {re.sub('%s', lambda _: f'${next(numbers)}', text)}")
        self._said.append(f"EXECUTE {name}({', '.join(['%s'] * len(values))})")

    def commit(self) -> None:
        """COMMIT, as the last of what is said."""
        self._said.append("COMMIT")

    def hear(self) -> None:
        """Send what was said, and take what is answered."""
        import psycopg

        said, values = "; ".join(self._said), self._values
        self._said, self._values, self._heard = [], [], []
        with psycopg.ClientCursor(self._driver) as cursor:
            try:
                cursor.execute(said.encode(), values)
            except (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement):
                _forgetful.add(self.connection.engine)  # and the transaction is tried again
                raise
            more: bool | None = True
            while more:
                self._heard.append(cursor.fetchall() if cursor.description else [])
                more = cursor.nextset()


def talk(connection: Connection) -> Talk:
    """One transaction on a connection, whose database it may be."""
    return Talk(connection) if connection.dialect.name == "sqlite" else PostgresTalk(connection)


@cache
def _text(statement: Any, dialect: Any, count: int = 1) -> str:
    """The statement as the driver takes it, for so many rows; arguments are in the order in which they stand there."""
    text = re.sub(r"%\(\w+\)s", "%s", str(statement.compile(dialect=dialect())))
    if count == 1:
        return text
    before, row, after = _parts(text)
    return f"{before} VALUES {', '.join([row] * count)}{after}"


@cache
def _text_for_json(statement: sa.Insert, dialect: Any) -> str:
    """An INSERT whose one argument is a list of rows as JSON."""
    before, _, after = _parts(str(statement.compile(dialect=dialect())))
    names, table = ", ".join(statement.table.c.keys()), statement.table.name
    return f"{before} SELECT {names} FROM json_populate_recordset(NULL::{table}, %s::json){after}"  # noqa: S608


def _parts(insert: str) -> tuple[str, str, str]:
    """An INSERT as SQLAlchemy writes it: what comes before VALUES, a row of them, and what comes after."""
    parts = re.fullmatch(r"(.*) VALUES (\(.*?\))( ON CONFLICT .*)?", insert, re.DOTALL)
    assert parts is not None  # noqa: S101 (so it writes them)
    return parts[1], parts[2], parts[3] or ""
