"""A state as bytes and back: so that opening a campaign reads its last few events, not all of them.

MessagePack keeps floats bit for bit, and nothing is pickled. A snapshot is never the truth, only a shortcut to it: one
that cannot be read, or was written by another version, is passed over and the events are folded from the start.
"""

from collections.abc import Iterator
from typing import Any, cast
from zlib import crc32

import msgspec
import numpy as np

from outlay import __version__
from outlay.campaign.ledger.apply import check_policy
from outlay.campaign.ledger.events import Opened
from outlay.campaign.ledger.learner import Learner
from outlay.campaign.ledger.state import Arm, Ending, PullState, State, mean_costs
from outlay.parameters import is_record
from outlay.policies.protocol import CampaignMemory, Policy, has

WRITER = f"{__version__}/10"  # with the number of the layout, which may change before a version is out
CHECKSUM_BYTES = 4  # bytes of a checksum, before the snapshot


class _Array(msgspec.Struct, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    data: bytes


class _Knowledge(msgspec.Struct):
    memory: list[_Array]
    pulls: list[int]
    totals: list[list[float]]
    elsewhere: float
    past: tuple[float, int] = (0.0, 0)


class _Writer(msgspec.Struct):
    version: str


class _Snapshot(msgspec.Struct, omit_defaults=True):
    version: str
    seq: int
    at: int
    head: str
    budget: int
    paused: bool
    ended: Ending | None
    warmed: list[str]
    opened: Opened
    arms: list[Arm]
    pending: list[PullState]
    awaiting: list[PullState]
    knowledge: _Knowledge
    used: int
    requests: int | None = None
    forecast: int | None = None
    unreported: dict[int, int] = {}
    archived: bool = False
    window_start: int | None = None
    window_end: int | None = None
    spent_before_window: int = 0
    spent_on_fallback: int = 0
    reserved_elsewhere: int = 0
    used_before_window: int = 0


# What a state has under the same name.
_SAME = [
    name
    for name in _Snapshot.__struct_fields__
    if name not in ("version", "opened", "arms", "pending", "awaiting", "knowledge")
]


def dump(state: State) -> bytes | None:
    """The state as bytes; None where it has no learner, or one whose memory is not made of arrays of numbers."""
    learner = state.learner
    if learner is None:
        return None
    known = learner.memory
    if has(known, "without_cache"):
        known = cast("CampaignMemory", known).without_cache()
    fields = list(_fields(known))
    if not all(isinstance(field, np.ndarray) and field.dtype.kind in "biufc" for field in fields):
        return None  # whose bytes are not all there is to it
    memory = [_Array(field.dtype.str, field.shape, field.tobytes()) for field in fields]
    kept = _Snapshot(
        version=WRITER,
        opened=state.opened,
        arms=state.arms,
        pending=list(state.pending.values()),
        awaiting=list(state.awaiting.values()),
        knowledge=_Knowledge(memory, learner.pulls.tolist(), learner.totals.tolist(), learner.elsewhere, learner.past),
        **{name: getattr(state, name) for name in _SAME},
    )
    body = msgspec.msgpack.encode(kept)
    return _checksum(body) + body


def load(body: bytes, policy: Policy | None = None) -> State | None:
    """The state again, or None where the bytes are of no use to this version."""
    if body[:CHECKSUM_BYTES] != _checksum(body[CHECKSUM_BYTES:]):
        return None
    try:
        kept = msgspec.msgpack.decode(body[CHECKSUM_BYTES:], type=_Snapshot)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    if kept.version != WRITER:
        return None
    policy = check_policy(kept.opened, policy)
    state = State(kept.opened, kept.arms, None)
    for name in _SAME:
        setattr(state, name, getattr(kept, name))
    for pull in kept.pending:
        state.open_pull(pull)
    for pull in kept.awaiting:
        state.await_reward(pull)
    for index in range(len(state.arms)):
        state.note_under_way(index)
    if policy is not None:
        state.learner = _learner(policy, kept, state)
    return state


def version_of(body: bytes) -> str | None:
    """The version that wrote a snapshot, if it is one."""
    try:
        return msgspec.msgpack.decode(body[CHECKSUM_BYTES:], type=_Writer).version
    except msgspec.DecodeError:
        return None


def _learner(policy: Policy, kept: _Snapshot, state: State) -> Learner:
    known = kept.knowledge
    budget = state.unit.amount(kept.budget)
    learner = Learner(policy, len(kept.arms), budget, state.horizon, mean_costs(kept.arms))
    arrays = (np.frombuffer(array.data, array.dtype).reshape(array.shape).copy() for array in known.memory)
    learner.memory = _filled(learner.memory, iter(arrays))
    learner.pulls = np.array(known.pulls, np.int64)
    learner.totals = np.array(known.totals).reshape(-1, 2)
    learner.elsewhere, learner.past = known.elsewhere, known.past
    learner.set_limits(budget, state.horizon)
    return learner


def _fields(memory: Any) -> Iterator[Any]:
    for field in memory:
        if is_record(field):
            yield from _fields(field)
        else:
            yield field


def _filled(memory: Any, arrays: Iterator[Any]) -> Any:
    """The same kind of memory, made of these arrays."""
    fields = [_filled(field, arrays) if is_record(field) else next(arrays) for field in memory]
    return tuple.__new__(type(memory), fields)


def _checksum(body: bytes) -> bytes:
    return crc32(body).to_bytes(CHECKSUM_BYTES, "big")
