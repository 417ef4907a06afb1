"""Lemmas 3a and 3b of docs/kl-rate-regret.md: the price of mixing on any samples, and both sums against simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from outlay.arms import Bernoulli, Problem
from outlay.policies import KLRate
from outlay.theory import kl_rate_bound
from outlay.theory.divergence_bounded import outcomes
from outlay.theory.kl_rate_bound import kl_rate_pulls

GRID = np.linspace(0.0, 1.0, 4001)


@settings(max_examples=300, deadline=None)
@given(
    z=st.lists(st.floats(-3.0, 1.0), min_size=1, max_size=60),
    copies=st.integers(1, 30),
    within=st.floats(0.01, 0.9),
)
def test_the_price_of_mixing(z, copies, within):
    """max L ≤ (1 + U√(2Qt/π))·mean over [0, U] if its place is below U, else (t + 1)·mean over [U, 1]; Σ z < 0."""
    assume(sum(z) < -1e-6)
    t = copies * len(z)
    logs = copies * np.log(np.maximum(1 - GRID[:, None] * np.array(z), 1e-300)).sum(axis=1)
    top = int(np.argmax(logs))
    heights = np.exp(logs - logs[top])
    curvature = max(min(z) ** 2, (max(*z, 0.0) / (1 - within * max(*z, 0.0))) ** 2)
    part = (GRID - within <= 0) if GRID[top] < within else (GRID - within >= 0)
    price = 1 + within * math.sqrt(2 * curvature * t / math.pi) if GRID[top] < within else t + 1
    slack = 2 / part.sum()  # of a sum over a grid in place of a mean
    assert price * heights[part].mean() * 1.02 + slack >= 1.0


def test_the_price_is_nearly_paid():
    """Samples ±1 as a walk has them: the peak is a bell, and no more than a third of the price is wasted."""
    z = np.concatenate([np.full(5200, -1.0), np.full(4800, 1.0)])
    logs = (np.log(1 - GRID[GRID < 0.2][:, None] * np.array([-1.0, 1.0])) * [5200, 4800]).sum(axis=1)
    mean = np.exp(logs - logs.max()).mean()
    price = 1 + 0.2 * math.sqrt(2 * (1 / 0.8) ** 2 * len(z) / math.pi)
    assert 1.0 < price * mean < 4.0


@pytest.fixture(scope="module")
def walks() -> tuple[np.ndarray, float]:
    """H_t where the best arm looks worse than 0.6, its rate being 1, for t up to 60, in 4000 runs."""
    points = outcomes(Bernoulli(0.5, 0.5))
    rng, rate = np.random.default_rng(8), 0.6
    drawn = rng.choice(len(points.costs), size=(4000, 60), p=points.probabilities)
    z, costs = (points.rewards - rate * points.costs)[drawn], np.cumsum(points.costs[drawn], axis=1)
    grid = np.linspace(0.0, 1.0, 201)
    logs = np.zeros((4000, len(grid)))
    values = np.zeros((4000, 60))
    for t in range(60):
        logs += np.log(np.maximum(1 - grid * z[:, t, None], 1e-300))
        values[:, t] = np.where(z[:, : t + 1].sum(axis=1) < 0, costs[:, t] * np.exp(logs.max(axis=1)), 0.0)
    return values, rate


@pytest.mark.parametrize("budget", [3.0, 100.0, 1e6])
def test_what_mistakes_cost(walks, budget):
    """Both bounds are above what is simulated, less 4 standard errors, and not by any factor."""
    values, rate = walks
    sums, once = kl_rate_bound._lost(kl_rate_bound._arm(Bernoulli(0.5, 0.5)), rate, 1.0, 1.0, 1.0, budget)
    summed, largest = values.sum(axis=1), np.minimum(budget, values.max(axis=1))
    for found, bound in ((summed, sums), (largest, once)):
        assert found.mean() - 4 * found.std() / math.sqrt(len(found)) < bound.spend
    assert sums.spend < 40 * summed.mean()
    if budget < 1e3:  # further on ln(B/a) is large
        assert once.spend < 150 * largest.mean()
    assert (values > 0).sum(axis=1).mean() < sums.times
    assert (values > 0).any(axis=1).mean() < once.times


@pytest.mark.parametrize(
    ("reward", "budget", "share"), [(0.3, 1e5, 0.07), (0.4, 1e6, 0.1), (0.425, 1e7, 0.07), (0.45, 1e7, 0.6)]
)
def test_it_bites_at_smaller_gaps_and_budgets(reward, budget, share):
    """Rates of 0.6, 0.8, 0.85 and 0.9 against 1: with Lemma 3 alone .15, 1, 1 and 1 of what the budget buys."""
    arms = [Bernoulli(0.5, 0.5), Bernoulli(0.5, reward)]
    pulls = kl_rate_pulls(Problem(arms), KLRate("one", "exact", 1.0), budget)[1]
    assert pulls < share * arms[1].cost ** -1 * budget
