"""Rates, slopes and variances, and how far estimates of them can be off (Propositions 2, 5, 6, Appendix F).

The bounds are loose: over fixed seeds none of the runs is near its radius, so "at most the stated chance" is tested as
"not significantly more". With 2000 runs and a stated chance c, more than c + 4·√(c(1−c)/2000) of failures would be seen
by chance in fewer than 1 of 10⁴ tests.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.arms import Constant, Discrete, Linear, Pareto, Problem, catalogue
from outlay.errors import NotCovered
from outlay.report.figures import rate_box_figure
from outlay.theory import (
    median_rate_radius,
    rate_box,
    rate_deviation,
    rates,
    residual_variance_radius,
    slope_radius,
    stable,
    variance_radius,
)
from outlay.theory.arm_rates import blocks


@pytest.mark.parametrize("name", catalogue.names())
def test_sigma2_is_the_variance_of_the_reward_less_its_price(name):
    problem = catalogue.load(name)
    found, moments = rates(problem), problem.second_moments()
    direct = moments["var_reward"] - 2 * problem.rate * moments["cov"] + problem.rate**2 * moments["var_cost"]
    assert found.sigma2 == pytest.approx(direct, rel=1e-9)
    assert (found.residual_variance <= moments["var_reward"]).all()
    assert np.array_equal(found.gap, found.best_rate - found.rate)
    assert found.rate[found.best] == found.best_rate == found.rate.max()
    assert found.min_mean_cost == problem.mean_costs.min()


@settings(max_examples=100)
@given(
    outcomes=st.lists(st.tuples(st.integers(1, 9), st.integers(-9, 9), st.integers(1, 9)), min_size=1, max_size=5),
    other=st.floats(-3, 3),
)
def test_identity_by_enumeration(outcomes, other):
    """Var(R − r*X) summed over the outcomes, with r* from the arm itself or from another."""
    costs, rewards, weights = (np.array(column, dtype=float) for column in zip(*outcomes, strict=True))
    p = weights / weights.sum()
    found = rates(Problem([Discrete(costs, rewards, p), Constant(1.0, other)]))
    left = rewards - found.best_rate * costs
    assert found.sigma2[0] == pytest.approx(p @ (left - p @ left) ** 2, abs=1e-9)
    tries = [p @ (rewards - w * costs - p @ (rewards - w * costs)) ** 2 for w in found.slope[0] + np.array([0, -1, 1])]
    assert found.residual_variance[0] == pytest.approx(min(tries), abs=1e-9)


def test_infinite_variances_give_infinity_and_never_nan():
    wild = Pareto(1.0, 1.0, cost_tail=1.5)
    problem = Problem([wild, Linear(wild, slope=0.5), Linear(wild, slope=0.0, noise=1.0), Pareto(1.0, 1.0, 3.0, 1.5)])
    found = rates(problem)
    assert not any(np.isnan(column).any() for column in found[:6])
    assert found.slope.tolist() == [0.0] * 4
    assert found.sigma2.tolist() == [math.inf] * 4
    assert found.residual_variance.tolist() == [3.0, math.inf, 0.0, math.inf]
    assert rates(Problem([Linear(wild, slope=0.0)])).sigma2.tolist() == [0.0]


share = st.floats(-1, 1)


@settings(max_examples=500)
@given(
    cost=st.floats(1e-3, 1e3),
    reward=st.floats(-1e3, 1e3),
    eta=st.floats(0, 0.999),
    epsilon=st.floats(0, 1e3),
    stretch=st.floats(1.001, 50),
    x=share,
    y=share,
)
def test_no_estimate_in_the_box_is_farther_off(cost, reward, eta, epsilon, stretch, x, y):
    cost_radius = eta * cost * (stretch - 1) / stretch
    bound = rate_deviation(cost, reward, cost_radius, epsilon, stretch)
    off = (reward + y * epsilon) / (cost + x * cost_radius) - reward / cost
    rounding = 1e-12 * (abs(reward) + epsilon) * stretch / cost + 1e-300
    assert abs(off) <= bound + rounding
    box = rate_box(cost, reward, cost_radius, epsilon, stretch)
    assert abs(off) <= box.deviation + rounding
    assert box.deviation <= bound + rounding
    assert abs(box.worst[1] / box.worst[0] - box.rate) == pytest.approx(box.deviation, rel=1e-6, abs=rounding)


@settings(max_examples=500)
@given(
    mean=st.floats(0.01, 10),
    rate=st.floats(0, 10),
    slope=st.floats(-10, 10),
    eta=st.floats(0, 2),
    epsilon=st.floats(0, 10),
    x=share,
    y=share,
)
def test_factor_of_the_score(mean, rate, slope, eta, epsilon, x, y):
    """With stability tested on the estimate, λ = 1.28 already makes the score an upper bound, so 1.4 and 1.78 do.

    Cost known within η, R − ωX within ε, as in the proof of Theorem 1; the estimated rate is truncated at 0.
    """
    cost = mean + x * eta
    if cost <= 0 or not stable(cost, eta):
        return
    reward = (rate - slope) * mean + y * epsilon + slope * cost
    estimate = max(0.0, reward) / cost
    score = estimate + 1.28 * (epsilon + abs(estimate - slope) * eta) / cost
    assert score >= rate - 1e-9 * (1 + abs(slope) + epsilon / mean)


def test_attained_at_the_edge_of_stability():
    edge = 2.0 * 0.28 / 1.28
    box = rate_box(2.0, 1.0, math.nextafter(edge, 0), 0.1)
    assert box.deviation == pytest.approx(box.bound, rel=1e-12)
    assert not stable(2.0, edge * (1 + 1e-12))


def test_deviations_by_hand():
    assert rate_deviation(2.0, 1.0, 0.2, 0.15) == 1.28 * (0.15 + 0.5 * 0.2) / 2
    assert rate_deviation(2.0, -1.0, 0.2, 0.15, stretch=2.0) == 0.25
    assert rate_deviation(1.0, 3.0, 0.0, 0.0) == 0.0
    box = rate_box(2.0, -1.0, 0.4, 0.2)
    assert (box.low, box.worst) == ((1.6, -1.2), (1.6, -1.2))
    assert box.high == (2.4, -0.8)
    assert box.deviation == pytest.approx((0.2 + 0.5 * 0.4) / 1.6)
    gaining = rate_box(2.0, 1.0, 0.4, 0.2)
    assert (gaining.low, gaining.high) == ((2.4, 0.8), (1.6, 1.2))
    straddling = rate_box(2.0, 0.1, 0.4, 0.2)
    assert straddling.low == (1.6, -0.1)
    assert straddling.worst == pytest.approx((1.6, 0.3))
    assert rate_box(2.0, 0.1, 0.4, 0.9).worst == pytest.approx((1.6, 1.0))


@pytest.mark.parametrize("reward", [1.0, -1.0, 0.05])
def test_figure(reward):
    box = rate_box(2.0, reward, 0.4, 0.2)
    figure = rate_box_figure(box)
    figure.canvas.draw()
    (axes,) = figure.axes
    assert (axes.get_xlim(), axes.get_ylim()) == box.view
    assert {text.get_text() for text in axes.texts} >= {"(θ₁, θ₂)", "A(η, ε)"}


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
