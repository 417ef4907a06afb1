"""Advice is as sure as it says: over logs with a known truth, intervals cover, and arms are ruled out, as stated.

Every log is compared as `advise` does it, without the reading: intervals that say 95 % cover 93 to 97 %, and the best
arm is ruled out in at most 5 % of logs, on each of the three grounds. Seeds are fixed; with other seeds a test whose
true share is 5 % would fail in the share of cases that it states. The everyday form plays hundreds of logs with few
bootstrap samples, the long one thousands.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from outlay.advice import comparison
from outlay.advice.comparison import PAIRS, TIMES, WHOLE, Comparison, compare, groups_of, merged_groups
from outlay.advice.summary import FALSE_ALARM, apart_chance, edges_of, parts_of, rate_interval, sums_of

Floats = NDArray[np.float64]
SOAK = pytest.param(2000, 1000, marks=pytest.mark.soak)
BINS = 16


def skewed(rng: np.random.Generator, n: int, rate: float = 0.25) -> Floats:
    """Lognormal costs of mean 1, and rewards of 0 and 1 that come the likelier the dearer a row is."""
    costs = rng.lognormal(-0.125, 0.5, n)
    return np.stack([costs, (rng.random(n) < rate * (0.5 + 0.5 * np.minimum(costs, 2.0) / _CUT)).astype(float)])


_CUT = 0.9738  # the mean of min(cost, 2) for these costs: the rate is then `rate`


def over_the_whole_log(rng: np.random.Generator, rates: list[float], seed: int) -> Comparison:
    arms = [skewed(rng, 250, rate) for rate in rates]
    return compare([groups_of(own, np.zeros(250, np.int64), rng) for own in arms], WHOLE, seed=seed)


def on_the_same_instances(rng: np.random.Generator, rates: list[float], seed: int) -> Comparison:
    """Instances are hard for all arms alike: dearer, and less often solved."""
    hard = rng.random(250)
    costs = [rng.lognormal(-0.08, 0.4, 250) * (0.5 + hard) for _ in rates]
    rewards = [rng.random(250) < rate * (1.5 - hard) for rate in rates]
    sums = [np.column_stack([np.ones(250), *both]) for both in zip(costs, rewards, strict=True)]
    return compare(merged_groups(np.stack(sums), rng), PAIRS, seed=seed)


def at_equal_times(rng: np.random.Generator, rates: list[float], seed: int) -> Comparison:
    """Rewards become likelier, and later arms are used later: over the whole log the last one looks best."""
    times = np.sort(rng.random(300 * len(rates)))
    chances = np.stack([1.0 + 6.0 * arm * times for arm in range(len(rates))])
    arms = (rng.random(len(times)) * chances.sum(axis=0) > np.cumsum(chances, axis=0)).sum(axis=0)
    level = np.array(rates)[arms] * (0.5 + times)
    rows = np.stack([rng.lognormal(-0.125, 0.5, len(times)), rng.random(len(times)) < level])
    apart = [times[arms == arm] for arm in range(len(rates))]
    edges = edges_of(apart, [1.0] * len(rates), BINS)
    groups = [groups_of(rows[:, arms == arm], parts_of(apart[arm], edges), rng) for arm in range(len(rates))]
    return compare(groups, TIMES, bins=BINS, seed=seed)


GROUNDS: list[tuple[Callable[..., Comparison], str]] = [
    (over_the_whole_log, WHOLE), (on_the_same_instances, PAIRS), (at_equal_times, TIMES),
]  # fmt: skip


@pytest.mark.parametrize(("logs", "draws"), [(200, 200), SOAK])
@pytest.mark.parametrize(("make", "basis"), GROUNDS)
def test_the_best_arm_is_seldom_ruled_out(make: Any, basis: str, logs: int, draws: int, monkeypatch: Any) -> None:
    """Three arms alike, the worst case: arm 1, as good as any, is out in 5 % of logs at most.

    Three standard deviations of chance are allowed (1 in 700). And it is no bow to the timid: with arms alike, that the
    first one is below any happens in more than 1 % of logs.
    """
    monkeypatch.setattr(comparison, "DRAWS", draws)
    rng = np.random.default_rng(1)
    found = [make(rng, [0.4] * 3, seed) for seed in range(logs)]
    assert {one.basis for one in found} == {basis}
    out = np.mean([one.below[1].any() for one in found])
    assert 0.01 < out < 0.05 + 3.0 * (0.05 * 0.95 / logs) ** 0.5


@pytest.mark.parametrize(("logs", "draws"), [(200, 200), SOAK])
@pytest.mark.parametrize(("make", "basis"), GROUNDS)
def test_intervals_of_differences_cover(make: Any, basis: str, logs: int, draws: int, monkeypatch: Any) -> None:
    """Two arms alike: 95 % intervals of the difference have 0 in 93 to 97 % of logs.

    Two standard deviations of chance are allowed beside that (1 in 20 at the very ends of that range).
    """
    monkeypatch.setattr(comparison, "DRAWS", draws)
    rng = np.random.default_rng(2)
    versus = [make(rng, [0.4] * 2, seed).versus for seed in range(logs)]
    covered = np.mean([one.low <= 0.0 <= one.high for both in versus for one in both if one is not None])
    spread = 2.0 * (0.05 * 0.95 / logs) ** 0.5
    assert 0.93 - spread < covered < 0.97 + spread


@pytest.mark.parametrize("logs", [2000, pytest.param(20_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("rows", [100, 1000])
def test_intervals_of_rates_cover(logs: int, rows: int) -> None:
    """93 to 97 %, with skewed costs and correlated rewards; that many logs leave ±1 % to chance (2 deviations)."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(logs):
        low, high = rate_interval(sums_of(skewed(rng, rows)).belief(0, np.zeros(2)), 0.95, 0.0, 1.0)
        covered += low <= 0.25 <= high
    assert 0.93 < covered / logs < 0.97


@pytest.mark.parametrize("make", [make for make, _ in GROUNDS])
def test_a_worse_arm_is_found(make: Any, monkeypatch: Any) -> None:
    """With half the rate an arm is ruled out, and the good one is best, in nearly every log."""
    monkeypatch.setattr(comparison, "DRAWS", 200)
    rng = np.random.default_rng(4)
    found = [make(rng, [0.5, 0.25], seed) for seed in range(40)]
    assert np.mean([one.below[1, 0] and one.best == 0 for one in found]) > 0.9


@pytest.mark.parametrize("apart", [False, True])
def test_arms_used_at_different_times_are_noticed(apart: bool) -> None:
    """In 5 % of logs where the arm is chosen without regard to the time; three deviations of chance are allowed."""
    rng, alarms, logs = np.random.default_rng(5), 0, 400
    for _ in range(logs):
        late = rng.random(600) < np.linspace(0.25, 0.65, 600) if apart else rng.random(600) < 0.3
        times = [np.flatnonzero(~late).astype(float), np.flatnonzero(late).astype(float)]
        edges = edges_of(times, [1.0, 1.0], 8)
        chance = apart_chance([parts_of(own, edges) for own in times])
        alarms += chance is not None and chance < FALSE_ALARM
    if apart:
        assert alarms / logs > 0.95
    else:
        assert 0.02 < alarms / logs < 0.05 + 3.0 * (0.05 * 0.95 / logs) ** 0.5
