"""The memory of points: whatever happened, each arm is where its samples say, or where its cost was told to be."""

import math

import numpy as np
import pytest

from outlay.beliefs import Points, Sample


@pytest.mark.parametrize("told", [False, True])
def test_points_against_the_samples(told: bool) -> None:
    """Samples one by one, many alike, corrections, and a new arm."""
    rng = np.random.default_rng(3)
    costs = [2.0, 0.5, 1.0]
    memory = Points.empty(3, costs if told else ())
    memory.shuffle(rng)
    assert not told or memory.arms.order.tolist() == [1, 2, 0]
    samples: list[list[Sample]] = [[], [], []]
    for n in range(200):
        arm, new = int(rng.integers(len(samples))), (rng.uniform(0.5, 3.0), rng.normal())
        if n == 100:
            memory, costs, samples = memory.widened(), [*costs, math.nan], [*samples, []]
        elif n % 3 == 0 and samples[arm]:
            memory.revise(arm, 0, samples[arm][0], new)
            samples[arm][0] = new
        elif n % 3 == 1:
            memory.imagine(arm, 3, *new)
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
