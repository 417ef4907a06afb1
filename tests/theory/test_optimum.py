"""Proposition 1: the chain of inequalities, and that G bounds the overshoot of every policy."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from outlay.arms import (
    AnyLaw,
    Bernoulli,
    Constant,
    Discrete,
    Exponential,
    Pareto,
    Problem,
    catalogue,
    support_of,
)
from outlay.errors import NotCovered
from outlay.theory.optimum import gap_constant, optimal_policy, optimality


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


@pytest.mark.parametrize("name", catalogue.names())
def test_chain_on_the_catalogue(name):
    found = optimality(catalogue.load(name), 1000.0)
    assert found.lower <= found.static.low <= found.static.value <= found.static.high <= found.upper < math.inf


def test_a_negative_best_rate_is_not_covered():
    with pytest.raises(NotCovered, match=r"^Proposition 1 needs a best rate r\* ≥ 0; it is -0.5$"):
        optimality(Problem([Constant(2.0, -1.0)]), 10.0)


def test_infinite_variance():
    """Of another arm: no explicit G. Of the best arm: no upper end for π* itself."""
    wild = Pareto(1.0, 1.0, cost_tail=1.5)
    found = optimality(Problem([Exponential(1.0, 2.0), wild], names=["tame", "wild"]), 10.0)
    assert found.gap_constant is None
    assert found.upper == math.inf
    assert found.reason == ("not explicit: the cost of arm 'wild' is unbounded with infinite variance (Assumption 1)")
    assert found.static.value == 22.0
    alone = optimality(Problem([wild]), 1000.0)
    assert alone.lower == alone.static.low == 1000.0
    assert alone.static.high == alone.upper == math.inf
    assert alone.static.method == "bounds"
    assert alone.gap_constant is None
    assert "Assumption 1" in alone.reason
