"""Light-tailed laws of positive costs and rewards: exponential and gamma."""

import math
from typing import NamedTuple, Self

from numpy.random import Generator

from outlay.arms.law import Law, Moments, Support
from outlay.arms.pair import FARTHEST, checked_pair, correlated, pair_moments, reachable
from outlay.checks import real


class _ExponentialFields(NamedTuple):
    cost: float
    reward: float
    correlation: float


class Exponential(Law, _ExponentialFields):
    """Cost and reward are exponential (Moran and Downton's pair).

    X = cost·(Z₁² + Z₂²)/2, R = reward·(W₁² + W₂²)/2 with normals of correlation √ρ between Zᵢ and Wᵢ.

    Args:
        cost: mean cost, > 0.
        reward: mean reward, > 0.
        correlation: ρ, in [0, 1].

    >>> Exponential(cost=2.0, reward=1.0, correlation=0.5).moments()
    Moments(mean_cost=2.0, mean_reward=1.0, var_cost=4.0, var_reward=1.0, cov=1.0)
    """

    __slots__ = ()

    def __new__(cls, cost: float, reward: float, correlation: float = 0.0) -> Self:
        """Check the parameters."""
        return super().__new__(
            cls,
            real("Exponential", "cost", cost, above=0),
            real("Exponential", "reward", reward, above=0),
            real("Exponential", "correlation", correlation, at_least=0, at_most=1),
        )

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); four normals."""
        root = math.sqrt(self.correlation)
        z1 = rng.standard_normal()
        z2 = rng.standard_normal()
        w1 = correlated(root, z1, rng.standard_normal())
        w2 = correlated(root, z2, rng.standard_normal())
        return 0.5 * self.cost * (z1 * z1 + z2 * z2), 0.5 * self.reward * (w1 * w1 + w2 * w2)

    def moments(self) -> Moments:
        """The standard deviation of an exponential is its mean."""
        return pair_moments(self.cost, self.reward, self.cost, self.reward, self.correlation)

    def support(self) -> Support:
        """Nothing negative."""
        return Support(cost_low=0.0, reward_low=0.0)


class _GammaFields(NamedTuple):
    cost: float
    reward: float
    cost_sd: float
    reward_sd: float
    correlation: float
    shared_shape: float  # derived
    cost_shape: float  # derived: what is left of the shape beside the shared part
    reward_shape: float
    cost_scale: float
    reward_scale: float


class Gamma(Law, _GammaFields):
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

    __slots__ = ()

    def __new__(cls, cost: float, reward: float, cost_sd: float, reward_sd: float, correlation: float = 0.0) -> Self:
        """Check the parameters."""
        m, n, s, t, rho = checked_pair("Gamma", cost, reward, cost_sd, reward_sd, correlation, positive=True)
        real("Gamma", "cost_sd", cost_sd, above=m / FARTHEST)
        real("Gamma", "reward_sd", reward_sd, above=n / FARTHEST)
        root_a, root_b = m / s, n / t
        rho = reachable("Gamma", rho, 0.0, min(root_a, root_b) / max(root_a, root_b))
        shared = rho * root_a * root_b
        rest_a, rest_b = max(0.0, root_a * root_a - shared), max(0.0, root_b * root_b - shared)
        return super().__new__(cls, m, n, s, t, rho, shared, rest_a, rest_b, s / root_a, t / root_b)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); three gammas."""
        shared = rng.standard_gamma(self.shared_shape)
        cost = self.cost_scale * (shared + rng.standard_gamma(self.cost_shape))
        return cost, self.reward_scale * (shared + rng.standard_gamma(self.reward_shape))

    def moments(self) -> Moments:
        """The parameters themselves."""
        return pair_moments(self.cost, self.reward, self.cost_sd, self.reward_sd, self.correlation)

    def support(self) -> Support:
        """Nothing negative."""
        return Support(cost_low=0.0, reward_low=0.0)
