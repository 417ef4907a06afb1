"""A budget and requests at the edges: rounding at vertices, arms that cost nothing on average, limits that are none."""

import math
from fractions import Fraction

import numpy as np
import pytest

from outlay.arms import Constant, Gaussian, Problem, Uniform
from outlay.errors import BadParameter
from outlay.theory import fluid, fluid_loss, fluid_regret
from outlay.theory.fluid_optimum import bend, right_prices, vertex

THREE = Problem([Constant(0.1, 0.3), Constant(0.4, 0.6), Constant(1.0, 0.9)])
RANDOM = Problem([Constant(0.1, 0.3), Gaussian(0.4, 0.6, 0.2, 0.1), Constant(1.0, 0.9)])


@pytest.mark.parametrize("less", [1e-13, 5e-13, 0.0])
def test_shares_are_no_less_than_nothing(less):
    """A rounding error below the vertex is at it: all requests go to the cheaper arm, none to the dearer one."""
    found = fluid(THREE, 0.4 * (1.0 - less) * 100, 100)
    assert (found.low, found.high, found.share) == (1, 2, 0.0)


def test_where_no_point_is_on_the_left():
    """An arm that costs nothing: any price is right that is not below the slope to the right."""
    free = Problem([Constant(0.0, 1.0), Constant(1.0, 3.0)])
    assert bend(free, 0) == (math.inf, 2.0)
    assert bend(free, 1) == (2.0, 0.0)


@pytest.mark.parametrize("reward", np.linspace(0.1, 3.0, 30))
@pytest.mark.parametrize("cost", [0.1, 0.3, 0.7, 1.1])
def test_below_the_first_vertex_a_request_is_worth_nothing(cost, reward):
    """R − (R/X)·X is 0 but for rounding, and 0 is what is said."""
    problem = Problem([Constant(cost, reward), Constant(2.0 * cost, 1.5 * reward)])
    less, more = right_prices(problem, cost * 100, 100)
    assert less.price == pytest.approx(reward / cost)
    assert less.worth == 0.0
    assert more == pytest.approx((0.5 * reward / cost, 0.5 * reward))


def test_arms_along_an_edge_are_no_vertices():
    for c in (1.0, 2.0, 3.0):
        along = Problem([Constant(1.0, 3.0), Constant(2.0, 4.0), Constant(3.0, 5.0), Constant(4.0, 6.0)])
        assert vertex(along, c * 100, 100) == (0 if c == 1.0 else None)
    for more, bends in ((1e-14, False), (2e-12, True)):  # by rounding, or by a little more than that
        nearly = Problem([Constant(1.0, 3.0), Constant(2.0, 4.0 * (1 + more)), Constant(3.0, 5.0)])
        assert fluid(nearly, 200.0, 100).low == 1
        assert vertex(nearly, 200.0, 100) == (1 if bends else None)
    straight = Problem([Constant(0.1, 0.1), Constant(0.2, 0.2), Constant(0.3, 0.3)])
    assert vertex(straight, 10.0, 100) is None
    assert vertex(straight, 20.0, 100) is None


def test_pulls_of_no_arm_in_particular_are_refused():
    with pytest.raises(BadParameter, match=r"^pulls of fluid_regret must be finite numbers ≥ 0, 3 along the last axis"):
        fluid_regret(THREE, 50.0, 100, pulls=5.0)


def test_pulls_and_costs_may_be_any_numbers():
    """Fractions, as floats of the same size; and the identity by hand: 60·0.3 + 40·0.6 of 100·0.45 is 3 short."""
    floats = fluid_regret(THREE, 25.0, 100, pulls=[60.0, 40.0, 0.0], cost=22.0)
    pulls, cost = np.array([Fraction(60), Fraction(40), Fraction(0)]), np.array(Fraction(22))
    exact = fluid_regret(THREE, 25.0, 100, pulls=pulls, cost=cost)
    assert [float(part) for part in exact] == [float(part) for part in floats]
    assert float(floats.total) == pytest.approx(3.0)


def test_without_an_end_there_is_no_loss():
    """Costs that are random lose nothing to chance where money or requests have no end."""
    assert fluid_loss(RANDOM, math.inf, 100) == 0.0
    assert fluid_loss(RANDOM, 100.0, math.inf) == 0.0
    alone = Problem([Gaussian(0.4, 0.6, 0.2, 0.1)])
    assert fluid_loss(alone, math.inf, 100) == fluid_loss(alone, 100.0, math.inf) == 0.0


def test_an_arm_that_costs_nothing_on_average_is_not_come_near():
    """It costs as much as it refunds: money is left for it whatever chance does. The loss is that of the other end."""
    swings = Problem([Uniform(-1.0, 1.0, 0.1, 0.3), Gaussian(0.4, 0.6, 0.2, 0.1)])
    steady = Problem([Constant(0.0, 0.2), Gaussian(0.4, 0.6, 0.2, 0.1)])
    for c in (0.2, 0.399, 0.4):
        assert fluid_loss(swings, c * 1000, 1000) == fluid_loss(steady, c * 1000, 1000)
    assert fluid_loss(swings, 400.0, 1000) == pytest.approx(1.0 * 0.2 * math.sqrt(1000 / (2 * math.pi)))


def test_the_steadiest_of_equal_arms_and_no_other():
    """An arm of the same mean cost that brings less is at another point, and so is one of the same mean reward."""
    wanted = fluid_loss(RANDOM, 400.0, 1000)
    for other in (Constant(0.4, 0.5), Constant(0.9, 0.6)):
        assert fluid_loss(Problem([*RANDOM.arms, other]), 400.0, 1000) == wanted
    calmer = Problem([*RANDOM.arms, Gaussian(0.4, 0.6, 0.05, 0.1)])
    assert fluid_loss(calmer, 400.0, 1000) == pytest.approx(wanted / 4)
