"""Laws with finitely many outcomes.

A coin for cost and one for reward; a table of pairs with probabilities; a single certain pair; and pairs from a log,
drawn with replacement.
"""

import math

import numpy as np
from numpy.random import Generator

from outlay.arms.law import Law, LawMoments, Support, reachable
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.parameters import Array, Draft, array, derived, number


class Bernoulli(Law):
    """Cost and reward are 0 or 1, jointly.

    P(X=1) = p, P(R=1) = q, P(X=1, R=1) = pq + ρ√(p(1−p)q(1−q)), between max(0, p+q−1) and min(p, q).

    Args:
        cost: p, the probability that a pull costs 1.
        reward: q, the probability that a pull pays 1.
        correlation: ρ, within the range that p and q leave (0 where one of them is 0 or 1).

    >>> Bernoulli(cost=0.5, reward=0.5, correlation=0.2).both
    0.3
    >>> Bernoulli(cost=0.5, reward=0.8, correlation=0.75)
    Traceback (most recent call last):
    outlay.errors.BadParameter: correlation of Bernoulli must be between -0.5 and 0.5 for these parameters; got 0.75
    """

    cost: float = number(at_least=0, at_most=1)
    reward: float = number(at_least=0, at_most=1)
    correlation: float = number(default=0.0, at_least=-1, at_most=1)

    both: float = derived()  # P(X = 1, R = 1)

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Find P(X = 1, R = 1), within the range that the two probabilities leave."""
        p, q = given.cost, given.reward
        spread = math.sqrt(p * (1.0 - p)) * math.sqrt(q * (1.0 - q))
        least, most = max(0.0, p + q - 1.0), min(p, q)
        low, high = ((least - p * q) / spread, (most - p * q) / spread) if spread > 0.0 else (0.0, 0.0)
        given.correlation = reachable(cls.__name__, given.correlation, low, high)
        given.both = min(max(p * q + given.correlation * spread, least), most)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); one uniform."""
        u = rng.random()
        if u < self.cost:
            return 1.0, 1.0 if u < self.both else 0.0
        return 0.0, 1.0 if u < self.cost + (self.reward - self.both) else 0.0

    def moments(self) -> LawMoments:
        """Means p and q, variances p(1−p) and q(1−q)."""
        p, q = self.cost, self.reward
        return LawMoments(p, q, p * (1.0 - p), q * (1.0 - q), self.both - p * q)

    def support(self) -> Support:
        """The unit square."""
        return Support(0.0, 1.0, 0.0, 1.0)


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


def column_moments(costs: Vector, rewards: Vector, weights: Vector) -> LawMoments:
    """Moments of a table of pairs with weights that sum to 1."""
    mean_cost, mean_reward = float(weights @ costs), float(weights @ rewards)
    x, r = costs - mean_cost, rewards - mean_reward
    variances = float(weights @ (x * x)), float(weights @ (r * r))
    return LawMoments(mean_cost, mean_reward, *variances, float(weights @ (x * r)))


def column_support(costs: Vector, rewards: Vector) -> Support:
    """The box around a table of pairs."""
    return Support(float(costs.min()), float(costs.max()), float(rewards.min()), float(rewards.max()))
