"""Laws with finitely many outcomes: a table of pairs with probabilities, and a single certain pair."""

import math

import numpy as np
from numpy.random import Generator

from outlay.arms.law import Law, LawMoments, Support
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.parameters import Array, Draft, array, derived, number


def as_many_as_costs(owner: str, name: str, values: Vector, costs: Vector) -> None:
    """Refuse a column of a table of pairs that is not of the same length as its costs."""
    if len(values) != len(costs):
        raise BadParameter(owner, name, f"{len(costs)} numbers, as many as costs", len(values))


class Discrete(Law):
    """A table of pairs (cost, reward) with their probabilities.

    Args:
        costs: cost of each outcome.
        rewards: reward of each outcome.
        probabilities: ≥ 0, summing to 1 within 1e-9 (what rounding has left over is spread over them).

    >>> Discrete(costs=[1, 2], rewards=[0, 3], probabilities=[0.5, 0.5]).moments()
    LawMoments(mean_cost=1.5, mean_reward=1.5, var_cost=0.25, var_reward=2.25, cov=0.75)
    """

    costs: Array = array()
    rewards: Array = array()
    probabilities: Array = array(at_least=0)

    cumulative: Vector = derived()

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Add up the probabilities, if they are as many as the outcomes and sum to 1."""
        p = given.probabilities
        as_many_as_costs(cls.__name__, "rewards", given.rewards, given.costs)
        as_many_as_costs(cls.__name__, "probabilities", p, given.costs)
        if not abs(math.fsum(p) - 1.0) <= 1e-9:
            raise BadParameter(cls.__name__, "the sum of probabilities", "1", math.fsum(p))
        given.cumulative = np.cumsum(p / math.fsum(p))
        given.cumulative[np.flatnonzero(p)[-1] :] = 1.0  # rounding must not reach an outcome of probability 0
        given.cumulative.setflags(write=False)

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

    def moments(self) -> LawMoments:
        """Sums over the table."""
        return column_moments(self.costs, self.rewards, self.probabilities / math.fsum(self.probabilities))

    def support(self) -> Support:
        """The smallest and largest outcomes of positive probability."""
        possible = self.probabilities > 0
        return column_support(self.costs[possible], self.rewards[possible])


class Constant(Law):
    """Every pull costs and pays the same.

    Args:
        cost: the cost.
        reward: the reward.

    >>> Constant(cost=2.0, reward=1.0).support()
    Support(cost_low=2.0, cost_high=2.0, reward_low=1.0, reward_high=1.0)
    """

    cost: float = number()
    reward: float = number()

    def draw(self, rng: Generator) -> tuple[float, float]:  # noqa: ARG002
        """The pair (cost, reward); draws nothing."""
        return self.cost, self.reward

    def moments(self) -> LawMoments:
        """The pair itself, without variance."""
        return LawMoments(self.cost, self.reward, 0.0, 0.0, 0.0)

    def support(self) -> Support:
        """The pair itself."""
        return Support(self.cost, self.cost, self.reward, self.reward)


def column_moments(costs: Vector, rewards: Vector, weights: Vector) -> LawMoments:
    """Moments of a table of pairs with weights that sum to 1."""
    mean_cost, mean_reward = float(weights @ costs), float(weights @ rewards)
    x, r = costs - mean_cost, rewards - mean_reward
    return LawMoments(
        mean_cost, mean_reward, float(weights @ (x * x)), float(weights @ (r * r)), float(weights @ (x * r))
    )


def column_support(costs: Vector, rewards: Vector) -> Support:
    """The box around a table of pairs."""
    return Support(float(costs.min()), float(costs.max()), float(rewards.min()), float(rewards.max()))
