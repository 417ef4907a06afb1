"""One arm alone and the best of all policies: enumeration, simulation, renewal theory, and bounds that always hold."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, gamma, norm, uniform

import outlay
from outlay import policies
from outlay.arms import (
    AnyLaw,
    Bernoulli,
    Beta,
    Constant,
    Discrete,
    Empirical,
    Exponential,
    Gamma,
    Gaussian,
    Linear,
    Lognormal,
    Pareto,
    Problem,
    StudentT,
    Uniform,
    catalogue,
    support_of,
)
from outlay.checks import Vector
from outlay.theory import expected_pulls, expected_reward, gap_constant, optimal_policy, optimality
from outlay.theory.optimum import (
    enclosed_pulls,
    find_lattice,
    lattice_pulls,
    longest_rest,
    overshoot_bound,
)

LAWS = [
    Discrete([1.0, 2.0, 5.0], [1.0, 0.0, 2.0], [0.5, 0.3, 0.2]),
    Discrete([0.0, 0.25, 0.75], [1.0, 0.0, 2.0], [0.2, 0.5, 0.3]),
    Discrete([-1.0, 2.0, 0.5], [0.1, 0.1, -3.0], [0.4, 0.4, 0.2]),
    Bernoulli(0.3, 0.5),
    Empirical([1.0, 1.5, 1.0, -0.5], [1.0, 2.0, 3.0, 4.0]),
    Exponential(2.0, 1.0),
    Gamma(2.0, 1.0, 1.0, 1.0),
    Gaussian(0.5, 1.0, 1.0, 0.5),
    Lognormal(1.0, 1.0, 1.0, 0.8),
    Linear(Bernoulli(0.5, 0.5), slope=1.0, noise=-1.0, noise_sd=0.5),
    StudentT(0.5, 0.4, 1.0, 0.5, 4.0),
]


def check(law: AnyLaw, budget: float, pulls: Vector, reward: Vector) -> None:
    """Sample means within 4 standard errors of the value, and of the interval between low and high."""
    for sample, wanted in ((pulls, expected_pulls(law, budget)), (reward, expected_reward(law, budget))):
        stderr = 4 * sample.std() / math.sqrt(len(sample))
        assert wanted.low - stderr <= sample.mean() <= wanted.high + stderr
        if wanted.method != "bounds":
            assert sample.mean() == pytest.approx(wanted.value, abs=stderr)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_agrees_with_drawn_pulls(law):
    """22 comparisons at 4 standard errors: a false alarm once in 700 seeds, and the seed is fixed."""
    rng, budget, runs = np.random.default_rng(3), 15.25, 1000
    totals = np.zeros((runs, 2))
    for total in totals:
        left = budget
        while left >= 0:
            cost, reward = law.draw(rng)
            left -= cost
            total += 1, reward
    check(law, budget, totals[:, 0], totals[:, 1])


@pytest.mark.parametrize("law", [LAWS[2], LAWS[7]], ids=lambda law: type(law).__name__)
def test_agrees_with_the_simulator(law):
    result = outlay.simulate(Problem([law]), policies.Fixed(0), budgets=[100.25], runs=4000, seed=7, progress=False)
    check(law, 100.25, result.pulls[0, :, 0, 0].astype(float), result.reward[0, :, 0])


def enumerated(costs: list[Fraction], chances: list[Fraction], left: Fraction) -> Fraction:
    """E[N] over every sequence of positive costs."""
    if left < 0:
        return Fraction(0)
    return 1 + sum((p * enumerated(costs, chances, left - x) for x, p in zip(costs, chances, strict=True)), Fraction(0))


@pytest.mark.parametrize("budget", ["0.05", "0.3", "0.7", "1.15"])
def test_recursion_is_enumeration(budget):
    law = Discrete([0.1, 0.25, 0.4], [1.0, 1.0, 1.0], [0.5, 0.25, 0.25])
    wanted = enumerated(
        [Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)], [Fraction(1, 2), *[Fraction(1, 4)] * 2], Fraction(budget)
    )
    found = expected_pulls(law, float(budget))
    assert found.method == "exact"
    assert found.value == found.low == found.high == pytest.approx(float(wanted), rel=1e-13)


def test_negative_costs_are_within_their_error():
    """A random walk that steps −1 or +1: it cannot overshoot by more than one, so E[N] = (B + 1)/μ exactly."""
    found = expected_pulls(Discrete([-1.0, 1.0], [1.0, 1.0], [0.4, 0.6]), 25.0)
    assert found.value == pytest.approx(26 / 0.2, rel=1e-12)
    law = Discrete([-2.0, 1.0, 3.0], [1.0] * 3, [0.4, 0.3, 0.3])
    lattice = find_lattice([law], 20.0)
    assert lattice is not None
    truth, exact_error = lattice_pulls(lattice, 0, above=400)
    assert exact_error < 1e-12
    for above in (0, 1, 5, 20, 60):
        pulls, error = lattice_pulls(lattice, 0, above)
        assert 0 < np.abs(pulls - truth).max() <= error


def test_long_lattices_are_expanded_with_their_step():
    """The arithmetic form of the expansion, checked where the recursion can still be run."""
    law = Discrete([1.0, 2.0, 5.0], [1.0] * 3, [0.5, 0.3, 0.2])
    exact, mean, square = expected_pulls(law, 900_000.5), 2.1, 6.7
    assert exact.method == "exact"
    assert exact.value == pytest.approx(900_000.5 / mean + square / (2 * mean**2), rel=1e-12)
    far = expected_pulls(law, 9_000_000.0)
    assert far.method == "expansion"
    assert far.value == pytest.approx(9_000_000.5 / mean + square / (2 * mean**2), rel=1e-12)
    assert far.low < far.value < far.high


@settings(max_examples=100)
@given(
    costs=st.lists(st.integers(-3, 9), min_size=2, max_size=4, unique=True),
    weights=st.lists(st.integers(1, 9), min_size=4, max_size=4),
    budget=st.integers(1, 60),
)
def test_wald_and_lorden_enclose_the_exact_number(costs, weights, budget):
    p = np.array(weights[: len(costs)]) / sum(weights[: len(costs)])
    if p @ costs <= 0.1:
        return
    law, mean = Discrete(costs, costs, p), float(p @ costs)
    found = expected_pulls(law, budget)
    assert found.method == "exact"
    assert budget / mean <= found.value <= (budget + overshoot_bound(law)) / mean * (1 + 1e-12)
    lorden = (budget + float(p @ np.maximum(costs, 0) ** 2) / mean) / mean
    assert found.value <= lorden * (1 + 1e-12)


def test_costs_without_a_variance_leave_walds_bound():
    wild = Pareto(2.0, 1.0, cost_tail=1.5)
    assert expected_pulls(wild, 1000.0) == (500.0, 500.0, math.inf, "bounds")
    assert expected_reward(Linear(wild, slope=-0.5), 1000.0) == (-500.0, -math.inf, -500.0, "bounds")
    assert expected_reward(Linear(wild, slope=0.0), 1000.0) == (0.0, 0.0, 0.0, "bounds")
    drifting = expected_pulls(Gaussian(1e-200, 1.0, 1.0, 1.0), 10.0)
    half = math.sqrt(2 / math.pi)  # the mean of a standard normal that is above 0
    assert [drifting.low, drifting.high] == pytest.approx([1e201, (10 + half) * 1e200])
    assert drifting.method == "bounds"


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


NEVER_NEGATIVE = "second moments of costs that are never negative"
LORDEN = "Lorden's inequality: all costs have one law"
BEYOND = "what a cost adds beyond any level, on average"


def settled(total: float, largest: float) -> float:
    """D = (s + κ + √(κ² + 2sκ))/2."""
    return (total + largest + math.sqrt(largest**2 + 2 * total * largest)) / 2


def test_which_constant_is_the_least():
    few = Discrete([1.0, 50.0], [1.0, 1.0], [1.0 - 1e-6, 1e-6])
    alone = gap_constant(Problem([few]))
    assert alone.reason == LORDEN
    assert alone.value == pytest.approx(1.0 + 2450e-6, rel=1e-4)
    assert gap_constant(Problem([few, Constant(2.0, 1.0)]))[1] == NEVER_NEGATIVE
    assert gap_constant(Problem([Constant(2.0, 1.0), Constant(1.0, 3.0)])) == (2.0, "no cost exceeds it")
    refunds = Problem(
        [Discrete([-1.0, 3.0], [1.0, 3.0], [0.5, 0.5]), Discrete([-2.0, 2.0, 7.0], [1.0] * 3, [0.5, 0.3, 0.2])]
    )
    assert gap_constant(refunds) == (5.0, BEYOND)  # 7 beyond 2
    assert gap_constant(catalogue.load("G"))[1] == BEYOND
    assert gap_constant(Problem([Pareto(1.0, 1.0, 1.5), Constant(1.0, 1.0)], ["wild", "tame"])) == (
        None,
        "not explicit: the cost of arm 'wild' is unbounded with infinite variance (Assumption 1)",
    )


@pytest.mark.parametrize(
    ("laws", "value"),
    [
        ([Exponential(cost, 1.0) for cost in np.linspace(1.0, 1.5, 1000)], 1.5),
        ([Pareto(cost, 1.0, 4.0) for cost in np.linspace(0.9, 1.0, 1000)], settled(3.0, 3.0)),
        ([Lognormal(1.0, 1.0, sd, 1.0) for sd in np.linspace(0.9, 1.0, 1000)], settled(2.0, 2.0)),
        ([StudentT(1.0, r, 1.0, 1.0, 3.0, 0.5) for r in (1.0, 0.5, 0.2)], 2.0),
        (
            [StudentT(1.0, 1.0, sd, 1.0, 3.0) for sd in np.linspace(0.9, 1.0, 1000)],
            1.0 + (1 + math.sqrt(2.0)) / 2 * settled(2.0, 2.0),
        ),
    ],
)
def test_arms_that_are_alike_count_once(laws, value):
    """A thousand exponential costs of mean 1 overshoot by 1: what is left of the last never depends on the past."""
    assert gap_constant(Problem(laws)).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("law", "exact"),
    [
        (Exponential(2.0, 1.0), None),
        (Gamma(1.0, 1.0, 0.5, 1.0), gamma(4.0, scale=0.25)),
        (Gamma(1.0, 1.0, 2.0, 1.0), gamma(0.25, scale=4.0)),
        (Gamma(2.0, 1.0, 4.0, 1.0), gamma(0.25, scale=8.0)),
        (Gaussian(1.3, 1.0, 0.9, 1.0), norm(1.3, 0.9)),
        (Uniform(0.5, 2.0, 0.0, 1.0), uniform(0.5, 1.5)),
        (Uniform(-1.0, 2.0, 0.0, 1.0), uniform(-1.0, 3.0)),
        (Beta(0.5, 0.5, 0.2, 0.2), beta(2.625, 2.625)),
    ],
)
def test_the_longest_rest_by_integration(law, exact):
    """sup over y ≥ 0 of ∫_y^∞ P(X > x) dx / P(X > y), on a grid."""
    if exact is None:
        exact = gamma(1.0, scale=2.0)
    top = exact.isf(1e-13)
    x = np.linspace(0.0, top, 200_001)
    beyond = exact.sf(x)
    tail = np.cumsum(((beyond[1:] + beyond[:-1]) / 2)[::-1])[::-1] * (x[1] - x[0])
    rests = (tail / beyond[:-1])[beyond[:-1] > 1e-6]
    found = longest_rest(law)
    assert rests.max() <= found * (1 + 1e-4)
    assert rests.max() >= (0.8 if found > exact.mean() * 2 else 0.9999) * found  # the second gamma's limit is far out
    assert overshoot_bound(law) == pytest.approx(min(found, exact.mean() + exact.var() / exact.mean()))


class Veiled(NamedTuple):
    """The moments of a law, its support known only as far as the sign of its costs."""

    law: AnyLaw
    lowest: float

    def draw(self, rng):
        return self.law.draw(rng)

    def moments(self):
        return self.law.moments()

    def support(self):
        return self.lowest, math.inf, -math.inf, math.inf


def veiled(problem: Problem) -> Problem:
    """The same laws without their bounds, so that G comes from their moments."""
    lowest = 0.0 if min(support_of(law).cost_low for law in problem.arms) >= 0 else -math.inf
    return Problem([Veiled(law, lowest) for law in problem.arms])


def random_problem(rng: np.random.Generator, lowest: int) -> Problem:
    """Up to 5 arms with rewards equal to their costs, so that every policy earns what it spends."""
    laws: list[Discrete] = []
    while not laws or len(laws) < rng.integers(1, 6):
        costs = rng.integers(lowest, rng.choice([4, 9, 40]), size=rng.integers(1, 4)).astype(float)
        p = rng.dirichlet(np.full(len(costs), 0.5))
        if p @ costs > 0.3:
            laws.append(Discrete(costs, costs, p))
    return Problem(laws)


@pytest.mark.parametrize("lowest", [0, -3])
def test_no_policy_overshoots_by_more(lowest):
    """Rewards equal to costs: the optimum is the largest E[S_N] any policy reaches."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        problem = random_problem(rng, lowest)
        found = optimal_policy(problem, 150.0)
        overshoot = float((found.value - found.budgets).max())
        for known in (problem, veiled(problem)):
            constant, _ = gap_constant(known)
            assert constant is not None
            assert overshoot <= constant + found.error + 1e-9


def spread(arms: int) -> Problem:
    """Arms that cost 1, or rarely 2^j: each with E[X²]/μ < 2, yet aiming each at its own distance pays."""
    jumps = 2.0 ** np.arange(2, arms + 2)
    return Problem([Discrete([1.0, x], [1.0, x], [1.0 - x**-2, x**-2]) for x in jumps])


@pytest.mark.parametrize(
    ("arms", "budget", "overshoot"),
    [
        *((1, 300.0, 1.344), (4, 600.0, 1.828), (6, 2000.0, 2.160), (8, 4000.0, 2.493)),
        pytest.param(12, 20_000.0, 3.159, marks=pytest.mark.soak),
    ],
)
def test_the_largest_second_moment_is_not_enough(arms, budget, overshoot):
    """Why G sums over arms: with more arms the overshoot grows past Lorden's bound for each of them.

    All means are in [1, 1.19], all variances below 1 and all E[X²]/μ below 2, whatever the number of arms: G cannot be
    a function of these extremes, as Propositions 1 and 3 print it.
    """
    problem = spread(arms)
    mean, variance = problem.mean_costs, problem.second_moments()["var_cost"]
    assert (variance < 1).all()
    assert mean.min() >= 1
    assert mean.max() < 1.19
    assert (mean + variance / mean < 2).all()
    found = optimal_policy(problem, budget)
    most = float((found.value - found.budgets).max())
    assert most == pytest.approx(overshoot, abs=6e-4)
    for known in (problem, veiled(problem)):
        assert most <= (gap_constant(known).value or 0.0)


PROBLEMS = {
    "bernoulli": Problem([Bernoulli(0.5, 0.4), Bernoulli(0.25, 0.15), Bernoulli(0.9, 0.1)]),
    "three sizes": Problem(
        [
            Discrete([4.0, 6.0], [5.0, 5.0], [0.5, 0.5]),
            Discrete([1.0, 2.0], [0.8, 1.9], [0.5, 0.5]),
            Discrete([9.0, 15.0], [6.0, 12.0], [0.5, 0.5]),
        ]
    ),
    "refunds": Problem(
        [Discrete([-1.0, 3.0], [1.0, 3.0], [0.5, 0.5]), Discrete([-2.0, 2.0, 7.0], [1.0, 3.0, 4.0], [0.5, 0.3, 0.2])]
    ),
    "worthless": Problem([Constant(1.0, 0.0), Constant(2.0, -1.0)]),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("budget", [0.5, 1.0, 7.0, 60.0])
def test_chain(name, budget):
    problem = PROBLEMS[name]
    dynamic = optimal_policy(problem, budget)
    for known in (problem, veiled(problem)) if name in ("three sizes", "refunds") else (problem,):
        found = optimality(known, budget)
        static, slack = dynamic.static_value[-1], dynamic.error + 1e-9
        assert found.lower == pytest.approx(problem.rate * budget)
        assert found.lower <= found.static.low + slack
        assert found.static.low - slack <= static <= found.static.high + slack
        assert found.static.high <= found.upper + slack
        assert static <= dynamic.value[-1] + slack
        assert dynamic.value[-1] <= found.upper + slack
