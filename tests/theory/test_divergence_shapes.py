"""D* of laws with a shape and few parameters, against slow, independent searches of their models."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from tests.theory.divergence_laws import own_rate

from outlay.arms import (
    Exponential,
    Gamma,
    Gaussian,
    Linear,
    Lognormal,
    Pareto,
    StudentT,
)
from outlay.theory import divergence


@pytest.mark.parametrize("law", [Gaussian(1.0, 0.5, 0.6, 0.4, 0.3), Gaussian(1.0, 0.5, 1.0, 1.0, 0.9)])
def test_unknown_covariance(law):
    """A search over means and Cholesky factors; the second law ends in the corner of the cone."""
    cov = law.correlation * law.cost_sd * law.reward_sd
    sigma = np.array([[law.cost_sd**2, cov], [cov, law.reward_sd**2]])
    mean = np.array([law.cost, law.reward])

    def kl(v):
        root = np.array([[math.exp(v[2]), 0], [v[3], math.exp(v[4])]])
        whitened = np.linalg.solve(root, np.column_stack([np.linalg.cholesky(sigma), v[:2] - mean]))
        return 0.5 * (np.sum(whitened**2) - 2) + v[2] + v[4] - 0.5 * math.log(np.linalg.det(sigma))

    cone = optimize.LinearConstraint([[1, 0, 0, 0, 0], [-2, 1, 0, 0, 0]], 0, np.inf)
    root = np.linalg.cholesky(sigma)
    start = [0.5, 1.1, math.log(root[0, 0]), root[1, 0], math.log(root[1, 1])]
    found = optimize.minimize(kl, start, constraints=[cone], method="SLSQP", options={"ftol": 1e-14, "maxiter": 500})
    assert divergence(law, 2.0, "unknown covariance") == pytest.approx(found.fun, rel=1e-6)
    assert divergence(Gaussian(1.0, 1.0, 0.5, 1.0, 1.0), 2.0, "unknown covariance") == math.inf


def scales(kl_cost: Any, kl_reward: Any, law: Any, rate: float) -> Any:
    """The cheapest pair of logarithmic scales whose rate is `rate`, by a search in two dimensions."""
    rise = math.log(rate / own_rate(law))
    line = optimize.LinearConstraint([[-1, 1]], rise, np.inf)

    def both(u: Any) -> float:
        return float(kl_cost(u[0]) + kl_reward(u[1]))

    start = np.array([-rise / 2, rise / 2])
    return optimize.minimize(both, start, constraints=[line], method="SLSQP", options={"ftol": 1e-14}).fun


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (4.0, 0.5), (0.3, 9.0)])
@pytest.mark.parametrize("rate", [0.6, 2.0, 30.0])
def test_gammas(a, b, rate):
    law = Gamma(2.0, 1.0, 2.0 / math.sqrt(a), 1.0 / math.sqrt(b))
    expected = scales(lambda u: a * (u + math.exp(-u) - 1), lambda u: b * (u + math.exp(-u) - 1), law, rate)
    assert divergence(law, rate) == pytest.approx(expected, rel=1e-6)
    if a == b == 1:
        assert divergence(Exponential(2.0, 1.0), rate) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("a", "b"), [(2.5, 3.5), (1.2, 8.0)])
@pytest.mark.parametrize("rate", [0.6, 2.0, 30.0])
def test_paretos(a, b, rate):
    def kl(tail: float, u: float) -> float:
        def integrand(p):
            x = p ** (-1 / tail) - 1
            return u + (tail + 1) * (math.log1p(x * math.exp(-u)) - math.log1p(x))

        return integrate.quad(integrand, 0, 1, limit=200)[0]

    law = Pareto(2.0, 1.0, a, b)
    expected = scales(lambda u: kl(a, u), lambda u: kl(b, u), law, rate)
    assert divergence(law, rate) == pytest.approx(expected, rel=1e-6)


def test_lognormals():
    law = Lognormal(1.0, 0.5, 0.8, 0.3, 0.4)
    logs = law.cost_sigma, law.reward_sigma, law.log_correlation
    # in the logarithms the rate is a shift of the line reward = cost, here far from the corner at 0
    rise = math.log(2.0 / 0.5)
    assert divergence(law, 2.0) == pytest.approx(divergence(Gaussian(9.0, 9.0 - rise, *logs), 1.0), rel=1e-12)
    assert divergence(Lognormal(1.0, 0.5, 0.0, 0.0), 2.0) == math.inf


@pytest.mark.parametrize("rate", [0.7, 2.0])
def test_students_in_the_plane(rate):
    law = StudentT(1.0, 0.5, 0.5, 0.4, 3.0, 0.4)
    gaussian = Gaussian(1.0, 0.5, 0.5, 0.4, 0.4)
    shift = math.sqrt(2 * divergence(gaussian, rate) * 3.0)  # in units of the scale matrix

    def integrand(y, x):
        w = x * x + y * y
        return (
            (1 + w / 3) ** -2.5 / (2 * math.pi) * 2.5 * (math.log1p(((x - shift) ** 2 + y * y) / 3) - math.log1p(w / 3))
        )

    expected, _ = integrate.dblquad(integrand, -np.inf, np.inf, -np.inf, np.inf, epsabs=1e-8, epsrel=1e-7)
    assert divergence(law, rate) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("shift", [0.1, 1.0, 20.0])
def test_students_on_a_line(shift):
    nu = 3.0
    law = StudentT(1.0, 1.0, 0.0, math.sqrt(nu / (nu - 2)), nu)
    t = stats.t(nu)
    expected, _ = integrate.quad(
        lambda x: t.pdf(x) * (t.logpdf(x) - t.logpdf(x - shift)), -np.inf, np.inf, epsabs=1e-11
    )
    assert divergence(law, 1.0 + shift) == pytest.approx(expected, rel=1e-6)
    assert divergence(StudentT(1.0, 1.0, 0.0, 0.0), 2.0) == math.inf


def test_a_line_over_a_gaussian_cost_is_gaussian():
    line, same = (
        Linear(Gaussian(1.0, 0.0, 0.5, 0.0), 0.4, 0.1, 0.3),
        Gaussian(1.0, 0.5, 0.5, math.hypot(0.2, 0.3), 0.2 / math.hypot(0.2, 0.3)),
    )
    for model in ("known covariance", "unknown covariance"):
        assert divergence(line, 2.0, model) == pytest.approx(divergence(same, 2.0, model), rel=1e-12)
    # knowing the cost's law is knowing more
    assert divergence(line, 2.0, "known cost") > divergence(line, 2.0)
    assert divergence(Linear(Pareto(1.0, 1.0), 0.5), 2.0) == math.inf
