"""The worst case at any budget: the formula, and that no policy does better on every problem."""

import math
from typing import Any

import numpy as np
import pytest

import outlay
from outlay.arms import Bernoulli, Constant, Gaussian, Pareto, Problem, Uniform, catalogue
from outlay.errors import BadParameter, NotCovered
from outlay.policies import UCBB1, FiellerKnown, RoundRobin
from outlay.theory import divergence, rates, worst_case_bound


def by_hand(arms: int, n: int, gap: float, mean: float, late: float, distance: float) -> float:
    return gap * mean * n * ((1 - 1 / arms) * (1 - late) - math.sqrt(n * distance / (2 * arms)))


@pytest.mark.parametrize("arms", [2, 5, 50])
def test_constant_costs_are_the_classical_bandit(arms):
    """N = n + 1 pulls for sure, D = ε²/2: ½(1 − 1/K)²√(nK) at ε = (1 − 1/K)√(K/n), cut where ε is above r."""
    problem = Problem([Gaussian(1.0, 2.0, 0.0, 1.0)] * arms)
    for budget in (1e3, 1e6):
        n = int(budget) - 1
        best = (1 - 1 / arms) ** 2 / 2 * math.sqrt(n * arms)
        assert worst_case_bound(problem, budget) == pytest.approx(best, rel=1e-5)
        assert worst_case_bound(problem, budget) <= best * (1 + 1e-9)


def test_small_rates_and_small_budgets():
    """ε may be as large as the noise where the rate is small; nine pulls are enough to say something."""
    slight = Problem([Gaussian(1.0, 0.01, 0.0, 1.0)] * 2)
    assert worst_case_bound(slight, 1000.0) == pytest.approx(math.sqrt(2 * 999) / 8, rel=1e-5)
    assert worst_case_bound(Problem([Gaussian(1.0, 2.0, 0.0, 1.0)] * 2), 9.0) == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize("law", [Bernoulli(0.5, 0.4), Gaussian(1.0, 1.0, 0.5, 0.5), Uniform(0.2, 1.0, 0.0, 1.0)])
def test_it_is_the_formula_at_one_gap_and_one_number_of_pulls(law):
    """No grid of ε and n finds more than 2 % above, and it grows as √B does."""
    problem, budget, arms = Problem([law] * 4), 2000.0, 4
    mean, _, variance, *_ = law.moments()
    found, most = worst_case_bound(problem, budget), 0.0
    spread = math.sqrt(rates(problem).sigma2[0] * arms / (budget / mean)) / mean
    for gap in spread * np.linspace(0.3, 2.0, 18):
        distance = divergence(law, problem.rate + gap)
        for part in np.linspace(0.5, 0.999, 60):
            n = int(part * budget / mean)
            most = max(most, by_hand(arms, n, gap, mean, n * variance / (budget - n * mean) ** 2, distance))
    assert most / 1.02 <= found <= most * 1.02
    leading = (3 / 4) ** 2 / 2 * math.sqrt(arms * 1e8 * rates(problem).sigma2[0] / mean)
    assert worst_case_bound(problem, 1e8) == pytest.approx(leading, rel=0.01)
    assert worst_case_bound(problem, 1e8) < leading


@pytest.mark.parametrize("policy", ["index", "paper", "uniform"])
def test_every_policy_has_it_somewhere(policy):
    """Two Gaussian arms, one better by ε: the largest mean regret over ε is above the bound for each policy.

    By symmetry one of the two problems is enough for policies that do not look at the order of arms.
    """
    budget, worst = 1000.0, 0.0
    base = Problem([Gaussian(1.0, 1.0, 0.0, 0.5)] * 2)
    bound = worst_case_bound(base, budget)
    assert bound == pytest.approx(math.sqrt(2 * 999) * 0.5 / 8, rel=1e-4)
    for gap in (0.02, 0.04, 0.08):
        problem = Problem([Gaussian(1.0, 1.0 + gap, 0.0, 0.5), Gaussian(1.0, 1.0, 0.0, 0.5)])
        told = problem.second_moments()
        player: Any = {"index": FiellerKnown(**told), "paper": UCBB1(**told), "uniform": RoundRobin()}[policy]
        regret = outlay.simulate(problem, player, budgets=[budget], runs=100, seed=0, workers=1).regret()
        worst = max(worst, regret["mean"][0] - 4 * regret["stderr"][0])
    assert worst > bound


def test_where_it_is_zero_or_there_is_none():
    assert worst_case_bound(Problem([Gaussian(1.0, 1.0, 0.5, 0.5)]), 1e4) == 0.0
    assert worst_case_bound(Problem([Constant(1.0, 1.0)] * 3), 1e4) == 0.0  # no better law on its box
    assert worst_case_bound(catalogue.load("G"), 0.5) == 0.0
    assert 0.0 <= worst_case_bound(catalogue.load("G"), 3.0) < 3.0  # rates up to twice r*, not any
    with pytest.raises(NotCovered, match=r"^the worst case is for arms of finite variances; arm 'arm 0' has none$"):
        worst_case_bound(Problem([Pareto(1.0, 1.0, 1.5, 3.0)] * 2), 1e4)
    with pytest.raises(NotCovered, match="finite variances"):
        worst_case_bound(Problem([Pareto(1.0, 1.0, 3.0, 1.5)] * 2), 1e4)
    with pytest.raises(BadParameter, match=r"^budget of worst_case_bound must be > 0; got -1$"):
        worst_case_bound(catalogue.load("G"), -1)


def test_gaps_far_beyond_the_first_guess():
    """Many arms, few pulls and an unknown variance: D = ½ ln(1 + ε²) grows so slowly that a large ε is best."""
    problem, n = Problem([Gaussian(1.0, 10.0, 0.0, 1.0)] * 50), 42
    every = [by_hand(50, n, gap, 1.0, 0.0, 0.5 * math.log1p(gap * gap)) for gap in np.linspace(0, 10, 10_001).tolist()]
    assert worst_case_bound(problem, 43.0, model="unknown covariance") == pytest.approx(max(every), rel=1e-5)
    assert every.index(max(every)) > 2800  # ε; the first guess is 2.1
