"""G, the mean overshoot of any policy: values worked out by hand, the optimum on lattices, and arms that are alike."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import beta, gamma, norm, uniform

from outlay.arms import (
    AnyLaw,
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
)
from outlay.theory import gap_constant
from outlay.theory.optimum import longest_rest, optimal_policy, overshoot_bound

NEVER_NEGATIVE, ANY_SIGN = "second moments of costs that are never negative", "second moments of the costs"
LORDEN = "Lorden's inequality: all costs have one law"
BEYOND = "what a cost adds beyond any level, on average"


def settled(total: float, largest: float) -> float:
    """D = (s + κ + √(κ² + 2sκ))/2."""
    return (total + largest + math.sqrt(largest**2 + 2 * total * largest)) / 2


def test_second_moments_by_hand():
    """κ = μ + Var/μ: 4 and 1, then 2.5 and 6, then 4 and 2.5; √(E X²)/μ up to √3, then √2."""
    positive = Problem([Lognormal(2.0, 1.0, 2.0, 1.0), Constant(1.0, 1.0)])
    found = gap_constant(positive)
    assert found.reason == NEVER_NEGATIVE
    assert found.value == pytest.approx(settled(5.0, 4.0))
    signed = Problem([StudentT(2.0, 1.0, 1.0, 1.0, tail=3.0), StudentT(2.0, 1.0, math.sqrt(8.0), 1.0, tail=4.0)])
    reach = (1 + math.sqrt(3.0)) / 2
    found = gap_constant(signed)
    assert found.reason == ANY_SIGN
    assert found.value == pytest.approx(8.5 / 2 + reach * settled(8.5, 6.0))
    one_signed = Problem([Lognormal(2.0, 1.0, 2.0, 1.0), StudentT(2.0, 1.0, 1.0, 1.0, tail=3.0)])
    reach = (1 + math.sqrt(2.0)) / 2
    found = gap_constant(one_signed)
    assert found.reason == ANY_SIGN
    assert found.value == pytest.approx(6.5 / 2 + reach * settled(6.5, 4.0))
    thrice = Problem([StudentT(3.0, 1.0, 3.0, 1.0, tail=3.0), StudentT(3.0, 1.0, 3.0, 1.0, tail=4.0)])
    assert gap_constant(thrice).value == pytest.approx(12.0 / 2 + reach * settled(12.0, 6.0))


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
        ([Exponential(1.0, reward) for reward in np.linspace(0.1, 1.0, 1000)], 1.0),
        ([Exponential(cost, 1.0) for cost in np.linspace(1.0, 1.5, 1000)], 1.5),
        ([Pareto(1.0, reward, 4.0) for reward in np.linspace(0.1, 1.0, 1000)], 3.0),
        ([Pareto(cost, 1.0, 4.0) for cost in np.linspace(0.9, 1.0, 1000)], settled(3.0, 3.0)),
        ([Lognormal(1.0, 1.0, sd, 1.0) for sd in np.linspace(0.9, 1.0, 1000)], settled(2.0, 2.0)),
        ([Lognormal(2.0, 1.0, sd, 1.0) for sd in np.linspace(1.8, 2.0, 1000)], settled(4.0, 4.0)),
        ([StudentT(1.0, r, 1.0, 1.0, 3.0, 0.5) for r in (1.0, 0.5, 0.2)], 2.0),
        (
            [StudentT(1.0, 1.0, sd, 1.0, 3.0) for sd in np.linspace(0.9, 1.0, 1000)],
            1.0 + (1 + math.sqrt(2.0)) / 2 * settled(2.0, 2.0),
        ),
    ],
    ids=[
        "exponential",
        "exponential means",
        "one Pareto",
        "Pareto means",
        "lognormal spreads",
        "wider lognormals",
        "one Student",
        "Student spreads",
    ],
)
def test_arms_that_are_alike_count_once(laws, value):
    """A thousand exponential costs of mean 1 overshoot by 1: what is left of the last never depends on the past."""
    assert gap_constant(Problem(laws)).value == pytest.approx(value)


def test_a_family_is_summed_where_that_is_less():
    """κ = 10.1 and 10 add up to 20.1; one law with the largest mean and the largest spread would have 100."""
    unlike = Problem([Lognormal(10.0, 1.0, 1.0, 1.0), Lognormal(1.0, 1.0, 3.0, 1.0)])
    assert gap_constant(unlike).value == pytest.approx(settled(20.1, 10.1))


def test_other_families_are_summed():
    """κ = 2 for the lognormal and 3 for the Pareto; 2, 4/3 and 8/3 with two uniforms."""
    heavy = Problem([Lognormal(1.0, 1.0, 1.0, 1.0), Pareto(1.0, 1.0, 4.0)])
    assert gap_constant(heavy).value == pytest.approx(settled(5.0, 3.0))
    mixed = Problem([Lognormal(1.0, 1.0, 1.0, 1.0), Uniform(0.0, 2.0, 0.0, 1.0), Uniform(0.0, 4.0, 0.0, 1.0)])
    assert gap_constant(mixed).value == pytest.approx(settled(6.0, 8 / 3))


def test_one_law_of_costs_in_several_tables():
    """1 fifteen times in sixteen, else 5: E[X²]/μ = 2 by Lorden, however it is written down."""
    laws: list[AnyLaw] = [Discrete([1.0, 5.0], [1.0, 2.0], [0.9375, 0.0625]), Empirical([1.0] * 15 + [5.0], [1.0] * 16)]
    assert gap_constant(Problem(laws)) == (2.0, LORDEN)
    wide, narrow = (Beta(0.5, 0.5, 0.4, 0.2, cost_bound=bound) for bound in (2.0, 1.0))
    assert gap_constant(Problem([narrow, narrow]))[1] == LORDEN
    assert gap_constant(Problem([wide, narrow])) == (2.0, "no cost exceeds it")  # equal means and variances: two laws


class Own(NamedTuple):
    """A law of your own with cost and reward of mean 1 and a variance of 4."""

    tag: object

    def draw(self, rng: np.random.Generator) -> tuple[float, float]:
        return 1.0 + 2.0 * rng.standard_normal(), 1.0

    def moments(self) -> tuple[float, float, float, float, float]:
        return 1.0, 1.0, 4.0, 0.0, 0.0


def test_laws_of_your_own_are_one_where_they_are_equal():
    reach, largest = (1 + math.sqrt(5.0)) / 2, 5.0
    two = 2 * largest / 2 + reach * settled(2 * largest, largest)
    assert gap_constant(Problem([Own("a"), Own("a")])) == (largest, LORDEN)
    assert gap_constant(Problem([Own("a"), Own("b")])).value == pytest.approx(two)
    assert gap_constant(Problem([Own(["a"]), Own(["b"])])).value == pytest.approx(two)  # not hashable


def test_laws_of_your_own_count_together_where_they_are_equal():
    lines = [Linear(Lognormal(1.0, 1.0, 1.0, 1.0), slope) for slope in (0.5, 1.0)]
    assert gap_constant(Problem(lines)).value == pytest.approx(2.0)  # one cost law: Lorden


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


def test_the_longest_rest_of_tables():
    assert longest_rest(Discrete([1.0, 4.0], [0.0, 0.0], [0.5, 0.5])) == 3.0  # 4 beyond 1; on average 2.5 beyond 0
    assert longest_rest(Discrete([2.0, 3.0], [0.0, 0.0], [0.5, 0.5])) == 2.5
    assert longest_rest(Discrete([-5.0, 1.0, 3.0], [0.0] * 3, [0.2, 0.4, 0.4])) == pytest.approx(2.0)
    assert longest_rest(Discrete([0.1, 0.9], [0.0, 0.0], [0.9, 0.1])) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("a", "b", "known"), [(1.01, 3.0, True), (3.0, 1.01, True), (0.99, 3.0, False), (3.0, 0.99, False)]
)
def test_betas_have_a_rising_hazard_where_both_shapes_are_1_or_more(a, b, known):
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    law = Beta(3 * mean, 0.5, 3 * math.sqrt(variance), 0.2, cost_bound=3.0)
    assert longest_rest(law) == pytest.approx(3 * mean if known else 3.0)


def test_policies_reach_what_costs_add():
    """Costs of mean 1.5 and 2.5 beyond nothing: with an exact 0 left the second exceeds it by 2.5, and nothing more."""
    laws = [Discrete([1.0, 2.0], [1.0, 2.0], [0.5, 0.5]), Discrete([2.0, 3.0], [2.0, 3.0], [0.5, 0.5])]
    found = optimal_policy(Problem(laws), 300.0)
    overshoot = found.value - found.budgets
    assert overshoot[0] == pytest.approx(2.5)
    assert overshoot.max() <= gap_constant(Problem(laws)).value == 2.5


def test_equal_costs_count_once_whatever_the_rewards():
    wild, cheap = Lognormal(1.0, 1.0, 1.0, 1.0), Uniform(0.0, 2.0, 0.0, 1.0)
    once = gap_constant(Problem([wild, cheap]))
    assert gap_constant(Problem([wild, cheap, Uniform(0.0, 2.0, -1.0, 1.0)])) == once
    more = gap_constant(Problem([wild, cheap, Uniform(0.0, 2.1, 0.0, 1.0)]))
    assert (more.value or 0.0) > (once.value or 0.0) > 0.0
