"""Expected pulls at the edges: which method is used, how close the ends are, and laws that are refused."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from outlay.arms import Bernoulli, Constant, Discrete, Empirical, Exponential, Gamma, StudentT, Uniform
from outlay.errors import BadParameter
from outlay.theory.optimum import Lattice, expected_pulls, solvable


class Endless(NamedTuple):
    """A law of your own whose costs have no mean."""

    mean_cost: float = math.inf

    def draw(self, rng: np.random.Generator) -> tuple[float, float]:
        return 1.0 / rng.random(), 1.0

    def moments(self) -> tuple[float, float, float, float, float]:
        return self.mean_cost, 1.0, math.inf, 0.0, 0.0


def test_closed_forms_are_exact_at_any_budget():
    """1 + B/μ, and (⌊B/h⌋ + 1)/p for nothing or one step, of which 1e12 are more than a recursion could take."""
    assert expected_pulls(Exponential(2.0, 1.0), 10.0) == (6.0, 6.0, 6.0, "exact")
    assert expected_pulls(Exponential(1.0, 1.0), 1e300) == (1e300, 1e300, 1e300, "exact")
    assert expected_pulls(Bernoulli(0.25, 1.0), 1e12) == (4e12 + 4, 4e12 + 4, 4e12 + 4, "exact")
    assert expected_pulls(Constant(0.5, 1.0), 1e12).method == "exact"


def test_one_or_two_steps_by_hand():
    """Costs of 1 and 2, ½ each: m(0) = 1, m(1) = 1 + m(0)/2, m(2) = 1 + (m(1) + m(0))/2."""
    law = Discrete([1.0, 2.0], [1.0, 1.0], [0.5, 0.5])
    assert [expected_pulls(law, budget).value for budget in (0.5, 1.0, 2.0)] == [1.0, 1.5, 2.25]


def test_there_is_always_one_pull():
    """N(B) ≥ 1, whatever share of a mean cost B is; of costs above B it is 1, and both ends say so."""
    assert expected_pulls(StudentT(0.5, 0.4, 1.0, 0.5, 4.0), 0.1).low == 1.0
    sure = expected_pulls(Uniform(1.0, 2.0, 0.0, 1.0), 0.5)
    assert sure.low == sure.value == 1.0
    assert sure.high == pytest.approx(1.0, rel=2e-9)


@pytest.mark.parametrize("budget", [0.1, 10.0, 60.0])
def test_ends_are_the_closest_known(budget):
    """A gamma of shape 1 is exponential: the longest rest gives its 1 + B/μ exactly, closer than a grid."""
    found = expected_pulls(Gamma(1.0, 1.0, 1.0, 1.0), budget)
    assert found.high == 1.0 + budget
    assert found.low <= 1.0 + budget


def test_how_much_is_solved():
    """A thousand million multiplications, 1 000 000 × 1000 of them, are not too many; 999 001 × 1001 is one more."""
    none = np.zeros((1, 1))
    assert solvable(Lattice(1.0, 0, 1000, none, 999_999), 0)
    assert not solvable(Lattice(1.0, 0, 1001, none, 999_000), 0)
    assert solvable(Lattice(1.0, 0, 10**9, none, 999), 0)  # costs above the budget take no work


@pytest.mark.parametrize("mean", [0.0, -0.5, math.inf])
def test_mean_costs_that_no_budget_is_for(mean):
    with pytest.raises(BadParameter, match=r"^the mean cost of the law of expected_pulls must be a finite number > 0"):
        expected_pulls(Endless(mean), 10.0)


def test_rounded_probabilities_are_made_to_add_up():
    """Thirds to nine digits: 1 + B/3 pulls of costs 1, 2 and 3 at B = 0.5 are 1, and 1 + (m(1) + m(0))/3 at B = 2."""
    law = Discrete([1.0, 2.0, 3.0], [1.0] * 3, [0.333333333] * 3)
    assert expected_pulls(law, 2.0).value == pytest.approx(1 + (4 / 3 + 1) / 3, rel=1e-15)
    logged = Empirical([1.0, 2.0, 3.0], [1.0] * 3)
    assert expected_pulls(law, 50.0).value == pytest.approx(expected_pulls(logged, 50.0).value, rel=1e-14)
