"""Laws without bounds: Gaussian pairs, a reward that follows the cost, positive laws, heavy tails.

`Gaussian` and `Linear` can be jointly normal; `Exponential` and `Gamma` have light tails, `Lognormal` has all moments
but no exponential ones, `Pareto` and `StudentT` have few moments.
"""

import math

from numpy.random import Generator

from outlay.arms.finite import Constant
from outlay.arms.law import (
    FARTHEST,
    AnyLaw,
    Law,
    LawMoments,
    MeansAndSds,
    Pair,
    PositivePair,
    Support,
    Tails,
    check_law,
    correlated,
    pair_moments,
    reachable,
    support_of,
    tails_of,
)
from outlay.checks import real
from outlay.parameters import Draft, derived, number, parameter


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
    """Whether cost and reward are jointly Gaussian; constants count, and lines in a Gaussian cost."""
    return isinstance(law, (Gaussian, Constant)) or (isinstance(law, Linear) and is_gaussian(law.cost))


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


def check_positive_sd(owner: str, name: str, value: object, given: Draft) -> float:
    """A standard deviation > 0, not too far from its mean on either side."""
    mean = given.cost if name == "cost_sd" else given.reward
    real(owner, name, value, at_least=0, at_most=FARTHEST * mean)
    return real(owner, name, value, above=mean / FARTHEST)


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


class Lognormal(PositivePair):
    """The logarithms of cost and reward are jointly normal.

    X = cost·exp(σZ − σ²/2) with σ² = ln(1 + (cost_sd/cost)²), R likewise with τ; the normals have the correlation
    ln(1 + ρ·(cost_sd/cost)·(reward_sd/reward))/(στ), which gives X and R the correlation ρ.

    Args:
        cost: mean cost itself, not of its logarithm, > 0.
        reward: mean reward, > 0.
        cost_sd: standard deviation of the cost itself, ≥ 0.
        reward_sd: standard deviation of the reward, ≥ 0.
        correlation: ρ of cost and reward themselves, within the range that the standard deviations leave.

    >>> Lognormal(cost=1.0, reward=1.0, cost_sd=2.0, reward_sd=2.0, correlation=-0.5)
    Traceback (most recent call last):
    outlay.errors.BadParameter: correlation of Lognormal must be between -0.2 and 1 for these parameters; got -0.5
    """

    cost_sigma: float = derived()  # sd of ln X
    reward_sigma: float = derived()  # sd of ln R
    log_correlation: float = derived()  # of ln X and ln R

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Find the moments of the logarithms, if there are some that give the correlation."""
        s, t = given.cost_sd / given.cost, given.reward_sd / given.reward
        given.cost_sigma, given.reward_sigma = math.sqrt(math.log1p(s * s)), math.sqrt(math.log1p(t * t))
        given.log_correlation = given.correlation
        product, spread = given.cost_sigma * given.reward_sigma, s * t
        if product > 0.0:
            low, high = math.expm1(-product) / spread, math.expm1(product) / spread
            given.correlation = reachable(cls.__name__, given.correlation, low, high)
            given.log_correlation = min(max(math.log1p(given.correlation * spread) / product, -1.0), 1.0)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two normals."""
        s, t = self.cost_sigma, self.reward_sigma
        z = rng.standard_normal()
        w = correlated(self.log_correlation, z, rng.standard_normal())
        return self.cost * math.exp(s * (z - 0.5 * s)), self.reward * math.exp(t * (w - 0.5 * t))


class Pareto(Law):
    """Cost and reward are independent Pareto variables that start at 0 (Lomax).

    P(X > x) = (1 + x/(cost·(a−1)))^(−a): mean `cost`, variance cost²·a/(a−2), infinite for a ≤ 2.

    Args:
        cost: mean cost, > 0.
        reward: mean reward, > 0.
        cost_tail: a, the tail index of the cost, > 1; moments of order below a exist.
        reward_tail: the tail index of the reward, > 1.

    >>> Pareto(cost=1.0, reward=2.0, cost_tail=2.0, reward_tail=4.0).moments()
    LawMoments(mean_cost=1.0, mean_reward=2.0, var_cost=inf, var_reward=8.0, cov=0.0)
    """

    cost: float = number(above=0)
    reward: float = number(above=0)
    cost_tail: float = number(default=3.0, above=1)
    reward_tail: float = number(default=3.0, above=1)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two exponentials."""
        a, b = self.cost_tail, self.reward_tail
        cost = self.cost * (a - 1.0) * math.expm1(rng.standard_exponential() / a)
        return cost, self.reward * (b - 1.0) * math.expm1(rng.standard_exponential() / b)

    def moments(self) -> LawMoments:
        """Independent, so the covariance is 0 even where a variance is infinite."""
        var_cost = _lomax_variance(self.cost, self.cost_tail)
        return LawMoments(self.cost, self.reward, var_cost, _lomax_variance(self.reward, self.reward_tail), 0.0)

    def support(self) -> Support:
        """Nothing negative."""
        return Support(cost_low=0.0, reward_low=0.0)

    def tails(self) -> Tails:
        """The two tail indices."""
        return Tails(self.cost_tail, self.reward_tail)


def _lomax_variance(mean: float, tail: float) -> float:
    return mean * mean * (tail / (tail - 2.0)) if tail > 2.0 else math.inf


class StudentT(MeansAndSds):
    """Cost and reward are jointly Student's t: a Gaussian pair with one random scale for both.

    (X, R) = means + √((ν−2)/χ²_ν)·(Gaussian pair with these sds and correlation); at ρ = 0 the two are uncorrelated,
    not independent.

    Args:
        cost: mean cost; negative draws are possible whatever the mean.
        reward: mean reward.
        cost_sd: standard deviation of the cost itself, ≥ 0.
        reward_sd: standard deviation of the reward itself, ≥ 0.
        tail: ν, the degrees of freedom, > 2; moments of order below ν exist.
        correlation: ρ, in [-1, 1].

    >>> StudentT(cost=1.0, reward=1.0, cost_sd=0.5, reward_sd=0.5, tail=2.5).tails()
    Tails(cost=2.5, reward=2.5)
    """

    tail: float = number(default=3.0, above=2)
    correlation: float = number(default=0.0, at_least=-1, at_most=1)

    def draw(self, rng: Generator) -> tuple[float, float]:
        """One pair (cost, reward); two normals and a gamma."""
        z = rng.standard_normal()
        w = correlated(self.correlation, z, rng.standard_normal())
        scale = math.sqrt((0.5 * self.tail - 1.0) / rng.standard_gamma(0.5 * self.tail))
        return self.cost + self.cost_sd * scale * z, self.reward + self.reward_sd * scale * w

    def moments(self) -> LawMoments:
        """The parameters themselves."""
        return pair_moments(self.cost, self.reward, self.cost_sd, self.reward_sd, self.correlation)

    def tails(self) -> Tails:
        """The degrees of freedom, for a side that varies."""
        return Tails(self.tail if self.cost_sd > 0.0 else math.inf, self.tail if self.reward_sd > 0.0 else math.inf)
