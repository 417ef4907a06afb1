"""D* of laws whose means or scales alone move, and of exponential families, against slow searches of their models."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from tests.theory.divergence_laws import shortfall

from outlay.arms import (
    Exponential,
    Gamma,
    Gaussian,
    Linear,
    Lognormal,
    Pareto,
    StudentT,
)
from outlay.theory import divergence, exponential_family


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


PRICES = [(0.0, 0.7), (0.3, 0.6), (0.8, 0.2), (2.0, 0.05), (0.1, 3.0)]


def cases(law: Any) -> list[tuple[float, float]]:
    return [at for at in PRICES if shortfall(law, *at) > 0]


def test_gaussians():
    law = Gaussian(1.2, 0.6, 0.5, 0.4, 0.3)
    for price, worth in cases(law):
        variance = 0.4**2 - 2 * price * 0.3 * 0.5 * 0.4 + price**2 * 0.5**2
        half = shortfall(law, price, worth) ** 2 / (2 * variance)
        assert divergence(law, price, worth=worth) == pytest.approx(half, rel=1e-12)
        unknown = divergence(law, price, "unknown covariance", worth=worth)
        assert unknown == pytest.approx(0.5 * math.log1p(2 * half), rel=1e-12)
    # the corner of the paper's cone is no corner here, nor is a line of means that misses it
    assert divergence(Gaussian(1.0, 0.5, 1.0, 1.0, 0.9), 2.0, worth=1e-15) == pytest.approx(0.804, abs=5e-4)
    assert divergence(Gaussian(1.0, 0.5, 1.0, 1.0, 1.0), 2.0, worth=0.5) == pytest.approx(2.0**2 / 2)
    assert divergence(Gaussian(1.0, 1.0, 0.5, 1.0, 1.0), 2.0, worth=0.5) == math.inf


def by_scales(kl_cost: Any, kl_reward: Any, law: Any, price: float, worth: float) -> Any:
    """The cheapest pair of logarithmic scales with R·e^w ≥ λX·e^u + ν, by a search in two dimensions."""

    def both(u: Any) -> float:
        return float(kl_cost(u[0]) + kl_reward(u[1]))

    def better(u: Any) -> Any:
        return u[1] - math.log((price * law.cost * math.exp(u[0]) + worth) / law.reward)

    start = np.array([-0.1, better([-0.1, 0.0]) * -1.0 + 0.1])
    line = {"type": "ineq", "fun": better}
    found = optimize.minimize(both, start, constraints=[line], method="SLSQP", options={"ftol": 1e-15, "maxiter": 500})  # type: ignore[call-overload]
    return found.fun


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (4.0, 0.5), (0.3, 9.0)])
@pytest.mark.parametrize(("price", "worth"), [(0.2, 0.9), (0.6, 0.3), (2.0, 1.5), (0.01, 4.0), (0.5, 0.02)])
def test_gammas(a, b, price, worth):
    law = Gamma(2.0, 1.0, 2.0 / math.sqrt(a), 1.0 / math.sqrt(b))
    expected = by_scales(lambda u: a * (u + math.exp(-u) - 1), lambda u: b * (u + math.exp(-u) - 1), law, price, worth)
    assert divergence(law, price, worth=worth) == pytest.approx(expected, rel=1e-6)
    if a == b == 1:
        assert divergence(Exponential(2.0, 1.0), price, worth=worth) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.85])
@pytest.mark.parametrize(("price", "worth"), [(0.2, 0.9), (0.6, 0.3), (2.0, 1.5), (0.01, 4.0), (0.5, 0.02)])
def test_lognormals(correlation, price, worth):
    law = Lognormal(2.0, 1.0, 1.6, 0.9, correlation)
    s, t, c = law.cost_sigma, law.reward_sigma, law.log_correlation
    precision = np.linalg.inv([[s * s, c * s * t], [c * s * t, t * t]])

    def better(u: Any) -> float:
        return float(u[1] - math.log((price * 2.0 * math.exp(u[0]) + worth) / 1.0))

    line = {"type": "ineq", "fun": better}
    found = optimize.minimize(lambda u: u @ precision @ u / 2, [0.0, 2.0], constraints=[line], options={"ftol": 1e-15})  # type: ignore[call-overload]
    assert divergence(law, price, worth=worth) == pytest.approx(found.fun, rel=1e-6)


def test_family_of_all_gaussians():
    """Five statistics: cost, reward, their squares and product; the domain is a cone of positive definite matrices."""
    law = Gaussian(1.0, 0.5, 0.6, 0.4, 0.3)
    sigma = np.array([[0.36, 0.072], [0.072, 0.16]])

    def read(e: Any) -> Any:
        precision = -np.array([[2 * e[2], e[4]], [e[4], 2 * e[3]]])
        return precision, np.linalg.solve(precision, e[:2])

    def log_partition(e):
        precision, mean = read(e)
        determinant = np.linalg.det(precision)
        return 0.5 * (mean @ precision @ mean - math.log(determinant)) if determinant > 0 and e[2] < 0 else math.inf

    def means(e):
        precision, mean = read(e)
        second = np.linalg.inv(precision) + np.outer(mean, mean)
        return np.array([*mean, second[0, 0], second[1, 1], second[0, 1]])

    precision = np.linalg.inv(sigma)
    eta = [*precision @ [1.0, 0.5], -precision[0, 0] / 2, -precision[1, 1] / 2, -precision[0, 1]]
    found = exponential_family(eta, log_partition, means, 1.2)
    assert found == pytest.approx(divergence(law, 1.2, "unknown covariance"), rel=1e-6)
