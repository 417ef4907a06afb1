"""What KL-rate and Frugal choose: in other units, at the edges, with arms that are free or pay nothing."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.policies import slow_kl_rate as slow
from tests.policies.tapes import ALL, EVERY, Tape, coins, free, gaussian, heavy, losses, refunds

from outlay.beliefs import PooledMoments
from outlay.formulas.argmax import best_by_excess, best_by_score, leader_of, log_of, without_price
from outlay.policies import Fieller, Frugal
from outlay.policies.protocol import memory_of

SCALE_FREE: list[Any] = [*ALL, Fieller(), Fieller(0.25, form="plugin")]
Taped = list[slow.Pairs]  # of each arm


def taped(tape: Tape, seed: int) -> Taped:
    rng = np.random.default_rng(seed)
    return [[tape(rng, arm) for _ in range(100)] for arm in range(4)]


def scaled(samples: Taped, cost: float, reward: float) -> Taped:
    return [[(x * cost, r * reward) for x, r in pairs] for pairs in samples]


def in_units(policy: Any, reward: float) -> Any:
    given = policy.arguments().get("reward_bound")
    return policy if given is None else policy._replace(reward_bound=given * reward)


def decide(policy: Any, memory: Any, pulls: Any, n: int) -> int:
    if hasattr(policy, "score"):
        return best_by_score(policy, memory, pulls, log_of(n))
    return best_by_excess(policy, memory, pulls)


def choices(policy: Any, samples: Taped, path: list[int] | None = None, end: int = 100) -> list[int]:
    """What the policy chooses, along its own path or along another's."""
    memory, pulls, chosen = memory_of(policy, len(samples)), np.zeros(len(samples), np.int64), []
    for n in range(end):
        chosen.append(decide(policy, memory, pulls, n))
        arm = chosen[-1] if path is None else path[n]
        memory.observe(arm, *samples[arm][pulls[arm]])
        pulls[arm] += 1
    return chosen


@pytest.mark.parametrize(
    "tape",
    [gaussian, refunds, *(pytest.param(tape, marks=pytest.mark.soak) for tape in (coins, losses, heavy, free))],
    ids=lambda tape: tape.__name__,
)
def test_units_change_no_choice(tape: Tape) -> None:
    """By powers of two none at all, from 1e-15 to 1e15; by others none that is not a tie to 1e-12."""
    for seed, policy in enumerate(SCALE_FREE):
        samples = taped(tape, seed)
        path = choices(policy, samples)
        assert len(set(path)) > 1
        for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**50, 2.0**-50), (2.0**-50, 2.0**50)):
            assert choices(in_units(policy, reward), scaled(samples, cost, reward)) == path, (policy, cost, reward)
        for cost, reward in ((1e3, 1.0), (1.0, 1e3), (1e15, 1e-15), (1e-15, 1e15)):
            other = choices(in_units(policy, reward), scaled(samples, cost, reward), path)
            for n in range(len(path)):
                assert other[n] == path[n] or tied(policy, samples, path[:n], other[n], path[n]), (policy, n)


def tied(policy: Any, samples: Taped, path: list[int], one: int, other: int) -> bool:
    """Whether after these pulls a difference of 1e-12 could change the choice between two arms."""
    seen = [samples[arm][: path.count(arm)] for arm in range(4)]
    if not hasattr(policy, "score"):
        return not slow.choose(seen, EVERY[ALL.index(policy)][1], slack=1e-12).clear
    memory = memory_of(policy, 4)
    for arm in range(4):
        for pair in seen[arm]:
            memory.observe(arm, *pair)
    scores = [policy.score(memory.belief(arm), log_of(len(path))) for arm in (one, other)]
    return math.isclose(*scores, rel_tol=1e-12)


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


def test_the_first_thirty_pulls_of_a_free_arm() -> None:
    """Arms that have cost nothing in all come first, 30 times each, whatever they pay."""
    memory, pulls = PooledMoments.empty(3), np.zeros(3, np.int64)
    for arm in [0, 1, 2, *([0, 1] * 29)]:
        assert without_price(memory, pulls, 0) == arm
        memory.observe(arm, *((0.0, 5.0), (-1.0, -5.0), (1.0, 0.5))[arm])
        pulls[arm] += 1
    assert pulls.tolist() == [30, 30, 1]
    assert without_price(memory, pulls, 0) == 3
    memory.observe(1, 40.0, 0.0)  # it has a price now
    assert memory.belief(1).mean_cost > 0
    assert without_price(memory, pulls, 0) == 3


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_a_free_arm_that_pays_nothing_is_not_pulled_for_ever(policy: Any) -> None:
    pulls = counts(policy, lambda arm, k: (0.0, 0.0) if arm else (1.0, float(k % 2)), 2, 1000)
    assert pulls[1] < 300


def test_the_leader_and_who_is_next() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        arms = int(rng.integers(1, 6))
        memory, pulls = PooledMoments.empty(arms), np.zeros(arms, np.int64)
        for arm in range(arms):
            for _ in range(int(rng.integers(1, 4))):
                memory.observe(arm, float(rng.choice([1.0, 2.0])) if pulls[arm] == 0 else 2.0, rng.choice([0.0, 1.0]))
                pulls[arm] += 1
        leads = [memory.lead(arm) for arm in range(arms)]
        order = sorted(range(arms), key=lambda k: (-leads[k].rate, leads[k].spend, pulls[k], k))
        rates = [leads[k].rate for k in order]
        assert leader_of(memory, pulls) == (order[0], rates[1] if arms > 1 else -math.inf)
