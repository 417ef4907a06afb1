"""Policies that learn nothing: one arm for ever (with the best, the optimal static policy π*), or every arm in turn."""

import numpy as np

from outlay.beliefs import Moments
from outlay.errors import BadParameter
from outlay.formulas.argmax import Now
from outlay.parameters import Parameters, integer


class Fixed(Parameters):
    """Pull one arm for ever; with an arm of the best rate this is the oracle π*, within a constant of the optimum.

    Args:
        arm: index of the arm, from 0.

    >>> Fixed(2)
    Fixed(arm=2)

    Reference: Cayci, Eryilmaz, Srikant, AISTATS 2020, Section 3, Proposition 1.
    """

    arm: int = integer(at_least=0)

    def check(self, arms: int) -> None:
        """Refuse a problem that has no such arm."""
        if self.arm >= arms:
            raise BadParameter(type(self).__name__, "arm", f"< {arms}, the number of arms", self.arm)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (it looks at nothing)
        """Return the arm."""
        return self.arm


class RoundRobin(Parameters):
    """Pull the arms in turn, 0, 1, …, K − 1, 0, …: the pulls of any two arms differ by at most one.

    What exploring without learning brings; any policy should beat it.

    >>> RoundRobin().choose(Moments.empty(3), Now(pulls=4, log_n=1.386, spent=5.0), np.random.default_rng(0))
    1
    """

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the next arm in turn."""
        return now.pulls % len(memory.stats)
