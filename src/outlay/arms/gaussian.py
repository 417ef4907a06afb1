"""The Gaussian law: cost and reward jointly normal."""

from numpy.random import Generator

from outlay.arms.pair import Pair, correlated


class Gaussian(Pair):
    """Cost and reward are jointly normal.

    X = cost + cost_sd·Z,  R = reward + reward_sd·(ρZ + √(1−ρ²)W),  Z, W independent standard normals.

    Args:
        cost: mean cost, in units of the budget; negative draws are possible whatever the mean.
        reward: mean reward.
        cost_sd: standard deviation of the cost, ≥ 0.
        reward_sd: standard deviation of the reward, ≥ 0.
        correlation: ρ, in [-1, 1]; without effect where a standard deviation is 0.

    >>> law = Gaussian(cost=1.0, reward=0.9, cost_sd=0.5, reward_sd=0.2, correlation=0.5)
    >>> law.moments()
    LawMoments(mean_cost=1.0, mean_reward=0.9, var_cost=0.25, var_reward=0.04000000000000001, cov=0.05)
    """

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two normals."""
        z = rng.standard_normal()
        w = correlated(self.correlation, z, rng.standard_normal())
        return self.cost + self.cost_sd * z, self.reward + self.reward_sd * w
