"""The tree of winners against a look at every arm."""

import math

import numpy as np
import pytest

from outlay.beliefs import PooledMoments
from outlay.formulas.argmax import leader_of
from outlay.formulas.lazy_leader import RateTree, note, rank, rank_all, runner_up


@pytest.mark.parametrize("arms", [1, 2, 3, 5, 8, 13])
def test_the_leader_and_the_runner_up_are_those_of_a_look_at_every_arm(arms: int) -> None:
    """Few different outcomes, so that rates, spends and pulls are often equal; arms are pulled in any order."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        memory, pulls, ranking = PooledMoments.empty(arms), np.zeros(arms, np.int64), RateTree.start(arms)
        ranking.winners[:] = seed % arms  # what an earlier run may have left
        ranked = False
        for _ in range(40):
            arm = int(rng.integers(arms))
            memory.observe(arm, float(rng.choice([1.0, 2.0])), float(rng.choice([1.0, 2.0, -1.0])))
            pulls[arm] += 1
            if ranked and rng.random() < 0.8:
                note(ranking, arm, memory.belief(arm))
                first = rank(ranking, pulls, arm)
            else:
                assert rank_all(ranking, memory, pulls)
                ranked, first = True, int(ranking.winners[1])
            leader, second = leader_of(memory, pulls)
            assert (first, runner_up(ranking, first)) == (leader, second)
            belief = memory.belief(arm)
            assert ranking.rates[arm] == belief.mean_reward / belief.mean_cost
            assert ranking.spends[arm] == belief.pulls * belief.mean_cost


def test_alone_an_arm_has_no_runner_up() -> None:
    memory, pulls, ranking = PooledMoments.empty(3), np.array([0, 1, 0]), RateTree.start(3)
    memory.observe(1, 1.0, 1.0)
    assert rank_all(ranking, memory, pulls)
    assert (ranking.winners[1], runner_up(ranking, 1)) == (1, -math.inf)


@pytest.mark.parametrize("cost", [0.0, -1.0])
def test_nobody_is_ranked_beside_an_arm_that_has_cost_nothing(cost: float) -> None:
    memory, pulls, ranking = PooledMoments.empty(2), np.ones(2, np.int64), RateTree.start(2)
    memory.observe(0, 1.0, 1.0)
    memory.observe(1, cost, 1.0)
    assert not rank_all(ranking, memory, pulls)
