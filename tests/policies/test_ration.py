"""Ration: the whole choice against a slow twin, at the ends of its range against Thrifty, and what it must not do."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.policies import slow_ration as slow
from tests.policies.slow_kl_rate import Pairs
from tests.policies.tapes import TAPES, Tape, constants, each_tape, nothing

from outlay import Problem, simulate
from outlay.arms import Gaussian
from outlay.beliefs import HullMoments
from outlay.engine.oracle import trace
from outlay.formulas.argmax import Now, best_of_opened, log_of
from outlay.policies import Ration, Thrifty

ARMS = 4
LIMITS: list[dict[str, Any]] = [
    {"budget": 30.0, "requests": 60},
    {"budget": 100.0, "requests": 80},
    {"budget": 60.0, "requests": 150},
    {"requests": 120},
    {"budget": 5000.0, "requests": 6000},
    {"budget": 60.0},
    {},
    {"budget": 90.0, "requests": 100, "costs": [1.0, 1.2, 1.4, 1.6], "reward_bound": 1.0},
    {"budget": 50.0, "requests": 100, "slope": 0.7},
]


def told(policy: Ration) -> slow.Told:
    costs = None if policy.costs is None else policy.known_costs.tolist()
    return slow.Told(policy.known_budget, policy.known_requests, costs, policy.known_bound, policy.slope)


def compared(policy: Ration, tape: Tape, arms: int, seed: int, slack: float) -> tuple[int, int]:
    """Play a run beside the twin, and count the choices that rounding could not change, and all."""
    rng, memory = np.random.default_rng(seed), policy.memory(arms)
    samples: list[Pairs] = [[] for _ in range(arms)]
    memory.shuffle(rng)
    order, spent, sure, of = memory.arms.order.tolist(), 0.0, 0, 0
    for n in range(120):
        if n >= policy.known_requests or spent > policy.known_budget:
            break
        arm = policy.choose(memory, Now(n, log_of(n), spent), rng)
        if n < 40 or n % 5 == 0:
            expected = slow.choose(samples, order, told(policy), slack)
            assert arm == expected.arm or not expected.clear, (policy, n, samples)
            of, sure = of + 1, sure + expected.clear
        cost, reward = tape(rng, arm % 4)
        memory.observe(arm, cost, reward)
        samples[arm].append((cost, reward))
        spent += cost
    return sure, of


@each_tape
def test_choices_equal_the_slow_twin(tape: Tape) -> None:
    """Step by step along the run of each policy; rounding may decide only where the twin says that it could."""
    slack = 0.0 if tape in (constants, nothing) else 1e-9
    counts = [
        compared(Ration(**given), tape, ARMS if "costs" in given else ARMS + 10 * (seed % 2), seed, slack)
        for seed, given in enumerate(LIMITS)
    ]
    sure, of = np.sum(counts, axis=0)
    assert sure > 0.6 * of


POINTS = [(0.2, 0.2), (0.4, 0.45), (4.0, 0.75), (19.0, 0.95), (19.0, 0.92)]
GAUSSIAN = Problem([Gaussian(cost, reward, cost / 2.0, 0.5) for cost, reward in POINTS])


def test_compiled_runs_equal_interpreted_ones() -> None:
    told = Ration(costs=[0.2, 0.4, 4.0, 19.0, 19.0], reward_bound=1.0)
    for policy in (Ration(), Ration(slope=0.7), told):
        for budget, requests in ((300.0, 60), (1000.0, 80), (60.0, 150), (math.inf, 120), (200.0, None)):
            result = simulate(GAUSSIAN, policy, [budget], requests=requests, runs=2, seed=1, progress=False)
            for run in range(2):
                steps = trace(GAUSSIAN, policy, budget, seed=1, run=run, requests=requests)
                pulls = np.bincount([step.arm for step in steps], minlength=len(POINTS))
                assert pulls.tolist() == result.pulls[0, run, 0].tolist(), (policy, budget, requests)


def test_the_reserve_does_not_make_requests_worthless_near_the_end() -> None:
    """Two dear arms that are nearly as good take many pulls to compare; the cheapest, a bad one, has a good rate.

    With three times that kept to the last request, the end of a run compared arms by their rates: 115 pulls of the
    first arm on average. Its mean here has a standard error of about 4.
    """
    result = simulate(GAUSSIAN, Ration(), [200_000.0], requests=20_000, runs=200, seed=3, progress=False)
    assert result.pulls[0, :, 0, 0].mean() < 70.0


def one_budget(policy: Thrifty, memory: Any, n: int, rng: np.random.Generator) -> int:
    if n == 0:
        memory.shuffle(rng)
    return best_of_opened(policy, memory, np.array([memory.belief(k).pulls for k in range(len(memory.order))]))


@pytest.mark.parametrize(
    ("requests", "budget"), [(1e12, 150.0), (None, 150.0), (None, None)], ids=["many", "any number", "nothing told"]
)
@pytest.mark.parametrize(("arms", "slope"), [(2, 0.33), (4, 0.33), (30, 0.33), (4, 0.7)])
def test_with_requests_to_spare_it_is_thrifty(
    requests: float | None, budget: float | None, arms: int, slope: float
) -> None:
    """The same choices, pull by pull, as long as every arm tried has cost something: here each pull does."""
    positive = [tape for tape in TAPES if all(tape(np.random.default_rng(k), k % 4)[0] > 0 for k in range(200))]
    assert len(positive) >= 5
    for seed, tape in enumerate(positive):
        one, other = Ration(slope=slope, budget=budget, requests=requests), Thrifty(slope, budget=budget)
        mine, theirs, spent = one.memory(arms), other.memory(arms), 0.0
        rng, twin, world = np.random.default_rng(seed), np.random.default_rng(seed), np.random.default_rng(seed)
        for n in range(200):
            arm = one.choose(mine, Now(n, log_of(n), spent), rng)
            assert arm == one_budget(other, theirs, n, twin), (tape.__name__, n)
            cost, reward = tape(world, arm % 4)
            mine.observe(arm, cost, reward)
            theirs.observe(arm, cost, reward)
            spent += cost
            if budget is not None and spent > budget:
                break


def play(policy: Ration, memory: HullMoments, end: int, outcome: Callable[[int], tuple[float, float]]) -> list[int]:
    """Choose and observe up to so many pulls, or until the budget is spent; how often each arm was chosen."""
    rng, made, counts = np.random.default_rng(0), int(memory.pulls.sum()), [0] * len(memory.pulls)
    spent = float(memory.pulls @ memory.costs)
    while made < end and spent < policy.known_budget - 1e-9:
        arm = policy.choose(memory, Now(made, log_of(made), spent), rng)
        cost, reward = outcome(arm)
        memory.observe(arm, cost, reward)
        made, spent, counts[arm] = made + 1, spent + cost, counts[arm] + 1
    return counts


THREE, REFUNDED = [(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)], [(0.0, 0.2), (0.5, 0.8), (-0.2, 0.1)]


@pytest.mark.parametrize(
    ("points", "c", "arms"),
    [
        *((THREE, 0.05, {0}), (THREE, 0.1, {0}), (THREE, 0.25, {0, 1}), (THREE, 0.4, {1}), (THREE, 0.7, {1, 2})),
        *((THREE, 2.0, {2}), (REFUNDED, 0.1, {1, 2}), (REFUNDED, 0.6, {1})),
    ],
)
def test_it_plays_the_edge_and_uses_up_both(points: list[tuple[float, float]], c: float, arms: set[int]) -> None:
    """Constant arms that are known: from then on only those of the edge, in the right proportion."""
    memory = HullMoments.empty(3)
    for arm, (cost, reward) in enumerate(points):
        memory.add_expected(arm, 100, cost, reward)
    before = 100.0 * sum(cost for cost, _ in points)
    counts = play(Ration(budget=before + c * 500, requests=800), memory, 800, points.__getitem__)
    assert {arm for arm in range(3) if counts[arm] > 2} == arms
    spent = sum(count * cost for count, (cost, _) in zip(counts, points, strict=True))
    assert spent == pytest.approx(500 * min(c, max(points[arm][0] for arm in arms)), abs=1.0)


def test_a_pull_that_nobody_can_afford_is_never_opened() -> None:
    """With costs and a bound told: an arm whose dues are as much as any reward can be cannot be better."""
    policy, rng = Ration(costs=[0.1, 0.2, 50.0], reward_bound=1.0, budget=100.0, requests=300), np.random.default_rng(0)
    rewards: Callable[[int], float] = lambda arm: float(rng.random() < (0.5, 0.6, 1.0)[arm])  # noqa: E731
    counts = play(policy, policy.memory(3), 300, lambda arm: ((0.1, 0.2, 50.0)[arm], rewards(arm)))
    assert counts[2] == 0 < min(counts[:2])


def test_opens_few_of_many_arms_when_money_is_short() -> None:
    """A budget that would not buy a pull of each arm: most of it must go to the best of those seen."""
    policy = Ration(budget=40.0, requests=10_000)
    memory = policy.memory(100)
    counts = play(policy, memory, 100, lambda arm: (1.0, 0.2 + arm / 200))
    assert 2 < memory.opened() < 25
    assert counts[int(np.argmax(memory.rewards))] > 10


def test_an_arm_without_its_large_rewards_yet_is_not_dropped() -> None:
    """A large reward in one pull of twenty: the second arm may well be like the first, though 70 pulls had none."""
    memory, policy, rng = HullMoments.empty(2), Ration(requests=100_000), np.random.default_rng(0)
    for k in range(10_000):
        memory.observe(0, 1.0, 8.1 if k % 20 == 0 else 0.1)
    for pulls, arm in ((70, 1), (400, 0)):  # taken for Gaussian, it would be dropped after 50
        for _ in range(pulls - memory.belief(1).pulls):
            memory.observe(1, 1.0, 0.1)
        n = 10_000 + pulls
        assert policy.choose(memory, Now(n, log_of(n), float(n)), rng) == arm


def test_one_failure_beside_a_steady_arm_does_not_end_an_arm() -> None:
    """An arm that always pays 0.2 for nothing leads: then no reward above its own was seen, and none varied.

    A good arm that fails at first must be tried again, though all pulls of the leader are alike.
    """
    for failures in (1, 2):
        memory = HullMoments.empty(2)
        for _ in range(failures):
            memory.observe(1, 0.5, 0.0)
        memory.add_expected(0, 1, 0.0, 0.2)
        assert play(Ration(budget=600.0, requests=1000), memory, 600, [(0.0, 0.2), (0.5, 0.0)].__getitem__)[1] > 0
