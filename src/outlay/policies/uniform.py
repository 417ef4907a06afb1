"""Every arm equally often: the policy that learns nothing."""

from typing import NamedTuple, Self

import numpy as np

from outlay.beliefs import Moments
from outlay.formulas.choose import Now
from outlay.parameters import Record


class _UniformFields(NamedTuple):
    first: int  # derived; compiled code has no empty tuples


class Uniform(Record, _UniformFields):
    """Pull the arms in turn, 0, 1, …, K − 1, 0, …: the pulls of any two arms differ by at most one.

    What exploring without learning brings; any policy should beat it.

    >>> Uniform().choose(Moments.empty(3), Now(pulls=4, log_n=1.386, spent=5.0), np.random.default_rng(0))
    1
    """

    __slots__ = ()

    def __new__(cls) -> Self:
        """There is nothing to choose."""
        return super().__new__(cls, 0)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the next arm in turn."""
        return (self.first + now.pulls) % len(memory.stats)
