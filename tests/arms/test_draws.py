"""Draws are distributed as the law says, beyond the moments and the support that its contract tests.

All seeds are fixed. A test at 5 standard errors would fail a right law for 1 seed in 1.7 million per number tested
(20 numbers here), a Kolmogorov–Smirnov test for 1 in a million (18 of them): 1 in 30 000 for the whole file.
"""

import math

import numpy as np
import pytest
from scipy import stats

from outlay.arms import Beta, Exponential, Gamma, Gaussian, Lognormal, Pareto, StudentT, Uniform
from outlay.arms.bounded import beta_quantile, beta_table

SIGMAS = 5.0
KS_LEVEL = 1e-6


MARGINALS = [
    (Gaussian(1.0, 0.9, 0.3, 0.2, 0.5), stats.norm(1.0, 0.3), stats.norm(0.9, 0.2)),
    (Uniform(-1.0, 2.0, 0.0, 0.5, -0.7), stats.uniform(-1.0, 3.0), stats.uniform(0.0, 0.5)),
    (Exponential(2.0, 0.5, 0.6), stats.expon(scale=2.0), stats.expon(scale=0.5)),
    (Gamma(1.0, 3.0, 0.5, 2.0, 0.4), stats.gamma(4.0, scale=0.25), stats.gamma(2.25, scale=4 / 3)),
    (
        Lognormal(math.exp(0.5), math.exp(1.125), math.exp(0.5) * math.sqrt(math.e - 1), 2.0, 0.3),
        stats.lognorm(1.0),
        stats.lognorm(s := math.sqrt(math.log1p(4 * math.exp(-2.25))), scale=math.exp(1.125 - s * s / 2)),
    ),
    (Pareto(2.0, 0.5, 2.5, 1.5), stats.lomax(2.5, scale=3.0), stats.lomax(1.5, scale=0.25)),
    (
        StudentT(1.0, -0.5, 0.5, 2.0, 3.0, 0.7),
        stats.t(3.0, 1.0, 0.5 / math.sqrt(3.0)),
        stats.t(3.0, -0.5, 2.0 / math.sqrt(3.0)),
    ),
    (
        Beta(0.4, 5.0, math.sqrt(0.04), math.sqrt(1.0), 0.6, reward_bound=10.0),
        stats.beta(2.0, 3.0),
        stats.beta(12.0, 12.0, scale=10.0),
    ),
    (
        Beta(0.5, 0.1, math.sqrt(0.25 / 2), math.sqrt(0.09 / 6), -0.2),
        stats.beta(0.5, 0.5),
        stats.beta(0.5, 4.5),
    ),
]


@pytest.mark.parametrize(("law", "cost", "reward"), MARGINALS, ids=[type(case[0]).__name__ for case in MARGINALS])
def test_marginals_are_scipys(law, cost, reward, draw_many):
    pairs = draw_many(law, np.random.default_rng(4), 200_000)
    assert stats.kstest(pairs[:, 0], cost.cdf).pvalue > KS_LEVEL
    assert stats.kstest(pairs[:, 1], reward.cdf).pvalue > KS_LEVEL


T_UNIT = math.sqrt(0.5 / 2.5)  # the scale of a unit sd with 2.5 degrees of freedom
TAILS = [
    (Pareto(2.0, 0.5, 2.5, 1.5), stats.lomax(2.5, scale=3.0), stats.lomax(1.5, scale=0.25)),
    (
        StudentT(1.0, -0.5, 0.5, 2.0, 2.5, 0.7),
        stats.t(2.5, 1.0, 0.5 * T_UNIT),
        stats.t(2.5, -0.5, 2.0 * T_UNIT),
    ),
]


@pytest.mark.parametrize(("law", "cost", "reward"), TAILS, ids=["Pareto", "StudentT"])
def test_heavy_tails_exceed_exact_quantiles_as_often_as_they_should(law, cost, reward, draw_many):
    count = 2_000_000
    pairs = draw_many(law, np.random.default_rng(5), count)
    for column, side in ((pairs[:, 0], cost), (pairs[:, 1], reward)):
        for chance in (0.5, 0.1, 0.01, 1e-3, 1e-4):
            exceed = np.count_nonzero(column > side.isf(chance))
            assert abs(exceed - count * chance) <= SIGMAS * math.sqrt(count * chance * (1 - chance))


@pytest.mark.parametrize(
    ("a", "b"), [(2, 3), (0.5, 0.5), (1, 1), (0.1, 20), (0.02, 0.3), (0.05, 0.05), (100, 3), (1e4, 2e4), (1e8, 3e8)]
)
def test_the_beta_table_is_the_quantile_function(a, b):
    table = beta_table(a, b)
    z = np.random.default_rng(6).uniform(-8.9, 8.9, 1000)
    lower, upper = stats.beta.ppf(stats.norm.cdf(z), a, b), stats.beta.isf(stats.norm.sf(z), a, b)
    exact = np.where(z < 0, lower, upper)
    assert np.abs([beta_quantile(table, value) for value in z.tolist()] - exact).max() < 1e-9


class Farthest:
    """A generator whose normals are so large that their distribution function is 1."""

    def standard_normal(self) -> float:
        return 40.0


def test_a_uniform_stays_within_its_ends() -> None:
    """Where low + (high − low) rounds to more than high, as here, the largest draw would be above the support."""
    high = 1.5 * 2.0**-53
    assert -1.0 + (high + 1.0) > high
    assert Uniform(-1.0, high, -1.0, high).draw(Farthest()) == (high, high)  # type: ignore[arg-type]
