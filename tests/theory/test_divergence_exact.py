"""D* to nearly the last digit: gaps too small for differences of logarithms, shapes and rates too large for sums."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import integrate

from outlay.arms import Bernoulli, Discrete, Exponential, Gamma, Gaussian, Lognormal, Pareto, StudentT
from outlay.theory.divergence_bounded import independent, log_remainder, on_its_outcomes
from outlay.theory.divergence_gamma import downton_kl, summed_downton_kl
from outlay.theory.divergence_gaussian import (
    exponentials,
    known_covariance,
    known_log_covariance,
    known_shapes,
    known_spread,
    known_tails,
    pareto_kl,
)

GAPS = [2.0**-12, 2.0**-20, 2.0**-30]  # of the rate 0.5: what is short of it has no rounding error


@pytest.mark.parametrize("gap", GAPS)
def test_small_gaps_of_scales(gap):
    """x = ln(r/r_k): D = 2 ln cosh(x/2) for exponentials, a multiple of it for gammas; ln² over 4 variances."""
    x = math.log1p(2 * gap)
    cosh = math.log1p(2 * math.sinh(x / 4) ** 2)  # ln cosh(x/2), whatever x
    assert exponentials(Exponential(1.0, 0.5), 0.5 + gap) == pytest.approx(2 * cosh, rel=1e-10, abs=0.0)
    gammas = Gamma(1.0, 0.5, 0.5, 0.25)  # both of shape 4
    assert known_shapes(gammas, 0.5 + gap) == pytest.approx(8 * cosh, rel=1e-10, abs=0.0)
    logs = Lognormal(1.0, 0.5, 1.0, 0.5)  # both logarithms have variance ln 2
    assert known_log_covariance(logs, 0.5 + gap) == pytest.approx(x * x / (4 * math.log(2)), rel=1e-10, abs=0.0)
    # Paretos of tail 2: the information about a log-scale is a/(a + 2) = ½ each, and D = x²/2/(2 + 2) to first order
    tails = known_tails(Pareto(1.0, 0.5, 2.0, 2.0), 0.5 + gap)
    assert tails == pytest.approx(x * x / 8, rel=2 * gap, abs=0.0)


@pytest.mark.parametrize("gap", GAPS)
def test_small_gaps_of_coins(gap):
    """kl(¼, ¼ + δ) with fifty digits: a coin that always costs 1."""
    with localcontext() as context:
        context.prec = 50
        p, q = Decimal("0.25"), Decimal("0.25") + Decimal(gap)
        exact = float(p * (p / q).ln() + (1 - p) * ((1 - p) / (1 - q)).ln())
    assert on_its_outcomes(Bernoulli(1.0, 0.25), 0.25 + gap) == pytest.approx(exact, rel=1e-12, abs=0.0)
    assert independent(Bernoulli(1.0, 0.25), 0.25 + gap) <= exact * (1 + 1e-12)
    # two coins, of chances ½ and ¼: the shortfall squared over twice Var(R − rX), to first order
    first = (0.5 * gap) ** 2 / (2 * (3 / 16 + 0.25 * 0.25))
    assert independent(Bernoulli(0.5, 0.25), 0.5 + gap) == pytest.approx(first, rel=4 * gap, abs=0.0)


@pytest.mark.parametrize("shape", [1e-10, 1e-4, 1e4, 1e6, 1e8])
def test_shapes_far_apart(shape):
    """(a + b) ln((a + bs)/(a + b)) − b ln s with b = 1, where nearly all is left to the cost, or to the reward."""
    for s in (0.5, 1e-20):
        law = Gamma(1.0, 1.0, 1.0 / math.sqrt(shape), 1.0)
        fall = math.log1p((s - 1) / (shape + 1)) if shape > 1 else math.log((shape + s) / (shape + 1))
        exact = (shape + 1) * fall - math.log(s)
        assert known_shapes(law, 1.0 / s) == pytest.approx(exact, rel=1e-9)


def test_what_is_due_without_a_price():
    """At r = 0 the cost has no say: the reward alone rises to ν, ln(ν/R) + R/ν − 1."""
    for worth in (0.75, 3.0):
        exact = math.log(worth / 0.5) + 0.5 / worth - 1
        assert exponentials(Exponential(1.0, 0.5), 0.0, worth) == pytest.approx(exact, rel=1e-12)
        assert exponentials(Exponential(9.0, 0.5), 0.0, worth) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("tail", [1.5, 4.0])
@pytest.mark.parametrize("log_scale", [-8.0, -5.1, -4.9, 0.5, 4.9, 5.1, 8.0, 30.0])
def test_paretos_by_integration(tail, log_scale):
    """KL = u + (a + 1)·E[ln(1 + Xe⁻ᵘ) − ln(1 + X)] over X = eᵗ − 1, P(X > x) = (1 + x)^(−a)."""

    def term(t: float) -> float:
        left = np.logaddexp(0.0, math.log(math.expm1(t)) - log_scale)
        return float(tail * math.exp(-tail * t) * (left - t))

    mean = sum(integrate.quad(term, a, b, epsrel=1e-11)[0] for a, b in ((0, 0.01), (0.01, 1), (1, 9), (9, 60)))
    assert pareto_kl(tail, log_scale) == pytest.approx(log_scale + (tail + 1) * mean, rel=1e-8)


def test_the_logarithm_where_its_series_overflows():
    assert float(log_remainder(-1e50)) == pytest.approx(-1e50)
    assert float(log_remainder(-1e300)) == pytest.approx(-1e300)


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.6, 0.95])
def test_gaussians_are_as_far_as_the_cone(correlation):
    """½ min (m − s·v)ᵀΣ⁻¹(m − s·v) over s ≥ 0, v = (1, r): the edge of the cone that better means begin at."""
    for cost, reward, cost_sd, reward_sd, rate in (
        (0.1, -2.0, 0.5, 2.0, 1.0),
        (0.1, -2.0, 2.0, 0.5, 1.0),
        (0.3, -0.2, 0.3, 1.5, 2.0),
        (0.3, -0.2, 1.5, 0.3, 0.1),
        (1.0, 0.5, 0.5, 3.0, 0.8),
        (1.0, 0.5, 3.0, 0.5, 0.8),
        (0.5, -0.1, 0.7, 0.2, 0.3),
        (0.5, -0.4, 0.6, 0.4, 0.7),
    ):
        sigma = np.array([[cost_sd**2, 0.0], [0.0, reward_sd**2]])
        sigma[0, 1] = sigma[1, 0] = correlation * cost_sd * reward_sd
        precision, mean, edge = np.linalg.inv(sigma), np.array([cost, reward]), np.array([1.0, rate])
        apart = mean - max(0.0, float(edge @ precision @ mean / (edge @ precision @ edge))) * edge
        wanted = float(apart @ precision @ apart) / 2
        found = known_covariance(Gaussian(cost, reward, cost_sd, reward_sd, correlation), rate)
        assert found == pytest.approx(wanted, rel=1e-9)


def test_lines_through_the_origin_that_rounding_moves():
    """Rewards of −c for costs of c, in any unit: no mean cost > 0 on the line has a rate above −1."""
    for cost in np.linspace(0.1, 2.0, 39).tolist():
        for sd in (0.1, 0.3, 0.7):
            assert known_covariance(Gaussian(cost, -3.0 * cost, sd, 3.0 * sd, -1.0), 0.5) == math.inf


@pytest.mark.parametrize(("cost_sd", "reward_sd", "correlation", "dimensions"), [
    (0.5, 0.5, 0.0, 2), (1.0, 1.0, 0.0, 2), (1.0, 1.0, 0.5, 2), (0.5, 1.0, 0.3, 2),
    (0.0, 1.0, 0.0, 1), (0.5, 0.0, 0.0, 1), (1.0, 0.2, 1.0, 1), (1.0, 0.2, -1.0, 1),
])  # fmt: skip
def test_students_are_a_little_nearer_than_gaussians(cost_sd, reward_sd, correlation, dimensions):
    """For small gaps (ν + d)/(ν + d + 2)·ν/(ν − 2) times the Gaussian's D*, d being 1 where means are on a line."""
    nu, rate = 5.0, 0.5 + 1e-6
    wanted = (nu + dimensions) / (nu + dimensions + 2) * nu / (nu - 2)
    gaussian = known_covariance(Gaussian(1.0, 0.5, cost_sd, reward_sd, correlation), rate)
    found = known_spread(StudentT(1.0, 0.5, cost_sd, reward_sd, nu, correlation), rate)
    assert found / gaussian == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_tables_and_sums_of_correlated_exponentials_agree(correlation):
    for u, w in ((-0.7, 0.9), (0.4, 1.2), (1.4, 1.5), (-1.0, 0.2)):
        assert downton_kl(correlation, u, w) == pytest.approx(summed_downton_kl(correlation, u, w), rel=1e-5)


def test_coins_that_never_pay():
    """kl(p, t) − ln(1 − rt), the least over t: a reward of chance 0 must come with chance rt, which is 1 at t = ½."""
    for rate in (0.5, 2.0, 10.0):
        least = min(
            0.9 * math.log(0.9 / t) + 0.1 * math.log(0.1 / (1 - t)) - math.log1p(-rate * t)
            for t in np.linspace(0, min(1.0, 1 / rate), 20_001)[1:-1].tolist()
        )
        assert independent(Bernoulli(0.9, 0.0), rate) == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("rate", [3e6, 1e9, 1e15, 1e40, 1e100])
@pytest.mark.parametrize("worth", [0.0, 0.25, 0.75])
@pytest.mark.parametrize("p", [0.01, 0.5, 1.0])
def test_coins_that_must_hardly_cost(rate, worth, p):
    """The cost has chance t = (s − ν)/r: p ln(p/t) + (1−p) ln(1−p) + kl(q, s), the least over s."""
    for q in (0.0, 0.3, 1.0):
        grid = np.linspace(max(q, worth), 1.0, 100_001)[1:-1] if q < 1 else np.array([1.0])
        cost = p * (math.log(p * rate) - np.log(grid - worth))
        cost += (1 - p) * (math.log1p(-p) - np.log1p((worth - grid) / rate)) if p < 1 else 0.0
        tails = (1 - q) * (math.log1p(-q) - np.log1p(-grid)) if q < 1 else 0.0
        heads = q * (math.log(q) - np.log(grid)) if q > 0 else 0.0
        found = independent(Bernoulli(p, q), rate, worth)
        assert found == pytest.approx(float((cost + heads + tails).min()), rel=2e-6)


def test_rounded_probabilities_of_outcomes_are_made_to_add_up():
    thirds = [Discrete([1.0, 1.0, 1.0], [0.0, 0.5, 1.0], [p] * 3) for p in (1 / 3, 0.333333333)]
    exact, rounded = (on_its_outcomes(law, 0.75) for law in thirds)
    assert rounded == pytest.approx(exact, rel=1e-13)
