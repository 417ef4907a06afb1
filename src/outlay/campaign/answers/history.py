"""The ledger as a table: one row per event, the same columns for every kind."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from outlay.campaign.answers.replies import arm_name, when
from outlay.campaign.ledger.agreement import plain_key
from outlay.campaign.ledger.events import Added, Asked, Record
from outlay.campaign.ledger.money import Unit

_MONEY = {"cost", "reserved", "charged", "budget", "max_cost", "reservation"}
_OTHERWISE = {*_MONEY, "key", "ttl", "expires"}
_NESTED = (dict, list, tuple)


class Entry(NamedTuple):
    """An event in readable form: fields that do not apply are None; `more` holds what only this kind of event has."""

    seq: int
    at: datetime
    kind: str
    decision: int | None
    arm: str | None
    cost: float | None
    reward: float | None
    more: dict[str, Any]


def entries(records: Iterable[Record], unit: Unit, names: list[str]) -> Iterator[Entry]:
    """The records as entries; `names` are those of the arms by now, to which records may add more."""
    for record in records:
        event = record.event
        if isinstance(event, Added) and event.arm.name not in names:
            names.append(event.arm.name)
        yield _entry(record, unit, names)


def _entry(record: Record, unit: Unit, names: list[str]) -> Entry:
    event = record.event
    more = msgspec.to_builtins(event)
    for name, value in more.items():
        if name in _OTHERWISE or type(value) in _NESTED:  # most fields are what they are: a ledger has millions
            more[name] = _readable(value, unit, name)
    kind = more.pop("kind")
    arm = more.pop("arm", None)
    if isinstance(arm, dict):  # one that was added, with its terms
        more |= arm
        arm = more.pop("name")
    moment = when(record.at)
    assert moment is not None  # noqa: S101 (every record has its time)
    return Entry(
        record.seq,
        moment,
        kind,
        record.seq if isinstance(event, Asked) else more.pop("decision", None),
        arm_name(names, arm) if isinstance(arm, int) else arm,
        more.pop("cost", more.pop("charged", None)),
        more.pop("reward", None),
        more,
    )


def _readable(value: Any, unit: Unit, name: str = "") -> Any:
    """Money in the user's numbers, times as times; a policy's parameters and a user's metadata are what they are."""
    if name in _MONEY and isinstance(value, int):
        return unit.amount(value)
    if name == "key" and isinstance(value, str):
        return plain_key(value)
    if name == "ttl":
        return value / 1e6
    if name in ("expires", "start", "end"):
        return when(value)
    if isinstance(value, dict) and name not in ("policy", "metadata"):
        return {key: _readable(part, unit, key) for key, part in value.items()}
    return [_readable(part, unit) for part in value] if isinstance(value, (list, tuple)) else value
