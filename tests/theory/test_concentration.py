"""Propositions 5 and 6: values worked out by hand, simulations, and the two printed conditions that fail.

The values by hand pin the constants; the simulations check the direction. The bounds are loose: over fixed seeds none
of the runs is near its radius, so "at most the stated chance" is tested as "not significantly more". With 2000 runs and
a stated chance c, more than c + 4·√(c(1−c)/2000) of failures would be seen by chance in fewer than 1 of 10⁴ tests.
"""

import math

import numpy as np
import pytest

from outlay.errors import BadParameter, NotCovered
from outlay.theory.arm_rates import (
    blocks,
    median_rate_radius,
    residual_variance_radius,
    slope_radius,
    variance_radius,
)

RUNS = 2000


def at_most(failures: np.ndarray, chance: float) -> bool:
    return bool(failures.mean() <= chance + 4 * math.sqrt(chance * (1 - chance) / len(failures)))


def block_rates(draw, samples: int, delta: float, runs: int) -> np.ndarray:
    """The median of the blocks' rates in each run; `draw(size)` gives costs and rewards."""
    m = blocks(delta)
    costs, rewards = draw((runs, m, samples // m))
    rates: np.ndarray = np.median(rewards.mean(-1) / costs.mean(-1), axis=1)
    return rates


@pytest.mark.parametrize("delta", [0.3, 0.05])
@pytest.mark.parametrize("tail", [2.2, 3.0])
def test_median_rate(delta, tail):
    """Lomax costs and rewards R = X/2 + Lomax noise: r = 1, heavy tails with and without a third moment."""
    rng = np.random.default_rng(5)
    variance = tail / (tail - 2)  # of a Lomax law with mean 1

    def draw(size):
        x, z = ((tail - 1) * rng.pareto(tail, size) for _ in range(2))
        return 3.0 + x, 2.0 + 0.5 * x + 0.5 * z + 1.0

    needed = math.ceil(135 * (1.28 / 0.28) ** 2 * variance / 16 * math.log(1.4 / delta))
    samples = max(needed, 10 * blocks(delta))
    rate_variance = 0.25 * variance + 0.25 * variance  # Var(R − X) at r = 1
    radius = median_rate_radius(samples, delta, mean_cost=4.0, var_cost=variance, rate_variance=rate_variance)
    runs = min(RUNS, 2_000_000 // samples)
    assert at_most(np.abs(block_rates(draw, samples, delta, runs) - 1.0) > radius, 1.4 * delta)


def test_printed_condition_of_proposition_5_depends_on_the_unit():
    """Costs scaled by 10⁻⁴ meet the condition without E[X]² at s = 17, and then the radius is always exceeded."""
    rng = np.random.default_rng(0)
    delta, scale, rare = 0.01, 1e-4, 1e-3
    mean, variance = scale * (1e-4 + 1.0), scale**2 * (1 - rare) / rare
    printed = 135 * (1.28 / 0.28) ** 2 * variance * math.log(1.4 / delta)
    assert printed < 1

    def draw(size):
        return scale * np.where(rng.random(size) < rare, 1e-4 + 1 / rare, 1e-4), np.ones(size)

    radius = 22 * 1.28 / mean * math.sqrt(variance / mean**2 * math.log(1 / delta) / 17)
    failures = np.abs(block_rates(draw, 17, delta, RUNS) - 1 / mean) > radius
    assert failures.mean() == 1.0
    with pytest.raises(NotCovered, match=r"^Proposition 5 needs samples ≥ 13\d{6}; got 17$"):
        median_rate_radius(17, delta, mean, variance, variance / mean**2)


def sample_moments(chances: list[float], samples: int, runs: int = RUNS) -> tuple[np.ndarray, np.ndarray]:
    """Slope and residual variance of `runs` samples of 0-1 pairs with P = (00, 01, 10, 11)."""
    counts = np.random.default_rng(1).multinomial(samples, chances, size=runs) / samples
    _, only_reward, only_cost, both = counts.T
    x, r = only_cost + both, only_reward + both
    cov = both - x * r
    return cov / (x * (1 - x)), r * (1 - r) - cov**2 / (x * (1 - x))


@pytest.mark.parametrize("slope", [-0.9, 0.0, 0.5])
@pytest.mark.parametrize("delta", [0.02, 0.005])
def test_slope_and_residual_variance(slope, delta):
    """Fair coins with correlation ω, at the smallest number of samples that is covered."""
    equal = 0.25 + slope / 4
    samples = math.ceil(63 * 16 * math.log(1 / delta))
    slopes, residuals = sample_moments([equal, 0.5 - equal, 0.5 - equal, equal], samples)
    bound = 1 + abs(slope)
    assert at_most(np.abs(slopes - slope) > slope_radius(samples, delta, 0.25, 1.0, bound), 12 * delta)
    radius = residual_variance_radius(samples, delta, 0.25, 1.0, bound)
    assert at_most(np.abs(residuals - (1 - slope**2) / 4) > radius, 18 * delta)


@pytest.mark.parametrize("samples", [3, 30, 1000])
@pytest.mark.parametrize("mean", [0.5, 0.1, 0.02])
def test_sample_variance(samples, mean):
    """Appendix F's ν(X) on coins: V̂ + ν(X) is below the true variance in at most 3δ of samples, counted exactly."""
    from scipy.stats import binom

    ones = np.arange(samples + 1) / samples
    for delta in (0.3, 0.05, 0.001):
        below = ones * (1 - ones) + variance_radius(samples, delta, 1.0) < mean * (1 - mean)
        assert binom.pmf(np.arange(samples + 1), samples, mean)[below].sum() <= 3 * delta
    log = math.log(1 / 0.001)
    hoeffding = math.sqrt(log / (2 * samples)) + log / (2 * samples)
    assert hoeffding <= variance_radius(samples, 0.001, 1.0) <= 7 / 3 * hoeffding


def test_the_spreads_of_section_6_2():
    """ν(ω) = 1.36·M_XM_Z/Var(X)·√(ℓ/T) and ν(L) = M_Z²·√(2ℓ/T) are the radii of Proposition 6 at δ = n^−α."""
    pulls, alpha, n = 50_000, 2.1, 1000
    level = alpha * math.log(n) / pulls
    slope = slope_radius(pulls, n**-alpha, 0.2, 1.0, 1.9)
    assert slope == pytest.approx(1.36 * 1.9 / 0.2 * math.sqrt(level), rel=5e-3)  # λ = 1.3536 there
    assert slope <= 1.36 * 1.9 / 0.2 * math.sqrt(level)
    assert residual_variance_radius(pulls, n**-alpha, 0.2, 1.0, 1.9) == pytest.approx(1.9**2 * math.sqrt(2 * level))


def test_printed_range_of_proposition_6_fails_for_negative_slopes():
    """ω = −.9: M_Z = M_R + ωM_X = .1 leaves the radius of L̂ exceeded in .87 of runs where .18 is allowed."""
    samples = math.ceil(63 * 16 * math.log(100))
    _, residuals = sample_moments([0.025, 0.475, 0.475, 0.025], samples, runs=20_000)
    radius = residual_variance_radius(samples, 0.01, 0.25, 1.0, residual_bound=0.1)
    assert np.mean(np.abs(residuals - 0.0475) > radius) == pytest.approx(0.87, abs=0.01)


def test_exact_values_and_refusals():
    assert blocks(math.exp(-2)) == 8
    assert slope_radius(10**6, math.exp(-4), 0.25, 1.0, 2.0) == pytest.approx((1 + 1 / math.sqrt(8)) * 8 * 0.002)
    assert residual_variance_radius(10**6, math.exp(-2), 0.25, 1.0, 2.0) == pytest.approx(4 * 0.002)
    assert median_rate_radius(10**6, math.exp(-4), 2.0, 0.0, 9.0) == pytest.approx(22 * 1.28 / 2 * 3 * 0.002)
    assert variance_radius(100, math.exp(-2), 3.0) == pytest.approx(9 * (0.1 + 7 / 6 * 0.02))
    with pytest.raises(NotCovered, match=r"^Proposition 6 needs samples ≥ 4643; got 4642$"):
        slope_radius(4642, 0.01, 0.25, 1.0, 2.0)
    with pytest.raises(BadParameter, match=r"^chance of slope_radius must be > 0 and < 1; got 1\.5$"):
        slope_radius(100, 1.5, 0.25, 1.0, 2.0)
    with pytest.raises(NotCovered, match=r"^Proposition 5 needs samples ≥ 17; got 16$"):
        median_rate_radius(16, 0.01, 1.0, 0.0, 1.0)
    assert median_rate_radius(17, 0.01, 1.0, 0.0, 1.0) == pytest.approx(22 * 1.28 * math.sqrt(math.log(100) / 17))


def test_bad_input_and_numbers_beyond_floating_point():
    with pytest.raises(BadParameter, match=r"^var_cost of slope_radius must be at most cost_bound²/4, with"):
        slope_radius(10**6, 0.01, 100.0, 1.0, 1.0)
    for bound, most in ((1.0, 0.25), (4.0, 4.0)):  # half of the costs 0, half of them the bound
        assert slope_radius(10**6, 0.01, most, bound, 1.0) > 0
        with pytest.raises(BadParameter, match=r"^var_cost of slope_radius must be at most cost_bound²/4, with"):
            slope_radius(10**6, 0.01, most * 1.02, bound, 1.0)
    uncountable = r"^Proposition \d needs more samples than a floating-point number can count; got 1000000$"
    with pytest.raises(NotCovered, match=uncountable):
        median_rate_radius(10**6, 0.01, 1e-200, 1.0, 1.0)
    with pytest.raises(NotCovered, match=uncountable):
        slope_radius(10**6, 0.01, 1e-300, 1.0, 1.0)
    with pytest.raises(NotCovered, match=uncountable):
        slope_radius(10**6, 0.01, 1.0, 1e200, 1.0)
    with pytest.raises(NotCovered, match=r"^the value of residual_variance_radius is too large"):
        residual_variance_radius(10**6, 0.01, 0.25, 1.0, 1e200)
    with pytest.raises(NotCovered, match=r"^the value of median_rate_radius is too large"):
        median_rate_radius(10**6, 0.01, 1e-300, 0.0, 1e300)


def test_one_sample_may_be_enough():
    """63·4²·ln(1/chance) is 0.001 here; no sample never is."""
    found = slope_radius(1, 1 - 1e-6, 0.25, 1.0, 1.0)
    assert 0 < found < 0.01
    with pytest.raises(BadParameter, match=r"^samples of slope_radius must be a whole number ≥ 1; got 0$"):
        slope_radius(0, 1 - 1e-6, 0.25, 1.0, 1.0)
