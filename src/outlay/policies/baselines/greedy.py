"""Greedy: the best rate so far, no exploration."""

import math
from typing import NamedTuple, Self

from outlay.beliefs import Belief
from outlay.formulas.rates import observed_rate
from outlay.parameters import Record


class _GreedyFields(NamedTuple):
    free: float  # derived; compiled code has no empty tuples


class Greedy(Record, _GreedyFields):
    """Pull the arm with the largest R̄/X̄ so far: it locks on a wrong arm in many runs, the floor for any learner.

    An arm whose mean cost is not positive yet has score ∞.

    >>> Greedy().score(Belief(0, 3, mean_cost=2.0, mean_reward=1.0, var_cost=0.0, var_reward=0.0, cov=0.0), log_n=2.0)
    0.5
    """

    __slots__ = ()

    def __new__(cls) -> Self:
        """There is nothing to choose."""
        return super().__new__(cls, math.inf)

    def score(self, belief: Belief, log_n: float) -> float:  # noqa: ARG002 (time does not matter)
        """The arm's observed rate."""
        return min(self.free, observed_rate(belief))

    def phase(self, log_n: float) -> int:  # noqa: ARG002 (it never changes)
        """Always 0: the score changes only when the arm is pulled."""
        return 0
