"""States and events as rows of the tables, and back."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.ext.compiler import compiles

from outlay.campaign.ledger.commands import Amend, Ask, Charge, Command, Extend, Tell, Void
from outlay.campaign.ledger.events import Added, Disabled, Enabled, Opened, Record, Warmed, from_json, to_json
from outlay.campaign.ledger.state import Arm, Decision, State
from outlay.campaign.stores import tables
from outlay.errors import StoreError

_ARM_FIELDS = tuple(field.name for field in msgspec.structs.fields(Arm))
_DECISION_FIELDS = tuple(field.name for field in msgspec.structs.fields(Decision))


def lock(connection: Connection, name: str) -> Any:
    """The id, seq and server's clock of a campaign that nobody else may change until COMMIT; None if there is none."""
    return connection.execute(_LOCK, {"name_": name}).one_or_none()


def clock(connection: Connection) -> int | None:
    """What the server's clock says, where there is one."""
    return connection.execute(sa.select(_Clock())).scalar()


def make(connection: Connection, state: State) -> int:
    """A row for a new campaign; returns its id."""
    made = connection.execute(sa.insert(tables.campaign).values({**_campaign(state), "name": state.name}))
    key = made.inserted_primary_key
    assert key is not None  # noqa: S101 (both databases tell)
    return int(key[0])


def write(connection: Connection, number: int, state: State, records: list[Record], by: str) -> None:
    """Write events and what they changed; `by` names the transaction."""
    touched = {decision for record in records if (decision := record.about()) is not None}
    if touched:
        rows = [{"campaign": number, **msgspec.structs.asdict(state.decisions[key])} for key in sorted(touched)]
        connection.execute(_upsert(tables.decision, connection.dialect.name), rows)
    connection.execute(
        _NEW_EVENT,
        [
            {"campaign": number, "seq": record.seq, "at": record.at, "body": to_json(record.event), "batch": by}
            for record in records
        ],
    )
    changed = [
        {"campaign": number, "number": i, **msgspec.structs.asdict(state.arms[i])}
        for i in sorted({arm for record in records for arm in _arms_of(state, record)})
    ]
    if changed:
        connection.execute(_upsert(tables.arm, connection.dialect.name), changed)
    connection.execute(_SET_CAMPAIGN, {"id_": number, **_campaign(state)})


def state_of(connection: Connection, name: str) -> State | None:
    """A campaign's state from its rows, without decisions and without what its policy knows; None if there is none."""
    table = tables.campaign
    row = connection.execute(sa.select(table).where(table.c.name == name)).one_or_none()
    if row is None:
        return None
    (first,) = events(connection, row.id, 0, 1)
    assert isinstance(first.event, Opened)  # noqa: S101 (every ledger starts so)
    state = State(first.event, list(arms(connection, row.id)), None)
    state.seq, state.at, state.budget, state.paused, state.ended = row.seq, row.at, row.budget, row.paused, row.ended
    return state


def arms(connection: Connection, number: int) -> Iterator[Arm]:
    """The arms of a campaign, in order."""
    table = tables.arm
    rows = connection.execute(sa.select(table).where(table.c.campaign == number).order_by(table.c.number))
    for row in rows.mappings():
        yield Arm(**{name: row[name] for name in _ARM_FIELDS})


def decisions(connection: Connection, number: int, *conditions: Any) -> Iterator[Decision]:
    """Some of the decisions of a campaign, in order."""
    table = tables.decision
    rows = connection.execute(sa.select(table).where(table.c.campaign == number, *conditions).order_by(table.c.number))
    for row in rows.mappings():
        yield Decision(**{name: row[name] for name in _DECISION_FIELDS})


def events(connection: Connection, number: int, after: int, most: int | None = None) -> Iterator[Record]:
    """The events of a campaign after the first `after`, in order."""
    table = tables.event
    wanted = sa.select(table.c.seq, table.c.at, table.c.body).where(table.c.campaign == number, table.c.seq > after)
    for seq, at, body in connection.execute(wanted.order_by(table.c.seq).limit(most)):
        try:
            event = from_json(body)
        except msgspec.DecodeError:
            raise StoreError(f"event {seq} cannot be read: a newer outlay wrote it, or it is damaged") from None
        yield Record(seq, at, event)


def names(connection: Connection) -> list[str]:
    """The names of all campaigns, in order."""
    column = tables.campaign.c.name
    return list(connection.execute(sa.select(column).order_by(column)).scalars())


def recall(connection: Connection, number: int, state: State, records: Iterable[Record]) -> None:
    """Have the state hold the decisions again that it let go and that events name."""
    named = {seq for record in records if (seq := record.about()) is not None and seq <= state.seq}
    if gone := sorted(named - state.decisions.keys()):
        for decision in decisions(connection, number, tables.decision.c.number.in_(gone)):
            state.hold(decision)


def recalled(connection: Connection, number: int, state: State, commands: Iterable[Command]) -> Iterator[Decision]:
    """The decisions that the commands name and the state does not hold."""
    numbers, keys = set(), set()
    for command in commands:
        if isinstance(command, (Tell, Void, Charge, Extend, Amend)) and command.decision not in state.decisions:
            numbers.add(command.decision)
        elif isinstance(command, Ask) and command.key is not None and command.key not in state.keys:
            keys.add(command.key)
    table = tables.decision
    if numbers:
        yield from decisions(connection, number, table.c.number.in_(sorted(numbers)))
    if keys:
        yield from decisions(connection, number, table.c.key.in_(sorted(keys)))


def writer_of(connection: Connection, number: int, seq: int) -> str | None:
    """The name of the transaction that wrote an event."""
    table = tables.event
    return connection.execute(sa.select(table.c.batch).where(table.c.campaign == number, table.c.seq == seq)).scalar()


def _arms_of(state: State, record: Record) -> Iterable[int]:
    """The arms whose rows an event changes."""
    event, decision = record.event, record.about()
    if isinstance(event, Opened):
        return range(len(event.arms))
    if isinstance(event, Warmed):
        return event.arms
    if isinstance(event, Added):
        return [state.indices[event.arm.name]]
    if isinstance(event, (Disabled, Enabled)):
        return [event.arm]
    return [] if decision is None else [state.decisions[decision].arm]


def _campaign(state: State) -> dict[str, Any]:
    return {
        "seq": state.seq,
        "at": state.at,
        "budget": state.budget,
        "spent": state.spent,
        "reserved": state.reserved,
        "reward": state.reward,
        "paused": state.paused,
        "ended": state.ended,
    }


@cache
def _upsert(table: sa.Table, dialect: str) -> Any:
    """An INSERT that changes the row where it is there."""
    new = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    rest = [column.name for column in table.c if not column.primary_key]
    return new.on_conflict_do_update(index_elements=["campaign", "number"], set_={k: new.excluded[k] for k in rest})


class _Clock(sa.sql.functions.GenericFunction[int]):
    """The server's clock in microseconds, one for all its workers; NULL where there is no server."""

    type = sa.BigInteger()
    inherit_cache = True


@compiles(_Clock)
def _no_clock(element: _Clock, compiler: Any, **_: Any) -> str:  # noqa: ARG001
    return "NULL"


@compiles(_Clock, "postgresql")
def _its_clock(element: _Clock, compiler: Any, **_: Any) -> str:  # noqa: ARG001
    return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


_LOCK = (
    sa.select(tables.campaign.c.id, tables.campaign.c.seq, _Clock().label("clock"))
    .where(tables.campaign.c.name == sa.bindparam("name_"))
    .with_for_update()
)
_NEW_EVENT = sa.insert(tables.event)
_SET_CAMPAIGN = (
    sa.update(tables.campaign)
    .where(tables.campaign.c.id == sa.bindparam("id_"))
    .values({name: sa.bindparam(name) for name in tables.campaign.c.keys() if name not in ("id", "name")})  # noqa: SIM118
)
