"""Memories that a learner may change without changing another: copies, and one with a sample more."""

from copy import deepcopy
from typing import TypeGuard, cast

import numpy as np

from outlay.parameters import is_record
from outlay.policies.protocol import CampaignMemory, Memory


def observed(memory: Memory, arm: int, cost: float, reward: float) -> Memory:
    """The memory with one sample more."""
    memory.observe(arm, cost, reward)
    return cast("CampaignMemory", memory).enlarged() if memory.full() else memory


def copied(memory: Memory) -> Memory:
    """A memory that can be changed by itself."""
    return cast("Memory", _copied(cast("tuple[object, ...]", memory)))


def _copied(record: tuple[object, ...]) -> tuple[object, ...]:
    fields = (
        field.copy() if isinstance(field, np.ndarray) else _copied(field) if _nested(field) else deepcopy(field)
        for field in record
    )
    return tuple.__new__(type(record), fields)


def _nested(field: object) -> TypeGuard[tuple[object, ...]]:
    return is_record(field)
