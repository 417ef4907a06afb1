"""Laws with finitely many outcomes: a table of pairs with probabilities, and a single certain pair."""

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from outlay.arms.law import Law, Moments, Support
from outlay.checks import Vector, real, vector
from outlay.errors import BadParameter


class _DiscreteFields(NamedTuple):
    costs: Vector
    rewards: Vector
    probabilities: Vector
    cumulative: Vector  # derived


class Discrete(Law, _DiscreteFields):
    """A table of pairs (cost, reward) with their probabilities.

    Args:
        costs: cost of each outcome.
        rewards: reward of each outcome.
        probabilities: ≥ 0, summing to 1 within 1e-9 (what is missing for rounding is spread over them).

    >>> Discrete(costs=[1, 2], rewards=[0, 3], probabilities=[0.5, 0.5]).moments()
    Moments(mean_cost=1.5, mean_reward=1.5, var_cost=0.25, var_reward=2.25, cov=0.75)
    """

    __slots__ = ()

    def __new__(cls, costs: ArrayLike, rewards: ArrayLike, probabilities: ArrayLike) -> Self:
        """Check the parameters."""
        x, r = checked_columns("Discrete", costs, rewards)
        p = vector("Discrete", "probabilities", probabilities, at_least=0)
        if len(p) != len(x):
            raise BadParameter("Discrete", "probabilities", f"{len(x)} numbers, as many as costs", len(p))
        if not abs(math.fsum(p) - 1.0) <= 1e-9:
            raise BadParameter("Discrete", "the sum of probabilities", "1", math.fsum(p))
        cumulative = np.cumsum(p / math.fsum(p))
        cumulative[np.flatnonzero(p)[-1] :] = 1.0  # rounding must not reach an outcome of probability 0
        cumulative.setflags(write=False)
        return super().__new__(cls, x, r, p, cumulative)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward): the first outcome whose cumulative probability exceeds a uniform."""
        u = rng.random()
        low, high = 0, len(self.cumulative) - 1
        while low < high:
            middle = (low + high) // 2
            if self.cumulative[middle] > u:
                high = middle
            else:
                low = middle + 1
        return float(self.costs[low]), float(self.rewards[low])

    def moments(self) -> Moments:
        """Sums over the table."""
        return column_moments(self.costs, self.rewards, self.probabilities / math.fsum(self.probabilities))

    def support(self) -> Support:
        """The smallest and largest outcomes of positive probability."""
        possible = self.probabilities > 0
        return column_support(self.costs[possible], self.rewards[possible])


class _ConstantFields(NamedTuple):
    cost: float
    reward: float


class Constant(Law, _ConstantFields):
    """Every pull costs and pays the same.

    Args:
        cost: the cost.
        reward: the reward.

    >>> Constant(cost=2.0, reward=1.0).support()
    Support(cost_low=2.0, cost_high=2.0, reward_low=1.0, reward_high=1.0)
    """

    __slots__ = ()

    def __new__(cls, cost: float, reward: float) -> Self:
        """Check the parameters."""
        return super().__new__(cls, real("Constant", "cost", cost), real("Constant", "reward", reward))

    def draw(self, rng: Generator) -> tuple[float, float]:  # noqa: ARG002
        """The pair (cost, reward); draws nothing."""
        return self.cost, self.reward

    def moments(self) -> Moments:
        """The pair itself, without variance."""
        return Moments(self.cost, self.reward, 0.0, 0.0, 0.0)

    def support(self) -> Support:
        """The pair itself."""
        return Support(self.cost, self.cost, self.reward, self.reward)


def checked_columns(owner: str, costs: ArrayLike, rewards: ArrayLike) -> tuple[Vector, Vector]:
    """The two columns of a table of pairs: finite and of one length."""
    x, r = vector(owner, "costs", costs), vector(owner, "rewards", rewards)
    if len(x) != len(r):
        raise BadParameter(owner, "rewards", f"{len(x)} numbers, as many as costs", len(r))
    return x, r


def column_moments(costs: Vector, rewards: Vector, weights: Vector) -> Moments:
    """Moments of a table of pairs with weights that sum to 1."""
    mean_cost, mean_reward = float(weights @ costs), float(weights @ rewards)
    x, r = costs - mean_cost, rewards - mean_reward
    return Moments(mean_cost, mean_reward, float(weights @ (x * x)), float(weights @ (r * r)), float(weights @ (x * r)))


def column_support(costs: Vector, rewards: Vector) -> Support:
    """The box around a table of pairs."""
    return Support(float(costs.min()), float(costs.max()), float(rewards.min()), float(rewards.max()))
