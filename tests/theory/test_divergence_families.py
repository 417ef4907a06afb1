"""D* by a search of the natural parameters, against the formulas of the families that have one."""

import math
from typing import Any

import numpy as np
import pytest

from outlay.arms import (
    Bernoulli,
    Exponential,
    Gaussian,
)
from outlay.errors import NotCovered
from outlay.theory import divergence, exponential_family


@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_family_of_gaussians(correlation):
    law = Gaussian(1.0, 0.5, 1.0, 1.0, correlation)
    sigma = np.array([[1.0, correlation], [correlation, 1.0]])
    eta = np.linalg.solve(sigma, [1.0, 0.5])
    found = exponential_family(eta, lambda e: 0.5 * e @ sigma @ e, lambda e: sigma @ e, 2.0)
    assert found == pytest.approx(divergence(law, 2.0), rel=1e-6)


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


def test_family_of_coins():
    p, q, rate = 0.5, 0.4, 1.5
    eta = np.log([p / (1 - p), q / (1 - q)])
    found = exponential_family(eta, lambda e: np.logaddexp(0, e).sum(), lambda e: 1 / (1 + np.exp(-e)), rate)
    assert found == pytest.approx(divergence(Bernoulli(p, q), rate, "independent"), rel=1e-7)


def test_family_of_tables():
    law, rate = Bernoulli(0.5, 0.4, 0.3), 1.5
    cells = np.array([0.1 + law.both, 0.4 - law.both, 0.5 - law.both, law.both])
    statistics = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1.0]])  # cost, reward, both
    eta = np.linalg.solve(statistics.T[1:], np.log(cells[1:] / cells[0]))

    def means(e):
        weights = np.exp(e @ statistics)
        return statistics @ weights / weights.sum()

    found = exponential_family(eta, lambda e: math.log(np.exp(e @ statistics).sum()), means, rate)
    assert found == pytest.approx(divergence(law, rate), rel=1e-6)


@pytest.mark.parametrize("rate", [0.6, 2.0, 30.0])
def test_family_of_exponentials(rate):
    def log_partition(e):
        return -np.log(-e).sum() if (e < 0).all() else math.inf

    found = exponential_family([-1.0, -2.0], log_partition, lambda e: -1 / e, rate)
    assert found == pytest.approx(divergence(Exponential(1.0, 0.5), rate), rel=1e-6)


def test_family_of_losing_gaussians():
    """A mean reward below 0: the nearest better mean is the corner of the cone all the same."""
    law, sigma = Gaussian(1.0, -0.5, 1.0, 1.0, 0.9), np.array([[1.0, 0.9], [0.9, 1.0]])
    eta = np.linalg.solve(sigma, [1.0, -0.5])
    found = exponential_family(eta, lambda e: 0.5 * e @ sigma @ e, lambda e: sigma @ e, 2.0)
    assert found == pytest.approx(2.15 / 0.38, rel=1e-6)
    free = exponential_family(
        np.linalg.solve(sigma, [0.0, -0.5]), lambda e: 0.5 * e @ sigma @ e, lambda e: sigma @ e, 2.0
    )
    assert free == pytest.approx(0.5**2 / (2 * 1.4), rel=1e-6)  # a mean cost of 0 may fall
    assert found == pytest.approx(divergence(law, 2.0), rel=1e-6)


def test_families_without_a_better_law():
    """Two coins: no mean reward is ½ of a mean cost and 2 more."""

    def means(e):
        return np.exp(-np.logaddexp(0.0, -e))

    with pytest.raises(NotCovered, match=r"^the search for the nearest better law of its exponential family found no"):
        exponential_family([0.0, 0.0], lambda e: float(np.logaddexp(0.0, e).sum()), means, rate=0.5, worth=2.0)
