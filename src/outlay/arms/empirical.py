"""The empirical law: pairs from a log, drawn with replacement."""

import numpy as np
from numpy.random import Generator

from outlay.arms.discrete import as_many_as_costs, column_moments, column_support
from outlay.arms.law import Law, LawMoments, Support
from outlay.parameters import Array, Draft, array


class Empirical(Law):
    """Logged pairs (cost, reward), all equally likely; drawing whole pairs keeps their dependence.

    Args:
        costs: logged costs.
        rewards: logged rewards, in the same order.

    >>> Empirical(costs=[1, 2, 3], rewards=[1, 0, 2]).moments().mean_cost
    2.0
    """

    costs: Array = array()
    rewards: Array = array()

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Refuse columns of two lengths."""
        as_many_as_costs(cls.__name__, "rewards", given.rewards, given.costs)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward) of the log; one uniform."""
        row = int(rng.random() * len(self.costs))
        return float(self.costs[row]), float(self.rewards[row])

    def moments(self) -> LawMoments:
        """Those of the log, variances with 1/n."""
        return column_moments(self.costs, self.rewards, np.full(len(self.costs), 1.0 / len(self.costs)))

    def support(self) -> Support:
        """The box around the log."""
        return column_support(self.costs, self.rewards)
