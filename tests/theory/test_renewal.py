"""Small budgets: the ends that `expected_pulls` is certain of, against formulas, sums and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from outlay.arms import AnyLaw, Beta, Exponential, Gamma, Gaussian, Lognormal, Pareto, StudentT, Uniform
from outlay.theory import optimum as renewal
from outlay.theory.optimum import distribution, enclosed_pulls, expected_pulls, gaussian_sums

LAWS: list[AnyLaw] = [  # of mean costs that are not 1, nor those of the rewards
    Uniform(0.0, 3.0, 0.0, 1.0),
    Uniform(0.3, 1.1, 0.0, 1.0),
    Beta(0.8, 0.5, 0.4, 0.2, cost_bound=2.0),
    Gamma(1.5, 1.0, 3.0, 1.0),
    Gamma(0.7, 1.0, 0.35, 1.0),
    Lognormal(1.5, 1.0, 2.2, 1.0),
    Lognormal(0.7, 1.0, 0.35, 1.0),
    Pareto(1.5, 1.0, 2.5),
    Pareto(0.7, 1.0, 1.5),
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
    """The largest distance from 4000 draws: above 1.95/√4000 once in a thousand; 9 laws, fixed seed."""
    rng = np.random.default_rng(0)
    drawn = np.sort([law.draw(rng)[0] for _ in range(4000)])
    exact = distribution(law, drawn)
    assert exact is not None
    ranks = np.arange(4001) / 4000
    assert max((ranks[1:] - exact).max(), (exact - ranks[:-1]).max()) < 1.95 / math.sqrt(4000)


@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (LAWS[1], stats.uniform(0.3, 0.8)),
        (LAWS[2], stats.beta(2.0, 3.0, scale=2.0)),
        (LAWS[3], stats.gamma(0.25, scale=6.0)),
        (Lognormal(math.exp(0.5), 1.0, math.sqrt(math.e * (math.e - 1)), 1.0), stats.lognorm(1.0)),
        (LAWS[7], stats.lomax(2.5, scale=1.5 * 1.5)),
    ],
)
def test_distributions_in_other_words(law, exact):
    """The shapes by hand: a Beta of mean ⅖ and variance 1/25 of its range has 2 and 3; beyond it all is reached."""
    levels = np.array([0.0, 0.01, 0.31, 0.5, 1.0, 1.09, 1.5, 1.99, 2.01, 2.1, 30.0])
    assert distribution(law, levels) == pytest.approx(exact.cdf(levels), rel=1e-12, abs=1e-15)


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
    assert distribution(Uniform(1.0, 1.0, 0.0, 1.0), np.ones(1)) is None  # a constant has no density
    assert distribution(Lognormal(1.0, 1.0, 0.0, 1.0), np.ones(1)) is None
    assert enclosed_pulls(Gamma(1.0, 1.0, 1e12, 1.0), 1.0) is None  # nearly all costs are 0 to all digits
    assert enclosed_pulls(Lognormal(1.0, 1.0, math.exp(200.0), 1.0), 1.0) is None
    assert enclosed_pulls(StudentT(1.0, 1.0, 0.5, 0.5), 1.0) is None
    assert enclosed_pulls(Uniform(-1.0, 2.0, 0.0, 1.0), 1.0) is None
    assert enclosed_pulls(Uniform(0.0, 2.0, 0.0, 1.0), 65.0) is None
    assert enclosed_pulls(Uniform(0.0, 1e-3, 0.0, 1.0), 0.03) is not None
    assert enclosed_pulls(Uniform(0.0, 1e-3, 0.0, 1.0), 0.033) is None  # 66 mean costs
    assert enclosed_pulls(Uniform(0.0, 10.0, 0.0, 1.0), 300.0) is not None


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_the_sums_on_a_coarse_grid(law, monkeypatch):
    """Eight steps up to B: m(j) = 1 + Σ P(X in step)·m(left), costs rounded up, then down."""
    monkeypatch.setattr(renewal, "_STEPS", 8)
    budget = 2.5
    reached = distribution(law, budget / 8 * np.arange(10.0))
    assert reached is not None
    ends = []
    for up in (1, 0):
        chances = [0.0] * up + np.diff(reached).tolist()
        pulls: list[float] = []
        for j in range(9):
            later = sum(chances[x] * pulls[j - x] for x in range(1, j + 1))
            pulls.append((1.0 + later) / (1.0 - chances[0]))
        ends.append(pulls[-1])
    wanted = ends[0] * (1 - 1e-9), ends[1] * (1 + 1e-9)
    assert enclosed_pulls(law, budget) == pytest.approx(wanted, rel=1e-13)


def test_ends_leave_room_for_rounding():
    """Costs above 0.3 and a budget of 0.1: one pull for certain, and a billionth on both sides."""
    assert enclosed_pulls(LAWS[1], 0.1) == pytest.approx((1 - 1e-9, 1 + 1e-9), rel=1e-12)
    assert enclosed_pulls(Uniform(0.0, 2.0, 0.0, 1.0), 64.0) is not None
    assert enclosed_pulls(Uniform(0.0, 0.5, 0.0, 1.0), 1e-300) is not None


@pytest.mark.parametrize(("mean", "sd"), [(1.0, 2.0), (0.5, 0.3), (3.0, 30.0)])
def test_spitzers_sums_term_by_term(mean, sd):
    """Σ E[S_n⁻]/n and exp Σ P(S_n ≤ 0)/n with the normal's own functions, over more terms than matter."""
    n = np.arange(1.0, math.ceil(200 * (sd / mean) ** 2) + 50)
    walk = stats.norm(n * mean, sd * np.sqrt(n))
    z = mean * np.sqrt(n) / sd
    refunds = float(((sd * np.sqrt(n) * stats.norm.pdf(z) - n * mean * stats.norm.cdf(-z)) / n).sum())
    wanted = refunds, math.exp(float((walk.cdf(0.0) / n).sum()))
    law = Gaussian(mean, 1.0, sd, 1.0)
    assert gaussian_sums(law, 10**6) == pytest.approx(wanted, rel=1e-9)
    terms = math.ceil(100 * (sd / mean) ** 2)
    assert gaussian_sums(law, terms) is not None
    assert gaussian_sums(law, terms - 1) is None
