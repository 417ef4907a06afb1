"""What is read from the tables of a ledger and written to them: campaigns, events, arms, pulls, snapshots.

SQLAlchemy writes every statement. Those that are run for each batch of commands it writes once, and the driver runs
them each time; rows are written many at a time, by one statement, and to PostgreSQL several statements go in one piece,
which takes one round trip.
"""

import itertools
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2s
from importlib import import_module
from typing import Any, NamedTuple, TypeVar
from weakref import WeakSet

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.state import Arm, Ending, PullState, State
from outlay.campaign.ledger.validation import check_time
from outlay.campaign.records import Found, PullFilter
from outlay.campaign.stores import schema
from outlay.campaign.stores.engines import is_sqlite, where
from outlay.errors import BadParameter, NoCampaign, StoreError

CHUNK = 2000  # events read at a time

S = TypeVar("S", bound=msgspec.Struct)
Values = tuple[object, ...]  # of one row, in the order of the statement
Rows = Sequence[Sequence[Any]]
Line = tuple[int, int, str, str]  # number, time and text of an event, and the hash of the one before
Row = Mapping[Any, Any]  # by the names of its columns

_forgetful: WeakSet[Engine] = WeakSet()  # servers behind a pool, where the next transaction has another connection
_WHOLE = (20, 21, 23)  # PostgreSQL's types of whole numbers
_SERVER_CLOCK: sa.ColumnElement[int] = sa.literal_column("(extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
_LINE = [schema.event.c[name] for name in ("seq", "at", "body", "before")]
_LATER = (
    sa.select(*_LINE)
    .where(schema.event.c.campaign == sa.bindparam("number"), schema.event.c.seq > sa.bindparam("after"))
    .order_by(schema.event.c.seq)
)
_NEW_EVENT = sa.insert(schema.event)
_OF_STATE = [column.name for column in schema.campaign.c if column.name not in ("id", "name")]  # a state's, too
_SET_CAMPAIGN = (
    sa.update(schema.campaign)
    .where(schema.campaign.c.id == sa.bindparam("id_"))
    .values({name: sa.bindparam(name) for name in _OF_STATE})
)
# What is written is in the order of the columns.
assert schema.pull.c.keys() == ["campaign", *PullState.__struct_fields__]  # noqa: S101
assert schema.arm.c.keys() == ["campaign", "number", *Arm.__struct_fields__]  # noqa: S101


class SqliteBatch:
    """The statements of one transaction on a connection to a SQLite file, each of which is run at once.

    What SQLAlchemy runs meanwhile on the same connection is in the same transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection, self.dialect = connection, connection.dialect
        self._words: Any = type(connection.dialect)  # of which there is one, whereas every engine has its own dialect
        self._driver: Any = connection.connection.driver_connection

    def begin(self) -> None:
        """Begin the transaction, in which nobody else writes to a SQLite file."""
        self._driver.execute("BEGIN IMMEDIATE")

    def execute(self, statement: sa.Executable, values: Values) -> Callable[[], Rows]:
        """Have a statement run; its rows can be had after `flush`."""
        cursor = self._driver.execute(_text(statement, self._words), values)
        return cursor.fetchall  # type: ignore[no-any-return]

    def insert(self, statement: sa.Insert, rows: Sequence[Values]) -> None:
        """Have rows written."""
        self._driver.executemany(_text(statement, self._words), rows)

    def commit(self) -> None:
        """COMMIT; SQLAlchemy's own then comes to nothing."""
        self._driver.execute("COMMIT")

    def flush(self) -> None:
        """See that all statements have been run."""


class PostgresBatch:
    """The same for PostgreSQL, to which statements go in one piece, with their values beside them.

    psycopg's own pipeline takes twice the processor time of a lone caller, and names what it prepares by numbers, which
    behind a pool of connections may be those of another client.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection, self.dialect = connection, connection.dialect
        self._words: Any = type(connection.dialect)
        self._driver: Any = connection.connection.driver_connection
        self._pending: list[tuple[str, Values]] = []
        self._results: list[Any] = []  # of each, as libpq has it
        # What the server has parsed and planned for this connection, which is dropped where anything fails.
        self._prepared: dict[str, bytes] = connection.connection.info.setdefault("outlay", {})

    def begin(self) -> None:
        """Begin the transaction."""
        if not self._driver.autocommit:
            self._driver.autocommit = True  # psycopg must not begin one of its own, which takes a round trip
        self._pending.append(("BEGIN", ()))

    def execute(self, statement: sa.Executable, values: Values) -> Callable[[], Rows]:
        """Have a statement run with the others."""
        self._pending.append((_text(statement, self._words), values))
        place = len(self._pending) - 1
        return lambda: _rows(self._results[place])

    def insert(self, statement: sa.Insert, rows: Sequence[Values]) -> None:
        """Have rows written: as JSON, for the server is quicker with that than with a thousand values."""
        if rows:
            names = statement.table.c.keys()
            lines = msgspec.json.encode([dict(zip(names, row, strict=True)) for row in rows]).decode()
            self._pending.append((_text_for_json(statement, self._words), (lines,)))

    def commit(self) -> None:
        """COMMIT, as the last of the statements."""
        self._pending.append(("COMMIT", ()))

    def flush(self) -> None:
        """Send the statements, and take what is answered."""
        import psycopg

        pending, self._pending = self._pending, []
        new = self._prepare([text for text, _ in pending])
        server = self._driver.pgconn
        server.enter_pipeline_mode()
        for text in new:
            server.send_prepare(self._prepared[text], text.encode())
        for text, values in pending:
            sent = [None if value is None else str(value).encode() for value in values]
            if text in self._prepared:
                server.send_query_prepared(self._prepared[text], sent)
            else:
                server.send_query_params(text.encode(), sent)
        server.pipeline_sync()
        results = self._driver.wait(_answers(server, len(new) + len(pending)))
        server.exit_pipeline_mode()
        for result in results:
            if result.status == psycopg.pq.ExecStatus.FATAL_ERROR:
                error = psycopg.errors.error_from_result(result)
                if isinstance(
                    error, psycopg.errors.InvalidSqlStatementName | psycopg.errors.DuplicatePreparedStatement
                ):
                    _forgetful.add(self.connection.engine)  # and the transaction is tried again
                raise error
        self._results = results[len(new) :]

    def _prepare(self, texts: list[str]) -> list[str]:
        """Name the statements that the server has yet to parse and plan, which takes it longer than to run them."""
        if self.connection.engine in _forgetful:
            return []
        new = [text for text in dict.fromkeys(texts) if text not in self._prepared]
        for text in new:
            # By a name that says what it is: behind a pool, another client may have prepared it.
            self._prepared[text] = f"outlay_{blake2s(text.encode(), digest_size=8).hexdigest()}".encode()
        return new


Batch = SqliteBatch | PostgresBatch


def statement_batch(connection: Connection) -> Batch:
    """The statements of one transaction on a connection."""
    return SqliteBatch(connection) if is_sqlite(connection) else PostgresBatch(connection)


class LockedCampaign(NamedTuple):
    """A campaign that nobody else may change until COMMIT, and its events after those that are known, if some are."""

    id: int
    seq: int
    clock: int | None  # the server's, where there is one
    head: str  # the hash of its last event
    records: list[e.Record]

    def continues(self, seq: int, head: str) -> bool:
        """Whether what is known of it, up to an event with this hash, is what is there."""
        before = self.head if self.seq == seq else self.records[0].before if self.records else ""
        return self.seq >= seq and before == head


class LockRequest(NamedTuple):
    """A campaign that is to be locked."""

    name: str
    id: int  # in its database; 0 where that is not known
    known: int | None  # the last event that is known, if one is
    shared: bool  # whether somebody else wrote to it since the last time


def lock(batch: Batch, wanted: Sequence[LockRequest]) -> list[LockedCampaign | None]:
    """Lock campaigns, in this order; None for one that is not there.

    Events are read when the lock is held: from a file where there are some, and from a server, which answers all of it
    at once, where a campaign is shared. Otherwise who finds that there are some asks for them.
    """
    connection, file = batch.connection, is_sqlite(batch.connection)
    batch.begin()
    asked = []
    for one in wanted:
        locked = batch.execute(_lock(file), (one.name,))
        asked.append((locked, batch.execute(_LATER, (one.id, one.known)) if one.shared and not file else None))
    batch.flush()
    found: list[LockedCampaign | None] = []
    for one, (locked, later) in zip(wanted, asked, strict=True):
        row = next(iter(locked()), None)
        if row is None:
            found.append(None)
            continue
        number, seq, its_clock, head = row
        if not isinstance(seq, int):
            raise damaged(connection, f"campaign {one.name!r}", "the number of its last event is none")
        if file and one.known is not None and seq > one.known:
            later = batch.execute(_LATER, (one.id, one.known))
        records = [_record(connection, *line) for line in (later() if later else ())]
        found.append(LockedCampaign(number, seq, its_clock, head, records))
    return found


@cache
def _lock(file: bool) -> sa.Select[Any]:
    columns = schema.campaign.c
    now = sa.null() if file else _SERVER_CLOCK
    return (
        sa.select(columns.id, columns.seq, now, columns.head).where(columns.name == sa.bindparam("n")).with_for_update()
    )


def clock(connection: Connection) -> int | None:
    """What the server's clock says, one for all its workers, where there is one."""
    return None if is_sqlite(connection) else connection.execute(sa.select(_SERVER_CLOCK)).scalar()


class Written(NamedTuple):
    """Events of a campaign that are to be written, with the rows of the state that they led to."""

    campaign: int
    state: State
    records: list[e.Record]
    transaction_id: str


def make(connection: Connection, state: State) -> int:
    """A row for a new campaign; returns its id."""
    row = {name: getattr(state, name) for name in ("name", *_OF_STATE)}
    key = connection.execute(sa.insert(schema.campaign).values(row)).inserted_primary_key
    assert key is not None  # noqa: S101 (both databases tell)
    return int(key[0])


def write(batch: Batch, written: Sequence[Written]) -> None:
    """Write events and what they changed."""
    of_pulls, of_events, of_arms, of_campaigns = list[Values](), list[Values](), list[Values](), list[Values]()
    astuple = msgspec.structs.astuple
    for number, state, records, transaction_id in written:
        touched, changed = set[int](), set[int]()
        for each in records:
            of_events.append((number, each.seq, each.at, e.to_json(each.event), transaction_id, each.before))
            pull = each.about()
            if pull is not None:
                touched.add(pull)
                changed.add(state.pulls[pull].arm)
            else:
                changed.update(_arms_of(state, each))
        of_pulls += [(number, *astuple(state.pulls[key])) for key in sorted(touched)]
        of_arms += [(number, i, *astuple(state.arms[i])) for i in sorted(changed)]
        of_campaigns.append((*(getattr(state, name) for name in _OF_STATE), number))
    batch.insert(_upsert(schema.pull, batch.dialect.name), of_pulls)
    batch.insert(_NEW_EVENT, of_events)
    batch.insert(_upsert(schema.arm, batch.dialect.name), of_arms)
    for row in of_campaigns:
        batch.execute(_SET_CAMPAIGN, row)


def write_now(connection: Connection, written: Written) -> None:
    """Write events to a campaign, in the transaction that SQLAlchemy has begun."""
    batch = statement_batch(connection)
    write(batch, [written])
    batch.flush()


def _arms_of(state: State, written: e.Record) -> Iterable[int]:
    """The arms whose rows an event changes that is about no pull."""
    event = written.event
    if isinstance(event, e.Opened):
        return range(len(event.arms))
    if isinstance(event, e.Warmed):
        return event.arms
    if isinstance(event, e.Added):
        return [state.indices[event.arm.name]]
    return [event.arm] if isinstance(event, (e.Disabled, e.Enabled, e.Changed)) else []


@cache
def _upsert(table: sa.Table, dialect: str) -> Any:
    new = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    rest = [column.name for column in table.c if not column.primary_key]
    return new.on_conflict_do_update(index_elements=["campaign", "number"], set_={k: new.excluded[k] for k in rest})


class CampaignRow(msgspec.Struct):
    """What the row of a campaign says that is not a sum."""

    id: int
    seq: int
    at: int
    budget: int
    paused: bool
    ended: Ending | None
    requests: int | None
    used: int
    forecast: int | None
    head: str
    archived: bool
    window_start: int | None
    window_end: int | None
    spent_before_window: int
    spent_on_fallback: int
    reserved_elsewhere: int
    used_before_window: int


def state_of(connection: Connection, name: str) -> State | None:
    """A campaign's state from its rows, without pulls and without what its policy knows; None if there is none."""
    there = _campaign_row(connection, name)
    if there is None:
        return None
    row = _typed(connection, CampaignRow, there, f"the row of campaign {name!r}")
    first = next(events(connection, row.id, 0, 1), None)
    if first is None or not isinstance(first.event, e.Opened):
        raise damaged(connection, f"campaign {name!r}", "its first event is missing")
    state = State(first.event, list(arms(connection, row.id)), None)
    state.since = first.at
    for field in row.__struct_fields__[1:]:
        setattr(state, field, getattr(row, field))
    return state


def _campaign_row(connection: Connection, name: str) -> Row | None:
    table = schema.campaign
    return connection.execute(sa.select(table).where(table.c.name == name)).mappings().one_or_none()


def _rows_of(
    connection: Connection, number: int, table: sa.Table, *conditions: sa.ColumnElement[bool]
) -> Iterable[Row]:
    """A campaign's rows in the table of arms or pulls, in order."""
    wanted = sa.select(table).where(table.c.campaign == number, *conditions).order_by(table.c.number)
    return connection.execute(wanted).mappings()


def arms(connection: Connection, number: int) -> Iterator[Arm]:
    """The arms of a campaign, in order."""
    for row in _rows_of(connection, number, schema.arm):
        yield _typed(connection, Arm, row, "the row of an arm")


def pulls(connection: Connection, number: int, *conditions: sa.ColumnElement[bool]) -> Iterator[PullState]:
    """Some of the pulls of a campaign, in order."""
    for row in _rows_of(connection, number, schema.pull, *conditions):
        yield _typed(connection, PullState, row, "the row of a pull")


def events(connection: Connection, number: int, after: int, most: int | None = None) -> Iterator[e.Record]:
    """The events of a campaign after the first `after`, in order."""
    table = schema.event
    wanted = sa.select(*_LINE).where(table.c.campaign == number, table.c.seq > after).order_by(table.c.seq).limit(most)
    for row in connection.execute(wanted):
        yield _record(connection, *row)


def names(connection: Connection, archived: bool | None = None, share: float | None = None) -> list[str]:
    """The names of all campaigns; of those that are archived or are not; that have spent this share of their budget."""
    columns = schema.campaign.c
    query = sa.select(columns.name)
    if archived is not None:
        query = query.where(columns.archived.is_(archived))
    if share is not None:
        spent = columns.spent - columns.spent_before_window - columns.spent_on_fallback
        query = query.where(spent >= sa.literal(share, sa.Float) * columns.budget)
    return list(connection.execute(query).scalars())


def transaction_of(connection: Connection, number: int, seq: int) -> str | None:
    """The id of the transaction that wrote an event."""
    table = schema.event
    return connection.execute(
        sa.select(table.c.transaction_id).where(table.c.campaign == number, table.c.seq == seq)
    ).scalar()


def load_pulls(connection: Connection, number: int, state: State, records: Iterable[e.Record]) -> None:
    """Have the state hold the pulls again that it let go and that events name."""
    named = {seq for each in records if (seq := each.about()) is not None and seq <= state.seq}
    if gone := sorted(named - state.pulls.keys()):
        for pull in pulls(connection, number, schema.pull.c.number.in_(gone)):
            state.cache_pull(pull)


def load_pulls_for(connection: Connection, number: int, state: State, commands: Iterable[e.Command]) -> None:
    """The same for those that commands name."""
    numbers, keys = set[int](), set[str]()
    for command in commands:
        if isinstance(command, e.ABOUT_A_PULL):
            if isinstance(command.pull, str):
                if command.pull not in state.keys:  # the key of one of many, which stands for it, may be at hand
                    keys.update(e.spellings(command.pull))
            elif command.pull not in state.pulls:
                numbers.add(command.pull)
        elif isinstance(command, e.Ask) and command.key is not None and command.key not in state.keys:
            keys.add(command.key)
    conditions = []
    if numbers:
        conditions.append(schema.pull.c.number.in_(sorted(numbers)))
    if keys:
        conditions.append(schema.pull.c.key.in_(sorted(keys)))
    for condition in conditions:
        for pull in pulls(connection, number, condition):
            state.cache_pull(pull)


def find(connection: Connection, campaign: int, wanted: PullFilter, most: int) -> tuple[list[Found], int | None]:
    """The first wanted pulls among `most` that the database offers, and the number after which to go on, if any.

    Tags are only in the events: the database leaves out those that have none, and we look at the others.
    """
    pull, event = schema.pull, schema.event
    query = (
        sa.select(pull, event.c.body)
        .join(event, sa.and_(event.c.campaign == pull.c.campaign, event.c.seq == pull.c.number))
        .where(pull.c.campaign == campaign, pull.c.number > wanted.after)
    )
    if wanted.status is not None:
        query = query.where(pull.c.status == wanted.status)
    if wanted.key is not None:
        query = query.where(pull.c.key.in_(e.all_spellings(wanted.key)))
    if wanted.tag is not None:
        query = query.where(event.c.body.contains('"tags":["', autoescape=True))
    rows = connection.execute(query.order_by(pull.c.number).limit(most)).mappings().all()
    found: list[Found] = []
    for row in rows:
        asked = _record(connection, row["number"], row["asked"], row["body"], "").event
        one = _typed(connection, PullState, row, "the row of a pull")
        if not isinstance(asked, e.Asked):
            raise damaged(connection, f"pull {one.number}", "the event of this number made none")
        if wanted.fits(one, asked):
            found.append((one, asked))
    return found, rows[-1]["number"] if len(rows) == most else None


def snapshots(connection: Connection, campaign: int) -> Iterator[tuple[int, bytes]]:
    """The event after which each snapshot was taken, and the snapshot; the newest first."""
    table = schema.snapshot
    wanted = sa.select(table.c.seq, table.c.body).where(table.c.campaign == campaign).order_by(table.c.seq.desc())
    return ((seq, body) for seq, body in connection.execute(wanted))


def keep_snapshot(connection: Connection, campaign: int, seq: int, body: bytes, last: int) -> None:
    """Write a snapshot, and drop those before the `last` one, which stays in case this one cannot be read.

    One after the same event, which another version took, makes room.
    """
    table = schema.snapshot
    old = sa.or_(table.c.seq < last, table.c.seq == seq)
    connection.execute(sa.delete(table).where(table.c.campaign == campaign, old))
    connection.execute(sa.insert(table), {"campaign": campaign, "seq": seq, "body": body})


class StoredCampaign:
    """One campaign as its rows and the text of its events: what `verify` and `export_ledger` read.

    On a connection whose transaction sees one moment; NoCampaign where there is none of this name.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        row = _campaign_row(connection, name)
        if row is None:
            raise NoCampaign(f"{where(connection.engine)} has no campaign {name!r}")
        self.row, self.number = row, int(row["id"])
        self.connection = connection

    def lines(self) -> Iterator[Line]:
        """Every event, in order, as they are needed."""
        wanted = sa.select(*_LINE).where(schema.event.c.campaign == self.number).order_by(schema.event.c.seq)
        for row in self.connection.execute(wanted, execution_options={"yield_per": CHUNK}):
            yield row.seq, row.at, row.body, row.before

    def arms(self) -> dict[int, Row]:
        """The row of every arm, by its number."""
        return {row["number"]: row for row in _rows_of(self.connection, self.number, schema.arm)}

    def pulls(self, numbers: Sequence[int]) -> dict[int, Row]:
        """The rows of some pulls, by number; those that are missing are left out."""
        wanted = schema.pull.c.number.in_(numbers)
        return {row["number"]: row for row in _rows_of(self.connection, self.number, schema.pull, wanted)}

    def count_pulls(self) -> int:
        """How many rows of pulls there are."""
        wanted = sa.select(sa.func.count()).where(schema.pull.c.campaign == self.number)
        return int(self.connection.execute(wanted).scalar_one())


def damaged(connection: Connection, what: str, why: object) -> StoreError:
    """What to raise where a database holds something that outlay cannot have written."""
    return StoreError(f"{where(connection.engine)}: {what} cannot be read, it is damaged: {str(why)[:200]}")


def _typed(connection: Connection, kind: type[S], row: Row, what: str) -> S:
    """A row as a record of this kind, which has the names of its columns: SQLite keeps anything in any column."""
    try:
        return msgspec.convert({name: row[name] for name in kind.__struct_fields__}, kind)
    except msgspec.ValidationError as error:
        raise damaged(connection, what, error) from error


def _record(connection: Connection, seq: Any, at: Any, body: Any, before: Any) -> e.Record:
    try:
        event = e.from_json(body)
        check_time(at)
        if not isinstance(seq, int) or not isinstance(before, str):
            raise TypeError("its number or its hash is none")
    except (msgspec.DecodeError, RecursionError, TypeError, UnicodeError, BadParameter) as error:
        # RecursionError where brackets are nested by the thousand
        title = f"{where(connection.engine)}: event {str(seq)[:20]}"
        raise StoreError(f"{title} cannot be read: a newer outlay wrote it, or it is damaged") from error
    return e.Record(seq, at, event, before)


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


@cache
def _text(statement: Any, dialect: Any) -> str:
    """The statement as the driver takes it; arguments are in the order in which they stand there."""
    numbers = itertools.count(1)
    return re.sub(r"%\(\w+\)s", lambda _: f"${next(numbers)}", str(statement.compile(dialect=dialect())))


@cache
def _text_for_json(statement: sa.Insert, dialect: Any) -> str:
    """An INSERT whose one argument is a list of rows as JSON."""
    before, _, values = str(statement.compile(dialect=dialect())).partition(" VALUES ")
    _, conflict, update = values.partition(" ON CONFLICT")
    names, table = ", ".join(statement.table.c.keys()), statement.table.name
    rows = f"SELECT {names} FROM json_populate_recordset(NULL::{table}, $1::json)"  # noqa: S608
    return f"{before} {rows}{conflict}{update}"
