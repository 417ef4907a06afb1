"""A reward that follows the cost: the linear law, and which laws are jointly Gaussian."""

import math

from numpy.random import Generator

from outlay.arms.discrete import Constant
from outlay.arms.gaussian import Gaussian
from outlay.arms.law import AnyLaw, Law, LawMoments, Support, Tails, check_law, support_of, tails_of
from outlay.parameters import number, parameter


class Linear(Law):
    """The reward is a line in the cost, plus Gaussian noise.

    X from the cost side of any law, R = slope·X + noise + noise_sd·N(0, 1).

    Args:
        cost: the law whose cost side is drawn; its reward side is not used.
        slope: reward per unit of cost.
        noise: mean of the rest of the reward.
        noise_sd: standard deviation of the rest, ≥ 0.

    >>> from outlay.arms import Pareto
    >>> Linear(Pareto(cost=1.0, reward=1.0, cost_tail=4.0), slope=0.5, noise=1.0, noise_sd=1.0).moments()
    LawMoments(mean_cost=1.0, mean_reward=1.5, var_cost=2.0, var_reward=1.5, cov=1.0)
    """

    cost: AnyLaw = parameter(check_law)
    slope: float = number()
    noise: float = number(default=0.0)
    noise_sd: float = number(default=0.0, at_least=0)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); what the cost's law draws, and a normal."""
        cost, _ = self.cost.draw(rng)
        return cost, self.slope * cost + self.noise + self.noise_sd * rng.standard_normal()

    def moments(self) -> LawMoments:
        """E R = slope·E X + noise, Var R = slope²·Var X + noise_sd², Cov = slope·Var X."""
        mean, _, variance, *_ = self.cost.moments()
        explained = self.slope * variance if self.slope else 0.0  # 0·∞ is 0 here
        reward_variance = self.slope * explained + self.noise_sd * self.noise_sd
        return LawMoments(mean, self.slope * mean + self.noise, variance, reward_variance, explained)

    def support(self) -> Support:
        """The cost's, and its image under the line if there is no noise."""
        low, high, *_ = support_of(self.cost)
        if self.noise_sd:
            return Support(low, high)
        ends = [self.slope * end + self.noise if self.slope else self.noise for end in (low, high)]
        return Support(low, high, min(ends), max(ends))

    def tails(self) -> Tails:
        """The cost's; the reward has them too unless the slope is 0."""
        tail = tails_of(self.cost).cost
        return Tails(tail, tail if self.slope else math.inf)


def is_gaussian(law: AnyLaw) -> bool:
    """Whether cost and reward are jointly Gaussian; constants count, and lines in a Gaussian cost.

    >>> is_gaussian(Linear(Gaussian(1.0, 0.0, 0.5, 0.0), slope=2.0, noise_sd=1.0))
    True
    """
    return isinstance(law, (Gaussian, Constant)) or (isinstance(law, Linear) and is_gaussian(law.cost))
