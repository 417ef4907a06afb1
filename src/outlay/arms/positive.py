"""Light-tailed laws of positive costs and rewards: exponential and gamma."""

import math

from numpy.random import Generator

from outlay.arms.law import Law, LawMoments, Support
from outlay.arms.pair import PositivePair, check_positive_sd, correlated, pair_moments, reachable
from outlay.parameters import Draft, derived, number, parameter


class Exponential(Law):
    """Cost and reward are exponential (Moran and Downton's pair).

    X = cost·(Z₁² + Z₂²)/2, R = reward·(W₁² + W₂²)/2 with normals of correlation √ρ between Zᵢ and Wᵢ.

    Args:
        cost: mean cost, > 0.
        reward: mean reward, > 0.
        correlation: ρ, in [0, 1].

    >>> Exponential(cost=2.0, reward=1.0, correlation=0.5).moments()
    LawMoments(mean_cost=2.0, mean_reward=1.0, var_cost=4.0, var_reward=1.0, cov=1.0)
    """

    cost: float = number(above=0)
    reward: float = number(above=0)
    correlation: float = number(default=0.0, at_least=0, at_most=1)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); four normals."""
        root = math.sqrt(self.correlation)
        z1 = rng.standard_normal()
        z2 = rng.standard_normal()
        w1 = correlated(root, z1, rng.standard_normal())
        w2 = correlated(root, z2, rng.standard_normal())
        return 0.5 * self.cost * (z1 * z1 + z2 * z2), 0.5 * self.reward * (w1 * w1 + w2 * w2)

    def moments(self) -> LawMoments:
        """The standard deviation of an exponential is its mean."""
        return pair_moments(self.cost, self.reward, self.cost, self.reward, self.correlation)

    def support(self) -> Support:
        """Nothing negative."""
        return Support(cost_low=0.0, reward_low=0.0)


class Gamma(PositivePair):
    """Cost and reward are gamma variables with a common part.

    X = θ(G₀ + G₁), R = θ'(G₀ + G₂) with independent standard gammas; X has shape a = (cost/cost_sd)² and scale
    θ = cost_sd²/cost, likewise R with a'; G₀ has shape ρ√(aa').

    Args:
        cost: mean cost, > 0.
        reward: mean reward, > 0.
        cost_sd: standard deviation of the cost, > 0.
        reward_sd: standard deviation of the reward, > 0.
        correlation: ρ, between 0 and √(smaller shape / larger shape).

    >>> Gamma(cost=1.0, reward=1.0, cost_sd=0.5, reward_sd=0.5, correlation=0.25).shared_shape
    1.0
    """

    cost_sd: float = parameter(check_positive_sd, relative=True)
    reward_sd: float = parameter(check_positive_sd, relative=True)

    shared_shape: float = derived()
    cost_shape: float = derived()  # what is left of the shape beside the shared part
    reward_shape: float = derived()
    cost_scale: float = derived()
    reward_scale: float = derived()

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Find the shapes and scales of the three gammas, if there are some that give the correlation."""
        root_a, root_b = given.cost / given.cost_sd, given.reward / given.reward_sd
        most = min(root_a, root_b) / max(root_a, root_b)
        given.correlation = reachable(cls.__name__, given.correlation, 0.0, most)
        shared = given.correlation * root_a * root_b
        given.shared_shape = shared
        given.cost_shape, given.reward_shape = max(0.0, root_a * root_a - shared), max(0.0, root_b * root_b - shared)
        given.cost_scale, given.reward_scale = given.cost_sd / root_a, given.reward_sd / root_b

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); three gammas."""
        shared = rng.standard_gamma(self.shared_shape)
        cost = self.cost_scale * (shared + rng.standard_gamma(self.cost_shape))
        return cost, self.reward_scale * (shared + rng.standard_gamma(self.reward_shape))
