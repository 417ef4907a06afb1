"""Lower bounds at the edges: requests without an end, laws without a model, arms that no data tell from better ones."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from outlay.arms import Constant, Gamma, Gaussian, Problem
from outlay.errors import NotCovered
from outlay.theory import divergence, lower_bound
from outlay.theory.fluid_optimum import Price
from outlay.theory.lower_bounds import _distance

PAIR = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])


class Plain(NamedTuple):
    """A law of your own without a divergence."""

    cost: float
    reward: float

    def draw(self, rng: np.random.Generator) -> tuple[float, float]:
        return self.cost, self.reward

    def moments(self) -> tuple[float, float, float, float, float]:
        return self.cost, self.reward, 1.0, 1.0, 0.0


class Veiled(NamedTuple):
    """A law of your own with a better law as near as one likes."""

    cost: float
    reward: float

    def draw(self, rng: np.random.Generator) -> tuple[float, float]:
        return self.cost, self.reward

    def moments(self) -> tuple[float, float, float, float, float]:
        return self.cost, self.reward, 1.0, 1.0, 0.0

    def divergence(self, rate: float) -> float:
        return 0.0


def test_requests_without_an_end_change_nothing():
    for sharp in (True, False):
        wanted = lower_bound(PAIR, sharp)
        assert lower_bound(PAIR, sharp, budget=10.0) == wanted
        assert lower_bound(PAIR, sharp, budget=10.0, requests=math.inf) == wanted


def test_what_no_data_tell_from_better_is_lost_for_ever():
    """D = 0 and a gap: no multiple of ln B is enough. Without a gap it adds nothing."""
    assert lower_bound(Problem([Constant(1.0, 1.0), Veiled(1.0, 0.5)])) == math.inf
    assert lower_bound(Problem([Constant(1.0, 1.0), Veiled(1.0, 1.0)])) == 0.0


def test_laws_without_a_model_at_a_vertex():
    at_a_vertex = [Constant(0.1, 0.3), Constant(0.4, 0.6), Constant(1.0, 0.9)]
    with pytest.raises(NotCovered, match=r"^no lower bound for arm 'arm 3': its law is Plain, which has no formula"):
        lower_bound(Problem([*at_a_vertex, Plain(0.5, 0.1)]), budget=40.0, requests=100)
    many = Gamma(0.5, 0.1, 0.004, 0.0005, 0.3)  # of shapes 15625 and 40000
    with pytest.raises(NotCovered, match=r"^no lower bound for arm 'arm 3': its law is a correlated Gamma of shape 4e"):
        lower_bound(Problem([*at_a_vertex, many]), budget=40.0, requests=100)


def test_correlated_gammas_at_a_vertex():
    """Edges of slopes 1 and ½ meet in (0.4, 0.6): prices from 1 with a worth of 0.2 to ½ with one of 0.4.

    The arm loses 0.2 + 0.5 − 0.1 = 0.6 a pull at the first and 0.55 at the last, and D is the largest between them.
    """
    correlated = Gamma(0.5, 0.1, 0.2, 0.05, 0.8)  # of shapes 6.25 and 4, all of the latter shared
    problem = Problem([Constant(0.1, 0.3), Constant(0.4, 0.6), Constant(1.0, 0.9), correlated])
    between = np.linspace(0.0, 1.0, 21).tolist()
    distance = max(divergence(correlated, 1.0 - 0.5 * t, worth=0.2 + 0.2 * t) for t in between)
    assert lower_bound(problem, budget=40.0, requests=100) == pytest.approx(0.6 / distance, rel=1e-6)


@pytest.mark.parametrize("sd", [0.3, 1.2, 1.9, 2.5, 4.0])
def test_the_worst_price_is_between_the_two(sd):
    """The largest distance over a fine grid of prices is five times that of either end: above 1, below, and across."""
    law, ends = Gaussian(1.1, 0.5, sd, 2.0 * sd, 0.9), [Price(3.9, 0.1), Price(0.1, 3.9)]
    grid = [divergence(law, 3.9 - 3.8 * t, worth=0.1 + 3.8 * t) for t in np.linspace(0.0, 1.0, 10_001).tolist()]
    assert max(grid) > 5 * max(grid[0], grid[-1])
    assert _distance(law, ends, None) == pytest.approx(max(grid), rel=1e-6)
