"""Heavy-tailed laws: lognormal (all moments, no exponential ones), Pareto and Student's t (few moments)."""

import math

from numpy.random import Generator

from outlay.arms.law import Law, LawMoments, Support, Tails
from outlay.arms.pair import MeansAndSds, PositivePair, correlated, pair_moments, reachable
from outlay.parameters import Draft, derived, number


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
