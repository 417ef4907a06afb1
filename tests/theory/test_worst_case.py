"""The worst case at any budget: the formula, and that no policy does better on every problem."""

import math
from typing import Any

import numpy as np
import pytest

import outlay
from outlay.arms import Bernoulli, Constant, Discrete, Empirical, Gaussian, Pareto, Problem, Uniform, catalogue
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


def classical(arms: int, n: int, sd: float = 1.0) -> float:
    """½(1 − 1/K)²·σ√(nK), reached at ε = (1 − 1/K)·σ√(K/n)."""
    return (1 - 1 / arms) ** 2 / 2 * sd * math.sqrt(n * arms)


def test_pulls_are_whole_numbers_below_the_budget():
    assert worst_case_bound(Problem([Gaussian(1.0, 2.0, 0.0, 1.0)] * 2), 9.5) == pytest.approx(
        classical(2, 9), rel=1e-5
    )
    seven = worst_case_bound(Problem([Gaussian(0.01, 1.0, 0.0, 0.5)] * 2), 0.07)  # 7.000000000000001 pulls, they say
    assert classical(2, 6, 0.5) * 0.999 < seven < classical(2, 7, 0.5) * 1.001
    assert worst_case_bound(Problem([Gaussian(1e10, 1.0, 0.0, 1.0)] * 2), 1e-320) == 0.0


def test_one_pull_by_hand():
    """B = 1.5 and Var(X) = 1/10: n = 1 is late with p = 0.4 at most, and no pull at all would say nothing."""
    law = Gaussian(1.0, 1.0, math.sqrt(0.1), 0.5)
    gaps = np.linspace(0.0, 1.0, 20_001)[1:].tolist()
    most = max(by_hand(2, 1, gap, 1.0, 0.4, divergence(law, 1.0 + gap)) for gap in gaps)
    assert worst_case_bound(Problem([law] * 2), 1.5) == pytest.approx(most, rel=1e-5)
    assert most > 0.02


def test_the_number_of_pulls_that_says_most():
    """B = 30 and Var(X) = 1: 14 pulls are late with p = 0.055, 20 with 0.2, and say less."""
    law = Gaussian(1.0, 1.0, 1.0, 1.0)
    gaps = np.linspace(0.0, 1.0, 2001)[1:].tolist()
    each = [
        max(by_hand(2, n, gap, 1.0, n / (30 - n) ** 2, divergence(law, 1.0 + gap)) for gap in gaps) for n in (14, 20)
    ]
    assert each[0] > 1.1 * each[1]
    assert worst_case_bound(Problem([law] * 2), 30.0) == pytest.approx(each[0], rel=1e-4)


@pytest.mark.parametrize("unit", [1e-3, 1e3])
def test_units_of_cost_change_nothing(unit):
    law, scaled = Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(unit, 1.0, 0.5 * unit, 0.5)
    wanted = worst_case_bound(Problem([law] * 3), 500.0)
    assert worst_case_bound(Problem([scaled] * 3), 500.0 * unit) == pytest.approx(wanted, rel=1e-5)


def test_how_much_better_an_arm_may_be():
    """ε up to the larger of |r| and σ/μ: 50 arms and few pulls would rather have more."""
    cut = Problem([Gaussian(1.0, 0.5, 0.0, 0.3)] * 50)
    assert worst_case_bound(cut, 5.0) == pytest.approx(by_hand(50, 4, 0.5, 1.0, 0.0, 0.5**2 / 0.18), rel=2e-3)
    losing = Problem([Gaussian(1.0, -10.0, 0.0, 1.0)] * 50)  # ε = 2.45, above σ/μ and below |r|
    assert worst_case_bound(losing, 9.0) == pytest.approx(classical(50, 8), rel=1e-5)
    slight = Problem([Gaussian(1.0, 0.001, 0.0, 0.1)] * 2)  # ε = 0.0236, below σ/μ = 0.1 and above σ²
    assert worst_case_bound(slight, 10.0) == pytest.approx(classical(2, 9, 0.1), rel=1e-5)
    cents = Problem([Gaussian(0.01, 0.001, 0.0, 0.1)] * 2)  # the same, with costs in another unit
    assert worst_case_bound(cents, 0.1) == pytest.approx(classical(2, 9, 0.1), rel=1e-5)


def test_rewards_in_proportion_to_costs():
    """R = X leaves R − rX no variance, and D(ε) is of first order in ε: the best ε is far below any spread."""
    law, arms, n = Discrete([1.0, 2.0], [1.0, 2.0], [0.5, 0.5]), 2, 10**6
    found = worst_case_bound(Problem([law] * arms), 1.5 * n * 1.0001, model="bounded")
    gaps = np.geomspace(1e-8, 1e-4, 2001).tolist()
    most = max(by_hand(arms, n, gap, 1.5, 0.0, divergence(law, 1.0 + gap, "bounded")) for gap in gaps)
    assert most > 0.01
    assert found == pytest.approx(most, rel=0.05)


def test_laws_that_can_hardly_be_better():
    """On [0.99, 1] × [0.9, 1] no rate is above 1/0.99, and D = ∞ from there on: the search must turn back."""
    law, arms = Uniform(0.99, 1.0, 0.9, 1.0), 50
    problem = Problem([law] * arms)
    mean, _, variance, *_ = law.moments()
    gap = 0.04
    least = by_hand(arms, 1, gap, mean, variance / (1.9 - mean) ** 2, divergence(law, problem.rate + gap))
    assert worst_case_bound(problem, 1.9) > least > 0.01


def test_a_single_arm_is_not_judged():
    """Laws without a model have no D, and one arm needs none."""
    alone = Empirical([1.0, 2.0], [0.5, 0.7])
    assert worst_case_bound(Problem([alone]), 100.0, model="none such") == 0.0
    with pytest.raises(BadParameter, match=r"^model of divergence must be"):
        worst_case_bound(Problem([alone, alone]), 100.0, model="none such")


def test_budgets_that_rounding_leaves_nothing_of():
    """7 pulls of 0.01 are 0.07 to the last digit: p is ∞ there. Budgets next to 0 buy nothing."""
    assert 0.07 - 7 * 0.01 < 1e-17
    noisy = Problem([Gaussian(0.01, 1.0, 0.5, 0.5)] * 2)
    for budget in (0.07, 5e-324, 1e-310):
        assert worst_case_bound(noisy, budget) == 0.0
    calm = Problem([Gaussian(0.01, 1.0, 0.001, 0.5)] * 2)
    assert 0.0 < worst_case_bound(calm, 0.07) <= worst_case_bound(calm, 0.0701)


@pytest.mark.parametrize("rate", [1e-6, 1.0, 1e6])
def test_gaps_that_rounding_hides(rate):
    """√(B·σ²/(32μ)) for two arms, and never more; it is that up to 10¹⁸ pulls, and 0 in the end."""
    problem = Problem([Gaussian(1.0, rate, 0.0, rate)] * 2)
    for budget in (1e6, 1e12, 1e18, 1e21, 1e24, 1e28, 1e32, 1e40, 1e100, 1e200):
        wanted, found = rate * math.sqrt(budget / 32.0), worst_case_bound(problem, budget)
        assert found <= wanted * 1.001
        assert found >= wanted * (0.99 if budget <= 1e18 else 0.0)
        assert found == 0.0 or budget < 1e30
    assert worst_case_bound(Problem([Constant(1.0, rate)] * 2), 1e24) == 0.0


def test_a_rate_of_0_has_no_part():
    """The first ε to try is then that of the spread."""
    assert worst_case_bound(Problem([Gaussian(1.0, 0.0, 0.0, 1.0)] * 2), 1e6) == pytest.approx(
        math.sqrt(1e6 / 32), rel=1e-2
    )
