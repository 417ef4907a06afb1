"""The price of money and the worth of a request: exact values, linear programs, and the same bits compiled."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.beliefs.compiled import compiled

from outlay.formulas.pricing import NOTHING, Prices, prices

THREE = [(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)]


def priced(arms: Any, c: float) -> Prices:
    costs, rewards = np.array(arms, dtype=np.float64).T
    found = prices(costs, rewards, c)
    assert compiled(prices)(np.ascontiguousarray(costs), np.ascontiguousarray(rewards), c) == found
    return found


@pytest.mark.parametrize(
    ("arms", "c", "price", "worth", "low", "high"),
    [
        (THREE, math.inf, 0.0, 0.9, 2, NOTHING),
        (THREE, 0.0, 3.0, 0.0, NOTHING, 0),
        (THREE, 1.0, 0.0, 0.9, 2, NOTHING),
        ([(1.0, -1.0), (2.0, 0.0)], 1.0, 0.0, 0.0, NOTHING, NOTHING),  # nothing pays
        ([(1.0, 1.0)], 0.5, 1.0, 0.0, NOTHING, 0),
        ([(-1.0, 0.5)], 0.5, 0.0, 0.5, 0, NOTHING),
        ([(2.0, 1.0), (1.0, 1.0), (1.0, 1.0)], 3.0, 0.0, 1.0, 1, NOTHING),  # the cheapest, then the first
        ([(2.0, 2.0), (1.0, 1.0), (4.0, 4.0)], 1.5, 1.0, 0.0, NOTHING, 2),  # on one line: any edge will do
        ([(1.0, 1.0), (1.0, 2.0), (1.0, 0.5)], 0.5, 2.0, 0.0, NOTHING, 1),
        ([(1.0, 1.0), (0.5, -math.inf), (2.0, 1.5)], 1.5, 0.5, 0.5, 0, 2),  # one that takes no part
        ([(1.0, -0.5), (-1.0, -0.5), (1.0, 10.0)], 0.5, 5.25, 4.75, 1, 2),  # pays to be refunded
    ],
)
def test_exact_values(arms, c, price, worth, low, high):
    found = priced(arms, c)
    assert (found.price, found.worth) == pytest.approx((price, worth), abs=1e-15)
    assert (found.low, found.high) == (low, high)


def value_of(arms: Any, found: Prices, c: float) -> tuple[float, float]:
    """What the mix of the edge's arms brings, and costs."""
    points = [(0.0, 0.0) if arm == NOTHING else arms[arm] for arm in (found.low, found.high)]
    if found.high == NOTHING:
        return points[0][1], points[0][0]
    (x, y), (z, w) = points
    share = (c - x) / (z - x)
    return y + share * (w - y), x + share * (z - x)


@pytest.mark.parametrize("seed", range(40))
def test_random_linear_programs(seed):
    rng = np.random.default_rng(seed)
    arms = int(rng.integers(1, 30))
    costs = rng.normal(0.5, 1.0, arms) if seed % 2 else rng.lognormal(0.0, 2.0, arms)
    rewards = rng.normal(0.2, 1.0, arms) if seed % 3 else np.sqrt(np.abs(costs)) + 0.1 * rng.normal(size=arms)
    if seed % 5 == 0:  # ties: whole numbers, and c at one of them
        costs, rewards = np.round(2 * costs), np.round(2 * rewards)
    for c in (0.0, *rng.exponential(1.0, 3), float(np.abs(costs).max())):
        found = priced(np.column_stack([costs, rewards]), c)
        best = linprog(-rewards, A_ub=[costs, np.ones(arms)], b_ub=[c, 1.0]).fun or 0.0
        scale = 1e-9 * (1 + np.abs(rewards).max())
        assert found.worth + found.price * c == pytest.approx(-best, abs=scale)
        assert (rewards <= found.worth + found.price * costs + scale).all()
        brought, spent = value_of(np.column_stack([costs, rewards]), found, c)
        assert brought == pytest.approx(-best, abs=scale)
        assert spent <= c + scale


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_arms_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    costs, rewards = rng.exponential(1.0, 20), rng.exponential(1.0, 20)
    order = rng.permutation(20)
    for c in rng.exponential(0.5, 5):
        one, other = prices(costs, rewards, c), prices(costs[order], rewards[order], c)
        assert one[:2] == other[:2]
        arms = [NOTHING if arm == NOTHING else order[arm] for arm in other[2:]]
        assert list(one[2:]) == arms


def test_it_ends_on_arms_that_only_rounding_parts():
    """A hundred arms on a line, and on a circle of 1e-15: every step leaves fewer arms between the ends."""
    steps = np.linspace(0.1, 3.0, 100)
    for rewards in (steps / 3.0, 1.0 + 0.7 * steps, 1.0 + 1e-15 * np.sin(steps)):
        for c in (0.05, 0.7, 1.9, 4.0):
            found = prices(steps, rewards, c)
            assert (rewards <= found.worth + found.price * steps + 1e-12).all()
