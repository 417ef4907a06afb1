"""Choices by certificate where excesses are whole numbers: ties, and an excess of exactly 0, at every other pull."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from outlay.beliefs import Belief, Lead, PooledMoments, SequentialMoments, price_of
from outlay.formulas.argmax import best_by_excess, best_of_opened, leader_of
from outlay.formulas.lazy_leader import (
    FREE,
    LEADER,
    OPEN_UNTIL,
    RUNNER_UP,
    LeaderBounds,
    forget_leader_bounds,
    lazy_best_by_excess,
    lazy_best_of_opened,
)


class Coarse(NamedTuple):
    """A policy whose excess only rises with the leader's rate and falls with its spend, in whole steps."""

    steps: float

    def excess(self, belief: Any, low: Lead, high: Lead) -> float:
        price = price_of(belief, low.cost_min, low.cost_max)
        evidence = math.floor(self.steps * belief.pulls * (low.rate * price - belief.mean_reward))
        return float(evidence - math.floor(math.log2(1.0 + high.spend / (belief.pulls * price))) + 1)

    def excess_of_new_arm(self, low: Lead, high: Lead) -> float:
        return float(math.floor(low.opened + 2.0 * low.rate) - math.floor(math.log2(1.0 + max(0.0, high.spent))))


def outcomes(rng: np.random.Generator, arms: int) -> Any:
    """A few whole costs and rewards of each arm, so that means are often equal; some arms cost nothing at times."""
    least = rng.choice([0, 1, 1, 1], arms)
    return lambda arm: (float(rng.integers(least[arm], 3)), float(rng.integers(-1, 3)))


@pytest.mark.parametrize("opening", [False, True])
def test_choices_are_those_of_the_full_comparison_where_many_arms_tie(opening: bool) -> None:
    met = {"zero": 0, "tie": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        arms = int(rng.integers(1, 9))
        policy, draw = Coarse(float(rng.choice([0.5, 1.0, 2.0]))), outcomes(rng, arms)
        memory: Any = SequentialMoments.empty(arms) if opening else PooledMoments.empty(arms)
        pulls, known = np.zeros(arms, np.int64), LeaderBounds.start(arms)
        if opening:
            memory.shuffle(rng)
        known.marks[:], known.levels[OPEN_UNTIL] = arms, 1e9  # what an earlier run may have left
        forget_leader_bounds(known)
        last = -1
        for n in range(150):
            full = best_of_opened(policy, memory, pulls) if opening else best_by_excess(policy, memory, pulls)
            choose: Any = lazy_best_of_opened if opening else lazy_best_by_excess
            assert choose(policy, memory, pulls, known) == full, (seed, n)
            if known.marks[LEADER] >= 0 and known.marks[FREE] < 0:
                leader, second = leader_of(memory, pulls)
                assert known.marks[LEADER] == leader
                assert second <= known.levels[RUNNER_UP]
                if last == leader:  # whose rate is its own rival's at no time
                    rate = memory.lead(leader).rate
                    assert known.levels[RUNNER_UP] < rate or second == rate
            met = counted(met, policy, memory, pulls)
            memory.observe(full, *draw(full))
            pulls[full] += 1
            last = full
    assert min(met.values()) > 300, met


def counted(met: dict[str, int], policy: Coarse, memory: Any, pulls: Any) -> dict[str, int]:
    """How often an excess was exactly 0, and how often the least one was that of several arms."""
    beliefs: list[Belief] = [memory.belief(arm) for arm in np.flatnonzero(pulls).tolist()]
    if len(beliefs) < 2 or min(belief.mean_cost for belief in beliefs) <= 0.0:
        return met
    leader = max(beliefs, key=lambda belief: belief.mean_reward / belief.mean_cost).arm
    lead = memory.lead(leader)
    values = sorted(policy.excess(belief, lead, lead) for belief in beliefs if belief.arm != leader)
    return {
        "zero": met["zero"] + (values[0] == 0.0),
        "tie": met["tie"] + (len(values) > 1 and values[0] == values[1] <= 0.0),
    }
