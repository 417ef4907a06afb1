"""States and events as rows of the tables, and back."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.ledger.commands import Amend, Ask, Charge, Command, Extend, Tell, Void
from outlay.campaign.ledger.events import Added, Disabled, Enabled, Opened, Record, Warmed, to_json
from outlay.campaign.ledger.state import Arm, Decision, State
from outlay.campaign.stores.db import tables
from outlay.campaign.stores.db.driver import Talk, Values, talk
from outlay.campaign.stores.db.typed import CampaignRow, opening, record, typed

_ARM_FIELDS = tuple(field.name for field in msgspec.structs.fields(Arm))
_DECISION_FIELDS = tuple(field.name for field in msgspec.structs.fields(Decision))


class Written(NamedTuple):
    """Events of a campaign that are to be written, with the rows of the state that they led to."""

    campaign: int
    state: State
    records: list[Record]
    batch: str  # the name of the transaction


def make(connection: Connection, state: State) -> int:
    """A row for a new campaign; returns its id."""
    made = connection.execute(sa.insert(tables.campaign).values({**_campaign(state), "name": state.name}))
    key = made.inserted_primary_key
    assert key is not None  # noqa: S101 (both databases tell)
    return int(key[0])


def write(talking: Talk, written: Sequence[Written]) -> None:
    """Write events and what they changed."""
    decisions, events, arms, campaigns = list[Values](), list[Values](), list[Values](), list[Values]()
    astuple = msgspec.structs.astuple
    for number, state, records, batch in written:
        touched, changed = set[int](), set[int]()
        for each in records:
            events.append((number, each.seq, each.at, to_json(each.event), batch, each.before))
            decision = each.about()
            if decision is not None:
                touched.add(decision)
                changed.add(state.decisions[decision].arm)
            else:
                changed.update(_arms_of(state, each))
        decisions += [(number, *astuple(state.decisions[key])) for key in sorted(touched)]
        arms += [(number, i, *astuple(state.arms[i])) for i in sorted(changed)]
        campaigns.append((*_campaign(state).values(), number))
    talking.put(_upsert(tables.decision, talking.dialect.name), decisions)
    talking.put(_NEW_EVENT, events)
    talking.put(_upsert(tables.arm, talking.dialect.name), arms)
    for row in campaigns:
        talking.say(_SET_CAMPAIGN, row)


def write_now(connection: Connection, written: Written) -> None:
    """Write events to a campaign, in the transaction that SQLAlchemy has begun."""
    talking = talk(connection)
    write(talking, [written])
    talking.hear()


def state_of(connection: Connection, name: str) -> State | None:
    """A campaign's state from its rows, without decisions and without what its policy knows; None if there is none."""
    table = tables.campaign
    there = connection.execute(sa.select(table).where(table.c.name == name)).mappings().one_or_none()
    if there is None:
        return None
    row = typed(connection, CampaignRow, there, f"the row of campaign {name!r}")
    opened, since = opening(connection, name, list(events(connection, row.id, 0, 1)))
    state = State(opened, list(arms(connection, row.id)), None)
    state.since = since
    state.seq, state.at, state.budget, state.paused, state.ended = row.seq, row.at, row.budget, row.paused, row.ended
    state.requests, state.used, state.forecast = row.requests, row.used, row.forecast
    state.head, state.archived = row.head, row.archived
    state.window_start, state.window_end, state.used_before = row.window_start, row.window_end, row.used_before
    state.earlier, state.outside, state.apart = row.earlier, row.outside, row.apart
    return state


def arms(connection: Connection, number: int) -> Iterator[Arm]:
    """The arms of a campaign, in order."""
    table = tables.arm
    rows = connection.execute(sa.select(table).where(table.c.campaign == number).order_by(table.c.number))
    for row in rows.mappings():
        yield typed(connection, Arm, row, "the row of an arm")


def decisions(connection: Connection, number: int, *conditions: sa.ColumnElement[bool]) -> Iterator[Decision]:
    """Some of the decisions of a campaign, in order."""
    table = tables.decision
    rows = connection.execute(sa.select(table).where(table.c.campaign == number, *conditions).order_by(table.c.number))
    for row in rows.mappings():
        yield typed(connection, Decision, row, "the row of a decision")


def events(connection: Connection, number: int, after: int, most: int | None = None) -> Iterator[Record]:
    """The events of a campaign after the first `after`, in order."""
    table = tables.event
    wanted = sa.select(*LINE).where(table.c.campaign == number, table.c.seq > after)
    for row in connection.execute(wanted.order_by(table.c.seq).limit(most)):
        yield record(connection, *row)


def names(connection: Connection) -> list[str]:
    """The names of all campaigns, in order."""
    column = tables.campaign.c.name
    return list(connection.execute(sa.select(column).order_by(column)).scalars())


def recall(connection: Connection, number: int, state: State, records: Iterable[Record]) -> None:
    """Have the state hold the decisions again that it let go and that events name."""
    named = {seq for each in records if (seq := each.about()) is not None and seq <= state.seq}
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


def _arms_of(state: State, written: Record) -> Iterable[int]:
    """The arms whose rows an event changes that is about no decision."""
    event = written.event
    if isinstance(event, Opened):
        return range(len(event.arms))
    if isinstance(event, Warmed):
        return event.arms
    if isinstance(event, Added):
        return [state.indices[event.arm.name]]
    if isinstance(event, (Disabled, Enabled)):
        return [event.arm]
    return []


def _campaign(state: State) -> dict[str, object]:
    return {
        "seq": state.seq,
        "at": state.at,
        "budget": state.budget,
        "spent": state.spent,
        "reserved": state.reserved,
        "reward": state.reward,
        "paused": state.paused,
        "ended": state.ended,
        "requests": state.requests,
        "used": state.used,
        "forecast": state.forecast,
        "head": state.head,
        "archived": state.archived,
        "window_start": state.window_start,
        "window_end": state.window_end,
        "earlier": state.earlier,
        "outside": state.outside,
        "apart": state.apart,
        "used_before": state.used_before,
    }


@cache
def _upsert(table: sa.Table, dialect: str) -> Any:
    """An INSERT that changes the row where it is there."""
    new = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    rest = [column.name for column in table.c if not column.primary_key]
    return new.on_conflict_do_update(index_elements=["campaign", "number"], set_={k: new.excluded[k] for k in rest})


LINE = [tables.event.c[name] for name in ("seq", "at", "body", "before")]  # what `record` takes
_NEW_EVENT = sa.insert(tables.event)
_SET_CAMPAIGN = (
    sa.update(tables.campaign)
    .where(tables.campaign.c.id == sa.bindparam("id_"))
    .values({name: sa.bindparam(name) for name in tables.campaign.c.keys() if name not in ("id", "name")})  # noqa: SIM118
)
# What is written is in the order of the columns.
assert tables.decision.c.keys() == ["campaign", *_DECISION_FIELDS]  # noqa: S101
assert tables.arm.c.keys() == ["campaign", "number", *_ARM_FIELDS]  # noqa: S101
