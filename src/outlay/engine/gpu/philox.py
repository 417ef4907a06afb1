"""Random numbers on the GPU: one stream per run, with the verbs of numpy's Generator.

The source is Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), a cipher
of a counter: block b of run i is the cipher of (b, i) under a key that is a hash of the seed. A run's numbers depend on
the seed and the run's number and on nothing else; different runs encipher different counters under one key, so no two
of them ever share a block. A stream needs three words of state, whatever its length.

All of this is plain Python: the interpreter and the CPU's compiler run it too, which is how it is tested.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Entries of Philox.words: the key, the run, the next block, half a block kept for later and whether there is one.
KEY, RUN, BLOCK, KEPT, KEEPS = range(5)
# Entries of Philox.normals: a normal kept for later and whether there is one.
NORMAL, KEEPS_NORMAL = range(2)

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SHIFT = np.uint64(11)
_ONE = np.uint64(1)
_NONE = np.uint64(0)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = 10
_FINEST = 2.0**-53

VERBS = (
    "random", "standard_normal", "standard_exponential", "standard_gamma", "normal", "uniform", "exponential", "gamma",
    "beta", "integers",
)  # fmt: skip


class Philox(NamedTuple):
    """The random numbers of one run, changed in place; its methods are those of numpy's Generator, one number per call.

    >>> stream = Philox.of(seed=0, run=7)
    >>> stream.random() < 1.0
    True
    """

    words: NDArray[np.uint64]
    normals: NDArray[np.float64]

    @staticmethod
    def of(seed: int, run: int) -> "Philox":
        """The stream of a run before its first number."""
        return Philox(np.array([key_of(seed), run, 0, 0, 0], np.uint64), np.zeros(2))

    def random(self) -> float:
        """Uniform on [0, 1), 53 bits; a block of the cipher gives two."""
        words = self.words
        if words[KEEPS] != _NONE:
            words[KEEPS] = _NONE
            return float(words[KEPT] >> _SHIFT) * _FINEST
        word, words[KEPT] = philox(words[BLOCK], words[RUN], words[KEY])
        words[BLOCK] += _ONE
        words[KEEPS] = _ONE
        return float(word >> _SHIFT) * _FINEST

    def standard_normal(self) -> float:
        """Box and Muller's pair from one block of the cipher: one now, one at the next call."""
        words, normals = self.words, self.normals
        if normals[KEEPS_NORMAL] != 0.0:
            normals[KEEPS_NORMAL] = 0.0
            return float(normals[NORMAL])
        one, two = philox(words[BLOCK], words[RUN], words[KEY])
        words[BLOCK] += _ONE
        radius = math.sqrt(-2.0 * math.log((float(one >> _SHIFT) + 1.0) * _FINEST))  # of (0, 1]
        cosine, sine = turn(float(two >> _SHIFT) * (2.0 * _FINEST))
        normals[NORMAL] = radius * sine
        normals[KEEPS_NORMAL] = 1.0
        return radius * cosine

    def standard_exponential(self) -> float:
        """By inversion."""
        return -math.log1p(-self.random())

    def standard_gamma(self, shape: float) -> float:
        """Marsaglia and Tsang's squeeze; a shape below 1 by way of shape + 1."""
        if not 0.0 < shape < math.inf:
            return 0.0 if shape <= 0.0 else shape
        d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            x = self.standard_normal()
            v = 1.0 + c * x
            if v > 0.0:
                v = v * v * v
                if math.log1p(-self.random()) < 0.5 * x * x + d * (1.0 - v + math.log(v)):
                    break
        if shape >= 1.0:
            return d * v
        return d * v * math.exp(math.log1p(-self.random()) / shape)

    def normal(self, loc: float = 0.0, scale: float = 1.0) -> float:
        """Normal with this mean and standard deviation."""
        return loc + scale * self.standard_normal()

    def uniform(self, low: float = 0.0, high: float = 1.0) -> float:
        """Uniform on [low, high)."""
        return low + (high - low) * self.random()

    def exponential(self, scale: float = 1.0) -> float:
        """Exponential with this mean."""
        return scale * self.standard_exponential()

    def gamma(self, shape: float, scale: float = 1.0) -> float:
        """Gamma with this shape and scale."""
        return scale * self.standard_gamma(shape)

    def beta(self, a: float, b: float) -> float:
        """From two gammas; from powers of uniforms (Jöhnk), by their logarithms, where both shapes are at most 1."""
        if not (a > 0.0 and b > 0.0 and a + b < math.inf):
            return math.nan
        if a > 1.0 or b > 1.0:
            x = self.standard_gamma(a)
            return x / (x + self.standard_gamma(b))
        while True:
            x = math.log1p(-self.random()) / a
            y = math.log1p(-self.random()) / b
            most = max(x, y)
            total = most + math.log(math.exp(x - most) + math.exp(y - most))
            if not total > 0.0:  # not a number for shapes so small that both powers vanish
                return math.exp(x - total)

    def integers(self, low: int, high: int) -> int:
        """Uniform on low, …, high − 1; both ends must be given."""
        return low + int(self.random() * (high - low))


def key_of(seed: int) -> int:
    """The cipher's key: 64 well mixed bits of a seed of any size."""
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def philox(block: np.uint64, run: np.uint64, key: np.uint64) -> tuple[np.uint64, np.uint64]:
    """128 random bits: Philox4x32-10 of the counter (block, run).

    >>> [hex(int(word)) for word in philox(np.uint64(0), np.uint64(0), np.uint64(0))]
    ['0xe169c58d6627e8d5', '0x9b00dbd8bc57ac4c']
    """
    a, b, c, d = _narrow(block), _narrow(block >> _HALF), _narrow(run), _narrow(run >> _HALF)
    low, high = _narrow(key), _narrow(key >> _HALF)
    for _ in range(_ROUNDS):
        one = _MULTIPLIERS[0] * np.uint64(a)
        two = _MULTIPLIERS[1] * np.uint64(c)
        a, c = np.uint32(_narrow(two >> _HALF) ^ b ^ low), np.uint32(_narrow(one >> _HALF) ^ d ^ high)
        b, d = _narrow(two), _narrow(one)
        low, high = _narrow(np.uint64(low) + _STEPS[0]), _narrow(np.uint64(high) + _STEPS[1])
    return np.uint64(a) | (np.uint64(b) << _HALF), np.uint64(c) | (np.uint64(d) << _HALF)


def _narrow(word: np.uint64) -> np.uint32:
    """The lower half: the GPU multiplies 32 bits by 32 in one instruction."""
    return np.uint32(word & _LOW)


def turn(half_turns: float) -> tuple[float, float]:
    """Cosine and sine of π·half_turns; the GPU has one function for the two."""
    return math.cos(math.pi * half_turns), math.sin(math.pi * half_turns)
