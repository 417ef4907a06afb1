"""D* of correlated gammas and exponentials: densities, KL against simulation, no correlation and all of it."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ive

from outlay.arms import Exponential, Gamma
from outlay.theory import divergence
from outlay.theory.divergence_gamma import downton_kl, log_density, scaled_kl

SHAPES = [(0.5, 0.5, 0.5), (2.0, 2.0, 2.0), (0.9, 3.1, 0.1), (0.2, 0.1, 1.8), (30.0, 20.0, 5.0)]  # (c, p, q)


@cache
def drawn(law: Exponential | Gamma, draws: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([law.draw(rng) for _ in range(draws)])


def by_quadrature(shapes: tuple[float, float, float], x: float, y: float) -> float:
    """The density at (x, y) by its definition, the ends of the integral handled by quad's weights."""
    c, p, q = shapes
    m, rest = min(x, y), q if x <= y else p
    inner = p if x <= y else q
    found, _ = quad(
        lambda g: (max(x, y) - g) ** (rest - 1) * math.exp(g - x - y), 0, m, weight="alg", wvar=(c - 1, inner - 1)
    )
    return float(found / (math.gamma(c) * math.gamma(p) * math.gamma(q)))


@pytest.mark.parametrize("shapes", SHAPES)
def test_the_density_is_the_integral_over_the_common_part(shapes):
    c, p, q = shapes
    for s, t in [(0.3, 0.5), (1.0, 0.7), (0.8, 1.4), (1.5, 1.5)]:
        x, y = s * (c + p), t * (c + q)
        if abs(math.log(x / y)) < 0.1:  # quad does not like the ridge
            continue
        logs = np.log([x]), np.log([y])
        found = math.exp(log_density(shapes, *logs, logs[1] - logs[0])[0])
        assert found == pytest.approx(by_quadrature(shapes, x, y), rel=1e-6)


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize(("u", "w"), [(-0.3, 0.4), (0.2, 0.5), (-0.05, -0.02)])
def test_kl_of_gammas_is_the_mean_log_ratio_of_draws(shapes, u, w):
    """Of 20 000 draws of the law itself, within 4 standard errors; false alarms below 1e-3 for all fifteen."""
    c, p, q = shapes
    a, b = c + p, c + q
    law = Gamma(a, b, math.sqrt(a), math.sqrt(b), c / math.sqrt(a * b))  # scales of 1
    x, y = np.log(drawn(law, 20_000, seed=1)).T
    ratio = log_density(shapes, x, y, y - x) - log_density(shapes, x - u, y - w, y - x - (w - u)) + u + w
    assert abs(ratio.mean() - scaled_kl(shapes, u, w)) < 4 * ratio.std() / math.sqrt(len(x))


def test_little_correlation_is_none():
    for rate in (0.5005, 1.0):
        for worth in (0.0, 0.3):
            tied, free = (divergence(Gamma(1.0, 0.5, 1.4, 0.3, c), rate, worth=worth) for c in (1e-8, 0.0))
            assert tied == pytest.approx(free, rel=1e-5)


def test_no_nearer_scales_are_better():
    """No change of scales to the rate 1 or more, or that much and .2 more, is nearer: over u, and w from w(u) up."""
    law = Gamma(1.0, 0.5, 0.5, 0.3, 0.4)
    shapes = law.shared_shape, law.cost_shape, law.reward_shape
    for worth in (0.0, 0.2):
        least = [(u, math.log((math.exp(u) + worth) / 0.5)) for u in np.linspace(-0.8, 0.4, 41)]
        rows = ((0.0, least), (0.05, least[::2]), (0.3, least[::2]))
        found = [[scaled_kl(shapes, u, w + more) for u, w in row] for more, row in rows]
        best, (edge, beyond, far) = divergence(law, 1.0, worth=worth), map(min, found)
        assert best <= edge * (1 + 1e-9)
        assert best == pytest.approx(edge, rel=1e-3)
        assert edge < beyond < far


def test_a_reward_that_is_part_of_the_cost():
    """The largest correlation, q = 0: the closed form is the limit of the sums, and the mean log ratio of draws."""
    law, near = (Gamma(1.0, 0.5, 0.5, 0.5, c) for c in (0.5, 0.499999))
    assert law.reward_shape == 0 < near.reward_shape
    for rate, worth in [(0.7, 0.0), (1.0, 0.0), (1.0, 0.3), (0.4, 0.2)]:
        assert divergence(near, rate, worth=worth) == pytest.approx(divergence(law, rate, worth=worth), rel=1e-4)
    c, p, u, w = 1.0, 3.0, -0.2, 0.3
    rng = np.random.default_rng(2)
    y, rest = rng.standard_gamma(c, 200_000), rng.standard_gamma(p, 200_000)
    moved = (y + rest) * math.exp(-u) - y * math.exp(-w)
    ratio = c * w + u + (p - 1) * np.log(rest / moved) + (y + rest) * math.expm1(-u)
    assert abs(ratio.mean() - scaled_kl((c, p, 0.0), u, w)) < 4 * ratio.std() / math.sqrt(len(y))
    assert scaled_kl((c, p, 0.0), 0.3, 0.2) == math.inf
    assert scaled_kl((c, 0.0, p), w, u) == scaled_kl((c, p, 0.0), u, w)


def test_a_cost_that_is_part_of_the_reward():
    """p = 0: no scales of a better rate keep cost ≤ reward. Where requests have a worth, both may rise."""
    law = Gamma(1.0, 0.5, 1.0, 0.25, 0.5)
    assert law.cost_shape == 0
    assert divergence(law, 1.0) == math.inf
    assert divergence(law, 1.0, worth=0.3) == math.inf
    risen = divergence(law, 0.4, worth=0.2)  # 0.5 < 0.4 + 0.2
    shapes = law.shared_shape, 0.0, law.reward_shape
    scales = [(u, math.log((0.4 * math.exp(u) + 0.2) / 0.5)) for u in np.linspace(math.log(2), 3.0, 301)]
    assert risen == pytest.approx(min(scaled_kl(shapes, u, w) for u, w in scales), rel=1e-5)
    assert 0 < risen < math.inf


def test_gammas_in_proportion():
    """Only a common rise is possible: that of R − rX from .1 to .2, by ln 2, of a gamma of shape 4."""
    law = Gamma(1.0, 0.5, 0.5, 0.25, 1.0)
    assert divergence(law, 1.0) == divergence(law, 0.5, worth=0.1) == math.inf
    assert divergence(law, 0.4, worth=0.2) == pytest.approx(4 * (math.log(2) - 0.5))


def test_the_ridge_shows_small_gaps_sooner():
    """D* falls like Δ^(p+q) where p + q < 1, the chance of being nearer to the ridge than Δ; like Δ² without one.

    In between, for 1 < p + q < 3/2, like Δ^(2(p+q)−1).
    """
    laws = [(Gamma(1.0, 0.5, 2.0, 1.0, 0.5), 0.25), (Gamma(1.0, 0.5, 0.25, 0.125, 0.5), 2.0)]
    laws.append((Gamma(1.0, 0.5, 1.4**-0.5, 0.5 * 1.4**-0.5, 0.5), 1.8))  # p + q = 1.4
    for law, power in laws:
        small, large = (divergence(law, 0.5 * math.exp(gap)) for gap in (1e-4, 1e-3))
        assert math.log10(large / small) == pytest.approx(power, abs=0.03)


def exponential_log_density(a: np.ndarray, b: np.ndarray, correlation: float) -> np.ndarray:
    z = 2 * np.sqrt(correlation * a * b) / (1 - correlation)
    return np.asarray(-(a + b) / (1 - correlation) + np.log(ive(0, z)) + z - math.log(1 - correlation))


@pytest.mark.parametrize("correlation", [0.2, 0.6, 0.95])
@pytest.mark.parametrize(("u", "w"), [(-0.3, 0.4), (0.2, 0.5), (-0.5, -0.1)])
def test_kl_is_the_mean_log_ratio_of_draws(correlation, u, w):
    """Of 40 000 draws of the law itself, within 4 standard errors; false alarms below 6e-4 for all nine."""
    a, b = drawn(Exponential(1.0, 1.0, correlation), 40_000, seed=0).T
    moved = exponential_log_density(a * math.exp(-u), b * math.exp(-w), correlation) - u - w
    ratio = exponential_log_density(a, b, correlation) - moved
    assert abs(ratio.mean() - downton_kl(correlation, u, w)) < 4 * ratio.std() / 200
