"""Sample moments of cost and reward, kept one pull at a time: the memory of most policies.

The methods below `empty` run in the interpreter and compiled, bit for bit alike; so does everything they call.
"""

from typing import NamedTuple

import numpy as np

from outlay.beliefs.belief import Belief, Sample
from outlay.beliefs.sums import belief_of, empty_rows, replace, take_in, take_in_many
from outlay.checks import Vector


class Moments(NamedTuple):
    """The memory of a policy that reads moments: 64 bytes per arm, changed in place.

    >>> memory = Moments.empty(2)
    >>> memory.observe(1, 2.0, 5.0)
    >>> memory.observe(1, 4.0, 9.0)
    >>> memory.belief(1)
    Belief(arm=1, pulls=2, mean_cost=3.0, mean_reward=7.0, var_cost=1.0, var_reward=4.0, cov=2.0)
    """

    stats: Vector  # a row of sums per arm

    @staticmethod
    def empty(arms: int) -> "Moments":
        """Make the memory before the first pull."""
        return Moments(empty_rows(arms))

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        take_in(self.stats, arm, cost, reward)

    def belief(self, arm: int) -> Belief:
        """What is known of `arm`."""
        return belief_of(self.stats, arm)

    def full(self) -> bool:
        """Never: moments take the same room whatever the number of pulls."""
        return False

    def add_expected(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` samples that are all alike."""
        take_in_many(self.stats, arm, count, cost, reward)

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:  # noqa: ARG002 (sums have no order)
        """Replace one sample of the arm by another."""
        replace(self.stats, arm, old, new)

    def with_new_arm(self) -> "Moments":
        """The same with one more arm."""
        return Moments(np.vstack([self.stats, empty_rows(1)]))
