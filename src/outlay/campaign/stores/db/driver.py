"""Statements that SQLAlchemy writes once and the driver runs each time: what is run for every batch of commands.

Rows are written many at a time, by one statement: for each that it runs, a driver lets other threads go first, and a
server answers. To PostgreSQL several statements go in one piece, which takes one round trip.
"""

import itertools
import re
from collections.abc import Callable, Generator, Sequence
from functools import cache
from hashlib import blake2s
from typing import Any
from weakref import WeakSet

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

MOST_ROWS = 128  # that one statement writes to SQLite, a power of two

_forgetful: WeakSet[Engine] = WeakSet()  # servers behind a pool, where the next transaction has another connection
Values = tuple[object, ...]  # of one row, in the order of the statement
Rows = Sequence[Sequence[Any]]
_WHOLE = (20, 21, 23)  # PostgreSQL's types of whole numbers


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

    def say(self, statement: sa.Executable, values: Values) -> Callable[[], Rows]:
        """Have a statement run; its rows can be had when it was heard of."""
        cursor = self._driver.execute(_text(statement, self._words), values)
        return cursor.fetchall  # type: ignore[no-any-return]

    def put(self, statement: sa.Insert, rows: Sequence[Values]) -> None:
        """Have rows written."""
        start = 0
        while start < len(rows):
            # By powers of two, so that there are few different statements, which the driver keeps prepared.
            size = min(MOST_ROWS, 1 << (len(rows) - start).bit_length() - 1)
            values = rows[start] if size == 1 else tuple(itertools.chain.from_iterable(rows[start : start + size]))
            self._driver.execute(_text(statement, self._words, size), values)
            start += size

    def commit(self) -> None:
        """COMMIT; SQLAlchemy's own then comes to nothing."""
        self._driver.execute("COMMIT")

    def hear(self) -> None:
        """See that all that was said has been run."""


class PostgresTalk(Talk):
    """The same with a server, to which what was said goes in one piece, with its values beside it."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._said: list[tuple[str, Values]] = []
        self._heard: list[Any] = []  # the result of each, as libpq has it
        # What the server has parsed and planned for this connection, which is dropped where anything fails.
        self._prepared: dict[str, bytes] = connection.connection.info.setdefault("outlay", {})

    def begin(self) -> None:
        """Begin the transaction."""
        if not self._driver.autocommit:
            self._driver.autocommit = True  # psycopg must not begin one of its own, which takes a round trip
        self._said.append(("BEGIN", ()))

    def say(self, statement: sa.Executable, values: Values) -> Callable[[], Rows]:
        """Have a statement run with the others."""
        self._said.append((_text(statement, self._words), values))
        place = len(self._said) - 1
        return lambda: _rows(self._heard[place])

    def put(self, statement: sa.Insert, rows: Sequence[Values]) -> None:
        """Have rows written: as JSON, for the server is quicker with that than with a thousand values."""
        if rows:
            names = statement.table.c.keys()
            lines = msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows]).decode()
            self._said.append((_text_for_json(statement, self._words), (lines,)))

    def commit(self) -> None:
        """COMMIT, as the last of what is said."""
        self._said.append(("COMMIT", ()))

    def hear(self) -> None:
        """Send what was said, and take what is answered."""
        import psycopg

        said, self._said = self._said, []
        new = self._prepare([text for text, _ in said])
        server = self._driver.pgconn
        server.enter_pipeline_mode()
        for text in new:
            server.send_prepare(self._prepared[text], text.encode())
        for text, values in said:
            sent = [None if value is None else str(value).encode() for value in values]
            if text in self._prepared:
                server.send_query_prepared(self._prepared[text], sent)
            else:
                server.send_query_params(text.encode(), sent)
        server.pipeline_sync()
        results = self._driver.wait(_answers(server, len(new) + len(said)))
        server.exit_pipeline_mode()
        for result in results:
            if result.status == psycopg.pq.ExecStatus.FATAL_ERROR:
                error = psycopg.errors.error_from_result(result)
                if isinstance(
                    error, psycopg.errors.InvalidSqlStatementName | psycopg.errors.DuplicatePreparedStatement
                ):
                    _forgetful.add(self.connection.engine)  # and the transaction is tried again
                raise error
        self._heard = results[len(new) :]

    def _prepare(self, texts: list[str]) -> list[str]:
        """Name the statements that the server has yet to parse and plan, which takes it longer than to run them."""
        if self.connection.engine in _forgetful:
            return []
        new = [text for text in dict.fromkeys(texts) if text not in self._prepared]
        for text in new:
            # By a name that says what it is: behind a pool, another client may have prepared it.
            self._prepared[text] = f"outlay_{blake2s(text.encode(), digest_size=8).hexdigest()}".encode()
        return new


def _answers(server: Any, count: int) -> Generator[Any, Any, list[Any]]:
    """The result of each of so many statements that were sent; what psycopg waits for in between, it is told."""
    from psycopg import generators

    yield from generators.send(server)
    results = []
    for _ in range(count):
        results += yield from generators.fetch_many(server)
    yield from generators.fetch_many(server)  # that these were all
    return results


def _rows(result: Any) -> Rows:
    """What a statement found: whole numbers and text."""
    kinds = [int if result.ftype(column) in _WHOLE else bytes.decode for column in range(result.nfields)]
    return [
        [None if (value := result.get_value(row, column)) is None else kind(value) for column, kind in enumerate(kinds)]
        for row in range(result.ntuples)
    ]


def talk(connection: Connection) -> Talk:
    """One transaction on a connection, whose database it may be."""
    return Talk(connection) if connection.dialect.name == "sqlite" else PostgresTalk(connection)


@cache
def _text(statement: Any, dialect: Any, count: int = 1) -> str:
    """The statement as the driver takes it, for so many rows; arguments are in the order in which they stand there."""
    numbers = itertools.count(1)
    text = re.sub(r"%\(\w+\)s", lambda _: f"${next(numbers)}", str(statement.compile(dialect=dialect())))
    if count == 1:
        return text
    before, row, after = _parts(text)
    return f"{before} VALUES {', '.join([row] * count)}{after}"


@cache
def _text_for_json(statement: sa.Insert, dialect: Any) -> str:
    """An INSERT whose one argument is a list of rows as JSON."""
    before, _, after = _parts(str(statement.compile(dialect=dialect())))
    names, table = ", ".join(statement.table.c.keys()), statement.table.name
    return f"{before} SELECT {names} FROM json_populate_recordset(NULL::{table}, $1::json){after}"  # noqa: S608


def _parts(insert: str) -> tuple[str, str, str]:
    """An INSERT as SQLAlchemy writes it: what comes before VALUES, a row of them, and what comes after."""
    parts = re.fullmatch(r"(.*) VALUES (\(.*?\))( ON CONFLICT .*)?", insert, re.DOTALL)
    assert parts is not None  # noqa: S101 (so it writes them)
    return parts[1], parts[2], parts[3] or ""
