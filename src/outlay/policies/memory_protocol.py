"""What a policy remembers with: `Memory`, and what some memories can do besides, each ability a protocol of its own.

Which of them a policy needs follows from how it decides (`protocol.WAYS`); campaigns ask for more than the engine does,
since pulls are under way, corrected, and made of arms that come later.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead, Sample

# What no annotation can say: a memory's own class of beliefs, which its policy knows; a NamedTuple that is a `Memory`.
Belief = Any
MemoryTuple = Any


@runtime_checkable
class Memory(Protocol):
    """What a policy remembers with: a NamedTuple of arrays that are changed in place."""

    def observe(self, arm: int, cost: float, reward: float, /) -> None:
        """Take in one sample of an arm."""

    def belief(self, arm: int, /) -> Belief:
        """What is known of an arm."""

    def full(self) -> bool:
        """Whether there is no room for another sample: then `grown` makes some."""


@runtime_checkable
class Grows(Protocol):
    """A memory that can be full, and then go on in a larger one."""

    def grown(self) -> "Memory":
        """A copy with more room."""


@runtime_checkable
class Leads(Memory, Protocol):
    """A memory for policies that compare every arm with the leader."""

    def lead(self, arm: int, /) -> Lead:
        """What the others are compared with when this arm leads."""


@runtime_checkable
class Opens(Leads, Protocol):
    """A memory for policies that open arms one by one, in an order that it draws."""

    def opened(self) -> int:
        """How many arms are open."""

    def unopened(self) -> int:
        """The arm to open next, or the number of arms."""

    def shuffle(self, rng: np.random.Generator, /) -> None:
        """Draw the order of the arms that are not open, unless it has been drawn."""


@runtime_checkable
class Imagines(Protocol):
    """A memory that takes in many samples that are all alike at once: pulls under way."""

    def imagine(self, arm: int, count: int, cost: float, reward: float, /) -> None:
        """Take in `count` samples of an arm."""


@runtime_checkable
class Revises(Protocol):
    """A memory that can replace one sample by another."""

    def revise(self, arm: int, place: int, old: Sample, new: Sample, /) -> None:
        """Correct the sample that was the arm's `place`-th."""


@runtime_checkable
class Widens(Protocol):
    """A memory that can take another arm."""

    def widened(self) -> "Memory":
        """A copy with one arm more."""


@runtime_checkable
class Narrows(Protocol):
    """A memory of arms that are opened one by one which can leave some of them out: those that may not be pulled."""

    def narrowed(self, arms: NDArray[np.int64], /) -> Opens:
        """A copy with these arms only, numbered anew."""


@runtime_checkable
class Deals(Protocol):
    """A memory that can give the arm that was added last a random place among those that are not open."""

    def deal_in(self, rng: np.random.Generator, /) -> None:
        """Draw that place."""


@runtime_checkable
class Bares(Protocol):
    """A memory that keeps answers so as not to work them out again: which ones depends on what was asked."""

    def bare(self) -> MemoryTuple:
        """The same without such answers: what it holds then depends on the samples alone."""


@runtime_checkable
class KnowsCosts(Protocol):
    """A memory that can be told what an arm costs on average."""

    def know_cost(self, arm: int, cost: float, /) -> None:
        """Take it for the arm's mean cost, whatever its samples say."""
