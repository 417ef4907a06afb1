"""What KL-rate and Frugal choose: in other units, at the edges, with arms that are free or pay nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.policies import slow_kl_rate as slow
from tests.policies.tapes import ALL, Tape, coins, free, gaussian, heavy, losses, refunds

from outlay.formulas.argmax import best_by_excess
from outlay.policies import Frugal

Taped = list[slow.Pairs]  # of each arm


def taped(tape: Tape, seed: int) -> Taped:
    rng = np.random.default_rng(seed)
    return [[tape(rng, arm) for _ in range(100)] for arm in range(4)]


def scaled(samples: Taped, cost: float, reward: float) -> Taped:
    return [[(x * cost, r * reward) for x, r in pairs] for pairs in samples]


def in_units(policy: Any, reward: float) -> Any:
    given = policy.arguments().get("reward_bound")
    return policy if given is None else policy._replace(reward_bound=given * reward)


def choices(policy: Any, samples: Taped, end: int = 100) -> list[int]:
    memory, pulls, chosen = policy.memory(len(samples)), np.zeros(len(samples), np.int64), []
    for _ in range(end):
        chosen.append(arm := best_by_excess(policy, memory, pulls))
        memory.observe(arm, *samples[arm][pulls[arm]])
        pulls[arm] += 1
    return chosen


@pytest.mark.parametrize(
    "tape",
    [gaussian, refunds, *(pytest.param(tape, marks=pytest.mark.soak) for tape in (coins, losses, heavy, free))],
    ids=lambda tape: tape.__name__,
)
def test_units_change_no_choice(tape: Tape) -> None:
    """By powers of two none at all, from 1e-15 to 1e15."""
    for seed, policy in enumerate(ALL):
        samples = taped(tape, seed)
        path = choices(policy, samples)
        assert len(set(path)) > 1
        for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**50, 2.0**-50), (2.0**-50, 2.0**50)):
            assert choices(in_units(policy, reward), scaled(samples, cost, reward)) == path, (policy, cost, reward)


def counts(policy: Any, law: Callable[[int, int], tuple[float, float]], arms: int, end: int) -> list[int]:
    """The pulls of each arm, where law(arm, k) is its k-th sample."""
    memory, pulls = policy.memory(arms), np.zeros(arms, np.int64)
    for _ in range(end):
        arm = best_by_excess(policy, memory, pulls)
        memory.observe(arm, *law(arm, int(pulls[arm])))
        pulls[arm] += 1
    return [int(count) for count in pulls]


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_edges(policy: Any) -> None:
    assert counts(policy, lambda arm, k: (1.0, 0.5), 1, 20) == [20]
    assert choices(policy, taped(gaussian, 0), end=4) == [0, 1, 2, 3]
    assert counts(policy, lambda arm, k: (2.0, 0.7), 4, 40) == [10] * 4  # alike: ties to the least spend, then index
    assert counts(policy, lambda arm, k: (0.5 + k % 2, k % 3), 3, 90) == [30] * 3
    assert counts(policy, lambda arm, k: (-1.0, 0.1 * k), 2, 60) == [30] * 2
    apart = counts(policy, lambda arm, k: (1.0, 1.0 + arm), 3, 400)  # never varies: 1, 2 and 3 for the same cost
    assert apart[2] > 370
    assert min(counts(policy, lambda arm, k: (0.0, 0.0), 3, 90)) == 30
    dead = counts(policy, lambda arm, k: (1.0, float(arm)) if arm else (1.0, 0.0), 2, 300)
    assert dead[0] < 20


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_while_nothing_pays_spend_is_equalised(policy: Any) -> None:
    """Frugal counts a dearer arm's spend for less, by the power ¾ of its cost."""
    prices = np.array([1.0, 4.0, 16.0])
    spend = np.array(counts(policy, lambda arm, k: (prices[arm], 0.0), 3, 300)) * prices
    if isinstance(policy, Frugal):
        spend /= prices**0.75
    assert spend.max() - spend.min() <= prices.max()


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_a_free_arm_that_pays_nothing_is_not_pulled_for_ever(policy: Any) -> None:
    pulls = counts(policy, lambda arm, k: (0.0, 0.0) if arm else (1.0, float(k % 2)), 2, 1000)
    assert pulls[1] < 300
