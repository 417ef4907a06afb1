"""Small budgets: the ends that `expected_pulls` is certain of, against formulas, sums and simulation."""

import math

import numpy as np
import pytest

from outlay.arms import AnyLaw, Beta, Exponential, Gamma, Gaussian, Lognormal, Pareto, StudentT, Uniform
from outlay.theory.optimum.renewal import distribution, enclosed_pulls
from outlay.theory.optimum.static import expected_pulls

LAWS = [
    Uniform(0.0, 2.0, 0.0, 1.0),
    Uniform(0.3, 1.0, 0.0, 1.0),
    Beta(0.4, 0.5, 0.2, 0.2),
    Gamma(1.0, 1.0, 2.0, 1.0),
    Gamma(1.0, 1.0, 0.5, 1.0),
    Lognormal(1.0, 1.0, 1.5, 1.0),
    Pareto(1.0, 1.0, 2.5),
    Pareto(1.0, 1.0, 1.5),
]


def erlang(budget: float) -> float:
    """E[N(B)] for gamma costs of shape 2 and mean 1: ¾ + B + ¼e^(−4B)."""
    return 0.75 + budget + 0.25 * math.exp(-4.0 * budget)


@pytest.mark.parametrize("budget", [1e-6, 0.01, 0.3, 1.0, 5.0, 40.0])
def test_exact_formulas_lie_between(budget):
    gammas = Gamma(1.0, 1.0, math.sqrt(0.5), 1.0)
    cases: list[tuple[AnyLaw, float]] = [(gammas, erlang(budget)), (Uniform(0.0, 2.0, 0.0, 1.0), math.exp(budget / 2))]
    for law, exact in cases:
        if isinstance(law, Uniform) and budget > 2:
            continue
        ends = enclosed_pulls(law, budget)
        assert ends is not None
        low, high = ends
        assert low <= exact <= high <= low * (1 + 1e-7 + 1e-3 * budget)
        found = expected_pulls(law, budget)
        assert found.low <= exact <= found.high
        assert abs(found.value - exact) < 1e-3 * (1.0 + exact)


def test_the_expansion_alone_would_be_far_off():
    """Gamma costs of mean 1 and sd 2 at B = 0.001: B/μ + E[X²]/(2μ²) = 2.501, and the truth is below 1.75."""
    found = expected_pulls(Gamma(1.0, 1.0, 2.0, 1.0), 1e-3)
    assert found.high - found.low < 1e-3
    assert found.high < 0.7 * (1e-3 + 2.5)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_distributions_are_those_of_the_draws(law):
    """The largest distance from 4000 draws: above 1.95/√4000 once in a thousand; 8 laws, fixed seed."""
    rng = np.random.default_rng(0)
    drawn = np.sort([law.draw(rng)[0] for _ in range(4000)])
    exact = distribution(law, drawn)
    assert exact is not None
    ranks = np.arange(4001) / 4000
    assert max((ranks[1:] - exact).max(), (exact - ranks[:-1]).max()) < 1.95 / math.sqrt(4000)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_simulated_pulls_lie_between(law):
    """Within 4 standard errors of 3000 runs; false alarms below 1e-3 for all of them together."""
    rng, budget = np.random.default_rng(1), 1.3
    counts = []
    for _ in range(3000):
        spent, pulls = 0.0, 0
        while spent <= budget:
            spent, pulls = spent + law.draw(rng)[0], pulls + 1
        counts.append(pulls)
    error = 4 * np.std(counts) / math.sqrt(3000)
    found = expected_pulls(law, budget)
    assert found.high - found.low < 2e-3 * found.value
    assert found.low - error <= np.mean(counts) <= found.high + error


def test_gaussian_pulls_of_a_budget_near_zero():
    """E[N(0)] = exp Σ P(S_n ≤ 0)/n: of 4000 walks with mean 1 and sd 2, within 4 standard errors (6e-5)."""
    law = Gaussian(1.0, 1.0, 2.0, 1.0)
    walks = np.cumsum(np.random.default_rng(2).normal(1.0, 2.0, size=(4000, 400)), axis=1)
    assert (walks.max(axis=1) > 0).all()
    counts = 1 + (walks > 1e-9).argmax(axis=1)
    found = expected_pulls(law, 1e-9)
    assert abs(found.low - counts.mean()) < 4 * counts.std() / math.sqrt(4000)
    assert found.low > 1.5  # Wald alone says 1
    assert found.low <= found.value <= found.high


def test_where_there_is_none():
    assert distribution(Exponential(1.0, 1.0), np.ones(1)) is None
    assert enclosed_pulls(StudentT(1.0, 1.0, 0.5, 0.5), 1.0) is None
    assert enclosed_pulls(Uniform(-1.0, 2.0, 0.0, 1.0), 1.0) is None
    assert enclosed_pulls(Uniform(0.0, 2.0, 0.0, 1.0), 65.0) is None
    assert enclosed_pulls(Uniform(0.0, 1e-3, 0.0, 1.0), 0.03) is not None
