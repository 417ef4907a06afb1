"""The memory of points: whatever happened, each arm is where its samples say, or where its cost was told to be."""

import math

import numpy as np
import pytest

from outlay.beliefs import HullMoments, Sample
from outlay.beliefs.sequential import points_among


@pytest.mark.parametrize("told", [False, True])
def test_points_against_the_samples(told: bool) -> None:
    """Samples one by one, many alike, corrections, and a new arm."""
    rng = np.random.default_rng(3)
    costs = [2.0, 0.5, 1.0]
    memory = HullMoments.empty(3, costs if told else ())
    memory.shuffle(rng)
    assert not told or memory.arms.order.tolist() == [1, 2, 0]
    samples: list[list[Sample]] = [[], [], []]
    for n in range(200):
        arm, new = int(rng.integers(len(samples))), (rng.uniform(0.5, 3.0), rng.normal())
        if n == 100:
            memory, costs, samples = memory.with_new_arm(), [*costs, math.nan], [*samples, []]
        elif n % 3 == 0 and samples[arm]:
            memory.revise(arm, 0, samples[arm][0], new)
            samples[arm][0] = new
        elif n % 3 == 1:
            memory.add_expected(arm, 3, *new)
            samples[arm] += [new] * 3
        else:
            memory.observe(arm, *new)
            samples[arm].append(new)
        for k, mine in enumerate(samples):
            known = told and not math.isnan(costs[k])
            cost, reward = np.mean(mine, axis=0) if mine else (0.0, -math.inf)
            expected = len(mine), costs[k] if known else cost, reward
            assert (memory.pulls[k], memory.costs[k], memory.rewards[k]) == pytest.approx(expected, abs=1e-9)
            assert not mine or memory.belief(k).mean_cost == memory.costs[k]
    assert memory.opened() == 4
    assert not memory.full()


def test_some_points_are_those_of_a_memory_that_has_no_others() -> None:
    """But for all pulls together and the extremes, which are those of every arm; the order is kept."""
    rng, costs = np.random.default_rng(5), [math.nan, 0.7, math.nan, 1.5, math.nan]
    memory, some = HullMoments.empty(5, costs, 20), np.array([0, 1, 4])
    memory.arms.order[:], memory.arms.place[:] = [3, 4, 1, 0, 2], [3, 2, 4, 0, 1]
    alone = HullMoments.empty(3, [costs[k] for k in some], 20)
    for n in range(60):
        arm, cost, reward = int(rng.integers(4)), float(rng.integers(2)) if n else 1.0, rng.normal()
        memory.observe(arm, cost, reward)
        if arm in some:
            alone.observe(int(np.flatnonzero(some == arm)[0]), cost, reward)
        narrow = points_among(memory, some)
        for one, other in zip(narrow[1:5], alone[1:5], strict=True):
            assert np.array_equal(one, other, equal_nan=True)
        assert [narrow.belief(k) for k in range(3)] == [alone.belief(k) for k in range(3)]
        assert some[narrow.arms.order].tolist() == [k for k in memory.arms.order if k in some]
        assert np.array_equal(narrow.arms.place[narrow.arms.order], np.arange(3))
        waiting = [k for k in memory.arms.order if k in some and memory.pulls[k] == 0]
        assert (narrow.opened(), some[narrow.unopened()]) == (3 - len(waiting), waiting[0])
        assert narrow.arms.usual == pytest.approx(alone.arms.usual)
        assert np.array_equal(narrow.arms.stats[-1], memory.arms.stats[-1])
        assert np.array_equal(narrow.arms.extremes, memory.arms.extremes)
