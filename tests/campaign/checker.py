"""The slow, obvious twin of the stores: the events folded one by one, beside every row as plain SQL gives it."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import msgspec
import sqlalchemy as sa

from outlay.campaign.ledger.allocate import admissible, arms_of, choose, propensity_of, reservation
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.events import NOTHING, Amended, Asked, Expired, Record, Told, from_json, link
from outlay.campaign.ledger.state import State


def checked(store: str, name: str = "default", *, choices: bool = True) -> list[Record]:
    """The events of a campaign, once everything that must hold of them and of the rows was seen to hold.

    `choices`: that this version's policies name the same arms, too.
    """
    with _connected(store) as connection:
        (campaign,) = _rows(connection, "SELECT * FROM campaign WHERE name = :name", name=name)
        of = {"id": campaign["id"]}
        events = _rows(connection, "SELECT * FROM event WHERE campaign = :id ORDER BY seq", **of)
        arms = _rows(connection, "SELECT * FROM arm WHERE campaign = :id ORDER BY number", **of)
        decisions = _rows(connection, "SELECT * FROM pull WHERE campaign = :id ORDER BY number", **of)
    records = [Record(row["seq"], row["at"], from_json(row["body"]), row["before"]) for row in events]
    check_chain(events)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert all(before.at <= after.at for before, after in pairwise(records))
    state = folded(records, choices)

    of = {"campaign": campaign["id"]}
    assert decisions == [of | msgspec.structs.asdict(state.pulls[number]) for number in sorted(state.pulls)]
    assert arms == [of | {"number": i} | msgspec.structs.asdict(arm) for i, arm in enumerate(state.arms)]
    wanted = {"id": campaign["id"], "name": name}
    wanted |= {key: getattr(state, key) for key in campaign if key not in wanted}
    assert dict(campaign) == wanted

    charged = charges(records)
    assert campaign["spent"] == sum(charged.values())
    assert campaign["reserved"] == sum(row["reserved"] for row in decisions if row["status"] == "open")
    assert {row["number"]: row["cost"] for row in decisions if row["cost"] is not None} == charged
    return records


def check_chain(events: list[dict[str, Any]]) -> None:
    """Each event carries the hash of all before it."""
    head = NOTHING
    for row in events:
        assert row["before"] == head
        head = link(head, row["seq"], row["at"], row["body"])


def folded(records: list[Record], choices: bool) -> State:
    """The fold of the events; the choices are made anew on the way."""
    state: State | None = None
    for record in records:
        event = record.event
        if choices and isinstance(event, Asked):
            assert state is not None
            arms = admissible(state, event.most, arms_of(state, event.arms))
            arm, by_chance = choose(state, arms, record.seq, context=event.context)
            chance = propensity_of(state, arm, arms, record.seq, event.context) if by_chance else None
            assert (arm, reservation(state, state.arms[arm], event.most), chance) == (
                event.arm,
                event.reserved,
                event.propensity,
            )
        state = apply(state, record)
    assert state is not None
    return state


def charges(records: list[Record]) -> dict[int, int]:
    """What each decision counts for in the end, in units; at most one first settlement each."""
    last: dict[int, int] = {}
    told = set()
    for record in records:
        event = record.event
        if isinstance(event, Told):
            assert event.pull not in told
            told.add(event.pull)
        if isinstance(event, (Told, Amended)):
            last[event.pull] = event.cost
        elif isinstance(event, Expired) and event.charged is not None:
            assert event.pull not in last
            last[event.pull] = event.charged
    return last


@contextmanager
def _connected(store: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(store, poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "sqlite":
                assert connection.exec_driver_sql("PRAGMA integrity_check").scalars().all() == ["ok"]
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            else:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield connection
    finally:
        engine.dispose()


def _rows(connection: sa.Connection, query: str, **parameters: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(sa.text(query), parameters).mappings()]
