"""Thompson sampling for Gaussian pairs of unknown means and covariance."""

import math

import numpy as np

from outlay.beliefs import Belief, residual_variance, slope
from outlay.parameters import Parameters

TRIES = 64  # draws of a cost that may be ≤ 0 before an arm is pulled to learn more
LEAST = 3  # samples of an arm that make its posterior proper
TINY = 1e-300  # a chi-square that underflowed


class GaussianThompson(Parameters):
    """The rate of a pair of means drawn from its posterior, cost and reward jointly Gaussian.

    The prior is the limit of normal-inverse-Wishart ones that knows no scale, p(μ, Σ) ∝ |Σ|^(−3/2): nothing has to be
    told, and other units of cost or reward change no choice. After T samples with means x̄ and biased covariance Ŝ the
    means are bivariate Student with T − 2 degrees of freedom,

        μ = x̄ + Ŝ^(1/2)·z/√w,      z two standard normals, w chi-square with T − 2 degrees

    so every arm is pulled three times first. Mean costs are known to be positive: a draw with a cost ≤ 0 is made anew
    (64 times; then the score is ∞), which is the posterior given that.

    >>> belief = Belief(0, pulls=9, mean_cost=2.0, mean_reward=1.0, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> GaussianThompson().sample(belief, 2.0, np.random.default_rng(0))
    0.5

    Reference: W. R. Thompson, "On the likelihood that one unknown probability exceeds another", Biometrika 25 (1933);
    for the posterior, Gelman et al., "Bayesian Data Analysis", the multivariate normal with Jeffreys' prior.
    """

    def sample(self, belief: Belief, log_n: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """A rate from the arm's posterior."""
        if belief.pulls < LEAST:
            return math.inf
        cost_sd, own_sd = math.sqrt(belief.var_cost), math.sqrt(residual_variance(belief))
        for _ in range(TRIES):
            spread = 1.0 / math.sqrt(max(TINY, 2.0 * rng.standard_gamma(0.5 * (belief.pulls - 2))))
            z = cost_sd * rng.standard_normal()
            cost = belief.mean_cost + spread * z
            reward = belief.mean_reward + spread * (slope(belief) * z + own_sd * rng.standard_normal())
            if cost > 0.0:
                rate = reward / cost
                return math.inf if math.isnan(rate) else rate
        return math.inf
