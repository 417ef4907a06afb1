"""The empirical law: pairs from a log, drawn with replacement."""

from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from outlay.arms.discrete import checked_columns, column_moments, column_support
from outlay.arms.law import Law, Moments, Support
from outlay.checks import Vector


class _EmpiricalFields(NamedTuple):
    costs: Vector
    rewards: Vector


class Empirical(Law, _EmpiricalFields):
    """Logged pairs (cost, reward), each as likely as the other, so their dependence is kept.

    Args:
        costs: logged costs.
        rewards: logged rewards, in the same order.

    >>> Empirical(costs=[1, 2, 3], rewards=[1, 0, 2]).moments().mean_cost
    2.0
    """

    __slots__ = ()

    def __new__(cls, costs: ArrayLike, rewards: ArrayLike) -> Self:
        """Check the parameters."""
        return super().__new__(cls, *checked_columns("Empirical", costs, rewards))

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward) of the log; one uniform."""
        row = int(rng.random() * len(self.costs))
        return float(self.costs[row]), float(self.rewards[row])

    def moments(self) -> Moments:
        """Those of the log, variances with 1/n."""
        return column_moments(self.costs, self.rewards, np.full(len(self.costs), 1.0 / len(self.costs)))

    def support(self) -> Support:
        """The box around the log."""
        return column_support(self.costs, self.rewards)
