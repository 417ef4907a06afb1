"""D* where formulas change: means on a line, lines without noise, tables with a worth, grids, supports of one's own."""

import math
from typing import Any

import numpy as np
import pytest

from outlay.arms import Bernoulli, Beta, Constant, Discrete, Gaussian, Linear, Uniform
from outlay.errors import BadParameter, NotCovered
from outlay.theory import Edge, Points, divergence, kl_inf
from outlay.theory.divergence_bounded import independent, log_remainder, outcomes
from outlay.theory.divergence_gaussian import as_gaussian


@pytest.mark.parametrize(
    ("reward", "reward_sd", "correlation", "wanted"),
    [  # cost 1 ± 0.5; where the line of means meets reward = cost
        (0.5, 0.4, 1.0, math.inf),  # at −1.5
        (0.5, 0.4, -1.0, 0.25 / (2 * 0.81)),  # at 13/18
        (0.5, 1.0, 1.0, 0.25 / (2 * 0.25)),  # at 1.5
        (0.5, 0.25, 1.0, math.inf),  # at 0, the corner
        (0.5, 0.25 * (1 - 1e-15), 1.0, math.inf),  # at what only rounding tells from 0
        (0.5, 0.25 * (1 + 1e-9), 1.0, math.inf),  # just left of 0
        (0.5, 0.25 * (1 - 1e-9), 1.0, 0.25 / (2 * 0.0625)),  # just right of 0
        (0.5, 0.0, 0.0, 0.25 / (2 * 0.25)),  # at 0.5
        (-0.5, 0.0, 0.0, math.inf),  # at −0.5
        (-0.5, 1.0, -1.0, 2.25 / (2 * 2.25)),  # at 0.5
    ],
)
def test_means_on_a_line(reward, reward_sd, correlation, wanted):
    law = Gaussian(1.0, reward, 0.5, reward_sd, correlation)
    assert divergence(law, 1.0) == pytest.approx(wanted, rel=1e-6)
    assert divergence(law, 1.0, "unknown covariance") == pytest.approx(0.5 * math.log1p(2 * wanted), rel=1e-6)
    assert divergence(Gaussian(4.0, reward, 2.0, reward_sd, correlation), 0.25) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(
    ("cost_sd", "slope", "noise_sd", "correlation"),
    [
        (1.1, 1.61, 0.0, 1.0),  # of these the rounded covariance over the standard deviations is 1 − 1e-16,
        (0.3, 0.11, 0.0, 1.0),  # 1 − 2e-16,
        (0.1, 0.44, 0.0, 1.0),  # 1 + 2e-16,
        (0.1, -1.86, 0.0, -1.0),  # −1 − 2e-16,
        (0.7, 0.42, 1e-12, 1.0),  # and again above 1
        (0.2, -1.89, 1e-12, -1.0),  # or below −1
        (0.5, 0.6, 0.4, 0.6),
        (0.5, -0.6, 0.4, -0.6),
        (0.0, 0.6, 0.0, 0.0),
        (0.0, 0.6, 0.4, 0.0),
    ],
)
def test_lines_as_gaussians(cost_sd, slope, noise_sd, correlation):
    found = as_gaussian(Linear(Gaussian(1.5, 0.0, cost_sd, 0.0), slope, 0.1, noise_sd))
    if noise_sd < 0.1:
        assert found.correlation == correlation
    reward_sd = math.hypot(slope * cost_sd, noise_sd)
    assert tuple(found) == pytest.approx((1.5, 1.5 * slope + 0.1, cost_sd, reward_sd, correlation))


def test_coins_with_a_worth():
    """(0, 0), which has no part in D* without a worth: the table of four pairs says how much it has with one."""
    law = Bernoulli(0.5, 0.3, 0.2)
    table = Discrete([0, 0, 1, 1], [0, 1, 0, 1], [0.2 + law.both, 0.3 - law.both, 0.5 - law.both, law.both])
    for rate, worth in ((0.8, 0.0), (0.8, 0.1), (0.2, 0.5)):
        assert divergence(law, rate, worth=worth) == pytest.approx(divergence(table, rate, worth=worth), rel=1e-9)
    for p, q in ((0.91, 0.09), (0.54, 0.46)):  # 1 − p − q + P(both) is below 0, as rounded
        assert outcomes(Bernoulli(p, q, -1.0)).probabilities.min() == 0
    assert divergence(Bernoulli(0.5, 0.3), 0.0, worth=0.6) == pytest.approx(
        0.3 * math.log(0.5) + 0.7 * math.log(0.7 / 0.4)
    )


def test_independent_coins_that_must_nearly_always_pay():
    """At ν = 0.9 and r = ½ a cost must be so rare that 0.9 + t/2 ≤ 1; at ν = 1 there may be none."""
    law = Bernoulli(0.5, 0.25)
    t = np.linspace(0, 0.2, 200_001)[1:-1]
    u = 0.9 + t / 2
    every = -0.5 * np.log(4 * t * (1 - t)) + 0.25 * np.log(0.25 / u) + 0.75 * np.log(0.75 / (1 - u))
    assert independent(law, 0.5, 0.9) == pytest.approx(float(every.min()), rel=1e-6)
    assert independent(law, 0.5, 1.0) == independent(law, 0.0, 1.0) == independent(law, 0.0, 1.5) == math.inf
    t, certain = np.linspace(0, 0.25, 200_001)[1:-1], Bernoulli(1.0, 0.25)  # a certain cost, r = 2 and ν = ½
    u = 0.5 + 2 * t
    every = -np.log(t) + 0.25 * np.log(0.25 / u) + 0.75 * np.log(0.75 / (1 - u))
    assert independent(certain, 2.0, 0.5) == pytest.approx(float(every.min()), rel=1e-6)
    always = Bernoulli(0.5, 1.0)
    assert independent(always, 0.0, 1.0) == 0.0
    assert independent(always, 0.5, 1.0) == math.inf
    assert independent(Bernoulli(0.0, 0.25), 0.5, 0.5) == pytest.approx(0.25 * math.log(0.5) + 0.75 * math.log(1.5))


@pytest.mark.parametrize(
    ("law", "close"),
    [
        (Uniform(0.2, 1.0, -0.5, 0.8, 0.7), 1e-9),
        (Uniform(-1.0, 2.0, 0.0, 1.1, -0.4), 1e-9),
        (Beta(0.4, 0.3, 0.2, 0.2, 0.6), 1e-6),
        (Beta(1.2, 0.6, 0.6, 0.5, -0.6, 2.0, 3.0), 1e-6),
        (Beta(0.6, 0.3, 0.48, 0.4, -0.3), 1e-7),  # U-shaped: shapes down to 0.017
        (Beta(0.5, 0.5, 0.45, 0.3, 0.5), 1e-7),
    ],
)
def test_grids_have_the_moments_of_their_laws(law, close):
    x, r, p = outcomes(law)
    cost, reward = float(p @ x), float(p @ r)
    x, r = x - cost, r - reward
    found = cost, reward, float(p @ (x * x)), float(p @ (r * r)), float(p @ (x * r))
    assert found == pytest.approx(tuple(law.moments()), rel=close)
    assert float(p.sum()) == pytest.approx(1.0)
    assert p.min() > 0


def test_supports_of_your_own():
    """A coin of ¼ that may pay up to 2, against a mean of ½; (λ is ⅓: E[Z/(1 − λZ)] = 0)."""
    coin = Points(np.ones(2), np.array([0.0, 1.0]), np.array([0.75, 0.25]))
    edge = Edge(np.ones(2), np.array([0.0, 2.0]))
    best = max(0.75 * math.log(1 + s / 2) + 0.25 * math.log(1 - s / 2) for s in np.linspace(0, 2 / 3, 100_001).tolist())
    assert kl_inf(coin, 0.25, 0.5, edge) == pytest.approx(best, rel=1e-9)
    assert kl_inf(coin, 0.25, 0.25, edge, worth=0.25) == pytest.approx(best, rel=1e-9)
    assert kl_inf(coin, 1.75, 2.0, edge) == math.inf
    # far from every better law θ is at its end: all mass but a little goes to the largest Z
    assert kl_inf(coin, 1.65, 1.9, edge) == pytest.approx(0.75 * math.log(20.0) + 0.25 * math.log(10.0))


REFUSED: list[tuple[Any, float, Any, str]] = [
    (([1.0], [1.0], [0.5]), 0.1, ([1.0], [2.0]), "probabilities of kl_inf must be ≥ 0, with a sum of 1"),
    (([1.0, 1.0], [1.0, 0.0], [1.5, -0.5]), 0.1, ([1.0], [2.0]), "probabilities of kl_inf must be ≥ 0, with a sum"),
    (([1.0, 1.0], [1.0], [1.0]), 0.1, ([1.0], [2.0]), "points and edge of kl_inf must be as many rewards"),
    (([1.0], [1.0], [1.0]), 0.1, ([1.0], [2.0, 3.0]), "points and edge of kl_inf must be as many rewards"),
    (([1.0], [1.0], [1.0]), 0.0, ([1.0], [2.0]), "shortfall of kl_inf must be > 0; got 0"),
]


@pytest.mark.parametrize(("points", "shortfall", "edge", "sentence"), REFUSED)
def test_supports_that_are_refused(points, shortfall, edge, sentence):
    with pytest.raises(BadParameter) as refused:
        kl_inf(Points(*map(np.array, points)), shortfall, 1.5, Edge(*map(np.array, edge)))
    assert str(refused.value).startswith(sentence)


def test_the_logarithm_beyond_its_first_term():
    for x in (-0.5, -0.021, -0.019, 0.019, 0.021, 0.5):
        series = -math.fsum(x**n / n for n in range(2, 60))
        assert float(log_remainder(x)) == pytest.approx(series, rel=1e-13)
    assert float(log_remainder(1.0)) == -math.inf


def test_a_constant_has_one_outcome():
    assert [part.tolist() for part in outcomes(Constant(2.0, 0.5))] == [[2.0], [0.5], [1.0]]


@pytest.mark.parametrize("far", [1e5, 1.1e6, 1e9, 1e15, 1e20, 1e100, 1e200])
@pytest.mark.parametrize("chance", [0.01, 0.5, 0.99])
def test_outcomes_far_apart(far, chance):
    """Z is 1 or −w: a better law has Z = 1 with chance q = w/(1 + w), and D* is kl(p, q)."""
    points = Points(np.zeros(2), np.array([1.0, -far]), np.array([chance, 1 - chance]))
    wanted = chance * math.log(chance / (far / (1 + far))) + (1 - chance) * math.log((1 - chance) * (1 + far))
    found = kl_inf(points, far * (1 - chance) - chance, 0.0, Edge(*points[:2]))
    assert found == pytest.approx(wanted, rel=1e-10)


def test_outcomes_as_far_apart_as_rates_allow():
    """Costs of 1e100 against a rate of 1e100: kl(½, q) with 1 − q = 1e-200; a reward of 1e-300 is too little."""
    law = Discrete([0.0, 1e100], [1.0, 0.0], [0.5, 0.5])
    assert divergence(law, 1e100) == pytest.approx(100 * math.log(10) - math.log(2), rel=1e-12)
    with pytest.raises(NotCovered, match=r"^its outcomes are too far apart for floating-point numbers$"):
        divergence(Discrete([0.0, 1e100], [1e-300, 0.0], [0.5, 0.5]), 1e100)
