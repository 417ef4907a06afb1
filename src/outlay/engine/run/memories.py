"""One memory for many runs: its arrays lie in one piece, so that copying that piece makes it as good as new.

To make a memory takes the interpreter microseconds that a short run does not have. The compiled loop copies words and
need not know what they mean. A memory that cannot be treated like this is made anew for every run.
"""

from itertools import combinations
from typing import Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from outlay.engine.run.streams import Words
from outlay.policies.protocol import MemoryTuple

_LINE = 8  # words of a cache line: an array starts with one
_NUMBERS = (bool, int, float, complex, np.generic)

Array = NDArray[np.generic]


def packed(memory: MemoryTuple) -> tuple[MemoryTuple, Words]:
    """The same memory with its arrays in one piece, and that piece.

    >>> from outlay.beliefs import Moments
    >>> memory, words = packed(Moments.empty(3))
    >>> memory.observe(0, cost=2.0, reward=1.0)
    >>> words[:] = 0
    >>> memory.belief(0).pulls
    0
    """
    sizes = [-(-array.nbytes // (8 * _LINE)) * _LINE for array in _changing(memory)]
    room = np.zeros(sum(sizes) + _LINE, np.uint64)
    start = -room.ctypes.data // 8 % _LINE
    words = room[start : start + sum(sizes)]
    places = iter(np.cumsum([0, *sizes]).tolist())

    def moved(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple.__new__(type(value), map(moved, value))
        if not _changes(value):
            return value
        order: Literal["C", "F"] = "C" if value.flags.c_contiguous else "F"
        there: Array = np.ndarray(value.shape, value.dtype, words, 8 * next(places), order=order)
        there[...] = value
        return there

    return moved(memory), words


def can_be_packed(one: MemoryTuple, other: MemoryTuple) -> bool:
    """Whether a packed memory serves all runs, judged by two that a policy made: equal, with no array in common.

    Beside numbers and read-only arrays, it must hold nothing but arrays of numbers, each in one piece.
    """
    values, others = _values(one), _values(other)
    if not all(map(_plain, values)) or len(values) != len(others) or not all(map(_same, values, others)):
        return False
    mine, theirs = (list(filter(_is_array, part)) for part in (values, others))
    pairs = [*combinations(mine, 2), *((array, each) for array in mine for each in theirs)]
    return not any(_changes(array) and np.may_share_memory(array, each) for array, each in pairs)


def _values(value: object) -> list[object]:
    """What a memory holds, nested tuples in their place."""
    return [part for item in value for part in _values(item)] if isinstance(value, tuple) else [value]


def _changing(memory: MemoryTuple) -> list[Array]:
    return list(filter(_changes, _values(memory)))


def _is_array(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray)


def _changes(value: object) -> TypeGuard[Array]:
    return _is_array(value) and value.flags.writeable


def _plain(value: object) -> bool:
    if type(value) is not np.ndarray:
        return isinstance(value, _NUMBERS)
    flags = value.flags
    in_one_piece = flags.aligned and (flags.c_contiguous or flags.f_contiguous)
    return not value.dtype.hasobject and (in_one_piece or not flags.writeable)


def _same(one: object, other: object) -> bool:
    """Whether they are the same bit for bit: an array that is not filled, or filled by chance, is not."""
    if _is_array(one) and _is_array(other):
        return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
    return type(one) is type(other) and (one == other or one != one)
