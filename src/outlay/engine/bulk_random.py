"""The random numbers of many runs, made in bulk: numpy's, bit for bit.

Run i draws from default_rng(SeedSequence(seed, spawn_key=(i,))). To make one such generator takes the interpreter tens
of microseconds, in which a short run could be played. So the states that numpy would start from are computed for all
runs at once (`seeded`), and the compiled loop writes them, run by run, into one generator (`SharedGenerator`).

References: M. E. O'Neill, "Developing a seed_seq alternative", 2015 (the hash that numpy's SeedSequence is made of);
M. E. O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms for random number
generation", 2014 (PCG64).
"""

import ctypes
from functools import cache, lru_cache
from itertools import combinations, product
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from outlay.policies.protocol import MemoryTuple

Words = NDArray[np.uint64]
Halves = NDArray[np.uint32]  # of words

LOW = 0xFFFFFFFF  # the lower 32 bits: SeedSequence computes with so many
POOL = 4  # words of its pool
INIT_A, MULT_A, INIT_B, MULT_B, MIX_L, MIX_R = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED, 0xCA01F9DD, 0x4973F715
PCG_HIGH, PCG_LOW = 0x2360ED051FC65DA4, 0x4385DF649FCCF645  # PCG64's multiplier

# Columns of `seeded`, and how PCG64 keeps its state and its increment in memory.
STATE_LOW, STATE_HIGH, STEP_LOW, STEP_HIGH = range(4)


def seeded(seed: int, first: int, runs: int) -> Words:
    """The states, [run, 4], from which the generators of the runs `first`, `first + 1`, … start.

    >>> import numpy as np
    >>> state = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(12,))).bit_generator.state["state"]["state"]
    >>> state == int(seeded(7, 12, 1)[0, STATE_HIGH]) << 64 | int(seeded(7, 12, 1)[0, STATE_LOW])
    True
    """
    halves = _hashed(np.tile(_pools(seed, first, runs), (2, 1)), INIT_B, MULT_B).astype(np.uint64)
    high, low, step_high, step_low = halves[::2] | halves[1::2] << 32  # as SeedSequence.generate_state gives them
    step_high, step_low = step_high << 1 | step_low >> 63, step_low << 1 | 1
    high, low = _sum(high, low, step_high, step_low)
    high, low = _sum(*_product(high, low), step_high, step_low)
    return np.ascontiguousarray(np.stack([low, high, step_low, step_high], axis=-1))


def _pools(seed: int, first: int, runs: int) -> Halves:
    """SeedSequence's pool, [word, run], once the words of the run's number, one or two, have followed the seed's."""
    pool, constant = _pool(seed)
    numbers = np.arange(runs, dtype=np.uint64) + np.uint64(first)
    above = (numbers >> 32).astype(np.uint32)
    pools = _mixed(pool, _hashed(numbers.astype(np.uint32), constant, MULT_A, POOL))
    if above[-1] == 0:
        return pools
    constant = constant * pow(MULT_A, POOL) & LOW
    return np.where(above > 0, _mixed(pools, _hashed(above, constant, MULT_A, POOL)), pools)


@lru_cache(maxsize=16)
def _pool(seed: int) -> tuple[Halves, int]:
    """The pool after the seed's words, at least four, and the constant of the next hash."""
    words = [seed >> shift & LOW for shift in range(0, max(seed.bit_length(), 32 * POOL), 32)]
    entropy = np.array(words, np.uint32)[:, None]
    pool, constant = _hashed(entropy[:POOL], INIT_A, MULT_A), INIT_A * pow(MULT_A, POOL) & LOW
    for i in range(POOL):
        others = [j for j in range(POOL) if j != i]
        pool[others] = _mixed(pool[others], _hashed(pool[i], constant, MULT_A, len(others)))
        constant = constant * pow(MULT_A, len(others)) & LOW
    for word in entropy[POOL:]:
        pool = _mixed(pool, _hashed(word, constant, MULT_A, POOL))
        constant = constant * pow(MULT_A, POOL) & LOW
    return pool, constant


def _hashed(words: Halves, constant: int, factor: int, times: int | None = None) -> Halves:
    """SeedSequence's hash of each row, or of one row several times: its constant changes with every word."""
    rows = times or len(words)
    constants = np.array([constant * pow(factor, i) & LOW for i in range(rows + 1)], np.uint32)[:, None]
    hashed: Halves = (words ^ constants[:-1]) * constants[1:]
    return _folded(hashed)


def _mixed(one: Halves, other: Halves) -> Halves:
    mixed: Halves = np.uint32(MIX_L) * one - np.uint32(MIX_R) * other
    return _folded(mixed)


def _folded(words: Halves) -> Halves:
    return words ^ words >> np.uint32(16)


def _sum(high: Words, low: Words, other_high: Words, other_low: Words) -> tuple[Words, Words]:
    """Of numbers of 128 bits."""
    total = low + other_low
    return high + other_high + (total < low), total


def _product(high: Words, low: Words) -> tuple[Words, Words]:
    """By PCG64's multiplier, modulo 2¹²⁸: the upper half of low × PCG_LOW is put together from halves."""
    a, b, c, d = low >> 32, low & LOW, PCG_LOW >> 32, PCG_LOW & LOW
    middle = a * d + (b * d >> 32)
    other = b * c + (middle & LOW)
    upper = a * c + (middle >> 32) + (other >> 32)
    return upper + high * PCG_LOW + low * PCG_HIGH, low * PCG_LOW


class SharedGenerator(NamedTuple):
    """A generator, and the memory where it keeps its state: who holds the arrays must hold the generator."""

    rng: np.random.Generator
    state: Words  # [4]: as in `seeded`
    spare: Words  # [1]: the half of a draw that is kept for the next draw of 32 bits, if any

    @staticmethod
    def make() -> "SharedGenerator":
        """A generator of its own, which numpy has seeded with 0."""
        bits = np.random.PCG64(0)
        address = bits.ctypes.state_address
        where = ctypes.c_uint64.from_address(address).value
        return SharedGenerator(np.random.Generator(bits), _memory(where, 4), _memory(address + 8, 1))


def _memory(address: int, words: int) -> Words:
    return np.ctypeslib.as_array((ctypes.c_uint64 * words).from_address(address))


@cache
def can_open() -> bool:
    """Whether numpy keeps a generator's state where `SharedGenerator` looks for it, and as it expects."""
    bits = np.random.PCG64(0)
    where = ctypes.c_uint64.from_address(bits.ctypes.state_address).value
    if not id(bits) <= where < id(bits) + type(bits).__basicsize__:  # the state is a part of the object
        return False
    opened, expected = SharedGenerator.make(), np.random.default_rng(np.random.SeedSequence(3, spawn_key=(5,)))
    opened.rng.integers(0, 9, dtype=np.uint32)  # keeps half of a draw
    kept = opened.spare[0]
    opened.state[:], opened.spare[0] = seeded(3, 5, 1)[0], 0
    return bool(kept) and opened.rng.bit_generator.state == expected.bit_generator.state


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
    sizes = [-(-array.nbytes // (8 * _LINE)) * _LINE for array in filter(_changes, _values(memory))]
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
    mine = arrays_in(one)
    pairs = [*combinations(mine, 2), *product(mine, arrays_in(other))]
    return not any(_changes(array) and np.may_share_memory(array, each) for array, each in pairs)


def _values(value: object) -> list[object]:
    """What a memory holds, nested tuples in their place."""
    return [part for item in value for part in _values(item)] if isinstance(value, tuple) else [value]


def arrays_in(value: object) -> list[Array]:
    """The arrays of a value of tuples in tuples."""
    return [part for part in _values(value) if isinstance(part, np.ndarray)]


def _changes(value: object) -> TypeGuard[Array]:
    return isinstance(value, np.ndarray) and value.flags.writeable


def _plain(value: object) -> bool:
    if type(value) is not np.ndarray:
        return isinstance(value, _NUMBERS)
    flags = value.flags
    in_one_piece = flags.aligned and (flags.c_contiguous or flags.f_contiguous)
    return not value.dtype.hasobject and (in_one_piece or not flags.writeable)


def _same(one: object, other: object) -> bool:
    """Whether they are the same bit for bit: an array that is not filled, or filled by chance, is not."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return (one.shape, one.dtype, one.tobytes()) == (other.shape, other.dtype, other.tobytes())
    return type(one) is type(other) and (one == other or one != one)
