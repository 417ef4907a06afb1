"""Intervals of rates cover as often as they say, and a good arm is seldom ruled out."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from outlay.advice.evidence.drift import Course
from outlay.advice.evidence.moments import sums_of
from outlay.advice.evidence.rates import BEST, DOUBTFUL, FREE, OPEN, OUT, Interval, rate_interval, verdicts
from outlay.beliefs import Belief
from tests.advice import slow

STEADY = Course(False, (math.nan,) * 3)


def belief_of(costs: Any, rewards: Any) -> Belief:
    return sums_of(np.stack([costs, rewards])).belief(0, np.zeros(2))


def gaussian(rng: np.random.Generator, n: int, rate: float = 0.5) -> Any:
    costs = rng.normal(2.0, 0.8, n)
    return costs, rate * costs + rng.normal(0.0, 0.7, n)


def skewed(rng: np.random.Generator, n: int, rate: float = 0.5) -> Any:
    costs = rng.lognormal(0.0, 0.6, n)
    return costs, (rng.random(n) < rate * math.exp(0.18)).astype(float)


def test_it_is_fieller():
    costs, rewards = gaussian(np.random.default_rng(0), 40)
    wanted = slow.fieller(costs, rewards, float(t.ppf(0.995, 39)))
    assert rate_interval(belief_of(costs, rewards), 0.99, 0.0, 1.0) == pytest.approx(wanted)


@pytest.mark.parametrize(("law", "n", "least"), [(gaussian, 10, 0.95), (skewed, 400, 0.94)])
def test_coverage(law, n, least):
    """Exact for Gaussian pairs; near it for skewed ones with many rows. 3000 logs, 4 standard deviations allowed."""
    rng, runs = np.random.default_rng(1), 3000
    missed = sum(not low <= 0.5 <= high for low, high in (_interval(law(rng, n)) for _ in range(runs)))
    assert missed / runs < 1 - least + 4 * (0.05 * 0.95 / runs) ** 0.5
    assert missed / runs > 0.03


def _interval(pair: Any) -> Interval:
    return rate_interval(belief_of(*pair), 0.95, 0.0, 1.0)


def test_the_best_arm_is_seldom_ruled_out():
    """With Bonferroni over five equal arms: in at most 5 % of 600 logs."""
    rng, out, runs = np.random.default_rng(2), 0, 600
    for _ in range(runs):
        beliefs = [belief_of(*gaussian(rng, 25)) for _ in range(5)]
        intervals = [rate_interval(belief, 1 - 0.05 / 5, 0.0, 1.0) for belief in beliefs]
        out += OUT in verdicts(beliefs, intervals, [False] * 5, [STEADY] * 5)
    assert out / runs <= 0.05


def test_rewards_that_never_varied_may_yet():
    never = belief_of(np.ones(100), np.zeros(100))
    low, high = rate_interval(never, 0.95, 0.0, 1.0)
    assert low == 0.0
    assert (1 - high) ** 100 == pytest.approx(0.025)
    assert rate_interval(never, 0.95, 0.0, 0.0) == (0.0, 0.0)
    always = belief_of(np.ones(100), np.ones(100))
    assert rate_interval(always, 0.95, 0.0, 1.0) == pytest.approx((1 - high, 1.0))


def test_what_leaves_the_rate_open():
    assert rate_interval(belief_of([1.0], [1.0]), 0.95, 0.0, 1.0) == (-math.inf, math.inf)
    free = belief_of(np.zeros(50), np.ones(50))
    assert rate_interval(free, 0.95, 0.0, 1.0) == (-math.inf, math.inf)
    wild = belief_of([1.0, -1.0, 2.0], [1.0, 0.0, 1.0])
    assert rate_interval(wild, 0.95, 0.0, 1.0) == (-math.inf, math.inf)


def test_verdicts():
    def belief(rate: float, cost: float = 1.0) -> Belief:
        return Belief(0, 50, cost, rate * cost, 1.0, 1.0, 0.0)

    beliefs = [belief(0.2), belief(0.9), belief(0.8), belief(1.0), belief(5.0, cost=0.0)]
    unknown = Interval(-math.inf, math.inf)
    intervals = [Interval(0.1, 0.3), Interval(0.85, 0.95), Interval(0.7, 0.9), Interval(0.96, 1.1), unknown]
    no, first, fourth = [False] * 5, [True, *[False] * 4], [False, False, False, True, False]
    steady = [STEADY] * 5
    assert verdicts(beliefs, intervals, no, steady) == [OUT, OUT, OUT, BEST, FREE]
    assert verdicts(beliefs, intervals, fourth, steady) == [OUT, DOUBTFUL, DOUBTFUL, BEST, FREE]
    assert verdicts(beliefs, intervals, first, steady) == [OUT, OUT, OUT, BEST, FREE]
    assert verdicts(beliefs[:1] * 2, intervals[:1] * 2, [True] * 2, steady[:2]) == [BEST, OPEN]


def test_verdicts_where_rates_changed_along_the_file():
    """Who was below another in every part is out, whatever drifts; who was ever ahead is behind."""
    beliefs = [Belief(0, 50, 1.0, rate, 1.0, 1.0, 0.0) for rate in (0.5, 1.0)]
    intervals = [Interval(0.4, 0.6), Interval(0.9, 1.1)]
    for low, high, verdict in [
        ((0.4, 0.5, 0.6), (0.9, 1.0, 1.1), OUT),
        ((0.2, 0.2, 1.2), (0.9, 1.0, 1.1), DOUBTFUL),
        ((0.2, math.nan, 0.6), (0.9, 1.0, 1.1), OUT),  # where both were used
        ((0.2, math.nan, math.nan), (math.nan, 1.0, 1.1), DOUBTFUL),
        ((0.2, 0.2, 0.6), (1.5, 1.0, 0.5), DOUBTFUL),
    ]:
        for drifts in ((True, False), (False, True), (True, True)):
            courses = [Course(moves, parts) for moves, parts in zip(drifts, (low, high), strict=True)]
            assert verdicts(beliefs, intervals, [False] * 2, courses) == [verdict, BEST]
    ever_ahead = [Course(False, (0.2, 0.2, 1.2)), Course(False, (0.9, 1.0, 1.1))]
    assert verdicts(beliefs, intervals, [False] * 2, ever_ahead) == [OUT, BEST]  # without an alarm it is noise
