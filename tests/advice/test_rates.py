"""Intervals of rates cover as often as they say, and verdicts follow from comparisons."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from outlay.advice.summary import (
    BEST,
    DOUBTFUL,
    OUT,
    Course,
    Interval,
    course_of,
    rate_interval,
    slack_of,
    sums_of,
    verdicts,
)
from outlay.beliefs import Belief
from tests.advice import slow


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


def test_rewards_that_never_varied_may_yet():
    never = belief_of(np.ones(100), np.zeros(100))
    low, high = rate_interval(never, 0.95, 0.0, 1.0)
    assert low == 0.0
    assert (1 - high) ** 100 == pytest.approx(0.025)
    assert rate_interval(never, 0.95, 0.0, 0.0) == (0.0, 0.0)
    always = belief_of(np.ones(100), np.ones(100))
    assert rate_interval(always, 0.95, 0.0, 1.0) == pytest.approx((1 - high, 1.0))


def test_slack_is_what_the_interval_allows():
    """Rewards that never varied: the rate may be as much higher and lower as its interval says."""
    never = belief_of(np.full(100, 2.0), np.full(100, 0.5))
    low, high = rate_interval(never, 0.95, 0.0, 1.0)
    assert slack_of(never, 0.95, 0.0, 1.0) == pytest.approx((high - 0.25, 0.25 - low))
    assert slack_of(belief_of([1.0, 2.0], [0.0, 1.0]), 0.95, 0.0, 1.0) == (0.0, 0.0)


def test_verdicts_where_rates_changed_over_time():
    """Who was below another in every part, and clearly in its last one, is out; who was ever ahead is behind."""
    none = math.nan
    for low, high, error, verdict in [
        ((0.4, 0.5, 0.6), (0.9, 1.0, 1.1), 0.1, OUT),
        ((0.4, 0.5, 0.6), (0.9, 1.0, 1.1), 0.3, DOUBTFUL),  # by chance, perhaps
        ((0.2, 0.2, 1.2), (0.9, 1.0, 1.1), 0.1, DOUBTFUL),
        ((0.2, none, 0.6), (0.9, 1.0, 1.1), 0.1, OUT),  # where both were used
        ((0.2, 0.5, none), (0.9, 1.0, 1.1), 0.1, OUT),  # it was given up
        ((0.2, 0.5, 0.6), (0.9, 1.0, none), 0.1, DOUBTFUL),  # the other was: nothing is known of late
        ((0.2, none, none), (none, 1.0, 1.1), 0.1, DOUBTFUL),
        ((0.2, 0.2, 0.6), (1.5, 1.0, 0.5), 0.1, DOUBTFUL),
    ]:
        for drifts in ((True, False), (False, True), (True, True)):
            courses = [Course(moves, parts, (error,) * 3) for moves, parts in zip(drifts, (low, high), strict=True)]
            assert verdicts(1, [[1], []], [False] * 2, courses) == [verdict, BEST]
    ever_ahead = [Course(False, (0.2, 0.2, 1.2), (0.1,) * 3), Course(False, (0.9, 1.0, 1.1), (0.1,) * 3)]
    assert verdicts(1, [[1], []], [False] * 2, ever_ahead) == [OUT, BEST]  # without an alarm it is noise


def test_the_course_of_an_arm():
    """The rate in each eighth and its standard error, by the delta method; nan where there is nothing."""
    costs, rewards = skewed(np.random.default_rng(0), 4000)
    parts = np.repeat(np.arange(8), 500)
    course = course_of(True, np.stack([costs, rewards])[:, parts > 0], parts[parts > 0])
    assert math.isnan(course.parts[0])
    assert math.isnan(course.errors[0])
    assert course.parts[3] == rewards[1500:2000].sum() / costs[1500:2000].sum()
    low, high = rate_interval(belief_of(costs[1500:2000], rewards[1500:2000]), 0.95, 0.0, 1.0)
    assert (high - low) / 2 / 1.965 == pytest.approx(course.errors[3], rel=0.02)
