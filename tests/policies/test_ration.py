"""Ration: the whole choice against a slow twin, at the ends of its range against Thrifty, and what it must not do."""

from typing import Any

import numba
import numpy as np
import pytest
from tests.policies import slow_ration as slow
from tests.policies.baselines.test_choices import play, tables
from tests.policies.slow_kl_rate import Pairs
from tests.policies.tapes import TAPES, Tape, constants, each_tape, nothing

from outlay import Problem, simulate
from outlay.arms import Gaussian
from outlay.beliefs import HullMoments, SequentialMoments
from outlay.engine.jit.numba_types import OPTIONS, coerced, register
from outlay.formulas.argmax import Now, best_of_opened, log_of
from outlay.policies import Ration, Thrifty
from outlay.policies.protocol import memory_of
from outlay.usercode import Reach

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


@pytest.mark.parametrize(
    "given", [LIMITS[0], *(pytest.param(given, marks=pytest.mark.soak) for given in LIMITS[1:])], ids=repr
)
def test_compiled_runs_equal_interpreted_ones(given: dict[str, Any]) -> None:
    policy = Ration(**given)
    for function in Reach(Ration, HullMoments, SequentialMoments, log_of).functions:
        register(function)
    fast: Any = numba.njit(**OPTIONS)(play)
    for seed, table in enumerate(tables(0)):
        chosen = np.zeros((2, len(table)), np.int64)
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        play(policy, memory_of(policy, ARMS), one, table, chosen[0])
        fast(coerced(policy), memory_of(policy, ARMS), other, table, chosen[1])
        assert np.array_equal(chosen[0], chosen[1])
        assert one.bit_generator.state == other.bit_generator.state


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


def learnt(points: list[tuple[float, float]], pulls: int) -> HullMoments:
    memory = HullMoments.empty(len(points))
    for arm, (cost, reward) in enumerate(points):
        memory.add_expected(arm, pulls, cost, reward)
    return memory


@pytest.mark.parametrize(
    ("points", "c", "arms"),
    [
        ([(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)], 0.05, {0}),
        ([(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)], 0.1, {0}),
        ([(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)], 0.25, {0, 1}),
        ([(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)], 0.4, {1}),
        ([(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)], 0.7, {1, 2}),
        ([(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)], 2.0, {2}),
        ([(0.0, 0.2), (0.5, 0.8), (-0.2, 0.1)], 0.1, {1, 2}),
        ([(0.0, 0.2), (0.5, 0.8), (-0.2, 0.1)], 0.6, {1}),
    ],
)
def test_it_plays_the_edge_and_uses_up_both(points: list[tuple[float, float]], c: float, arms: set[int]) -> None:
    """Constant arms that are known: from then on only those of the edge, in the right proportion."""
    n, rng = 1000, np.random.default_rng(0)
    memory, spent, start = learnt(points, 100), 0.0, 100 * len(points)
    policy = Ration(budget=c * n, requests=n + start)
    counts = np.zeros(len(points), int)
    for k in range(n):
        arm = policy.choose(memory, Now(start + k, log_of(start + k), spent), rng)
        memory.observe(arm, *points[arm])
        spent += points[arm][0]
        counts[arm] += 1
        if spent > c * n - 1e-9:
            break
    assert {arm for arm in range(len(points)) if counts[arm] > 2} == arms
    assert spent == pytest.approx(n * min(c, max(points[arm][0] for arm in arms)), abs=1.0)


def test_a_pull_that_nobody_can_afford_is_never_opened() -> None:
    """With costs and a bound told: an arm whose dues are as much as any reward can be cannot be better."""
    policy = Ration(costs=[0.1, 0.2, 50.0], reward_bound=1.0, budget=100.0, requests=500)
    memory, rng, spent = policy.memory(3), np.random.default_rng(0), 0.0
    for n in range(500):
        arm = policy.choose(memory, Now(n, log_of(n), spent), rng)
        memory.observe(arm, (0.1, 0.2, 50.0)[arm], float(rng.random() < (0.5, 0.6, 1.0)[arm]))
        spent += (0.1, 0.2, 50.0)[arm]
    assert memory.belief(2).pulls == 0
    assert min(memory.belief(arm).pulls for arm in (0, 1)) > 0


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


def test_opens_few_of_many_arms_when_money_is_short() -> None:
    """A budget that would not buy a pull of each arm: most of it must go to the best of those seen."""
    rng = np.random.default_rng(1)
    policy, spent = Ration(budget=40.0, requests=10_000), 0.0
    memory, n = policy.memory(100), 0
    while spent <= 40.0:
        arm = policy.choose(memory, Now(n, log_of(n), spent), rng)
        memory.observe(arm, 1.0, 0.2 + arm / 200)
        spent, n = spent + 1.0, n + 1
    assert 2 < memory.opened() < 25
    best = max(range(100), key=lambda k: memory.rewards[k])
    assert memory.belief(best).pulls > 10


def test_one_failure_beside_a_steady_arm_does_not_end_an_arm() -> None:
    """An arm that always pays 0.2 for nothing leads: then no reward above its own was seen, and none varied.

    A good arm that fails at first must be tried again, though all pulls of the leader are alike.
    """
    for failures in (1, 2):
        policy, rng = Ration(budget=600.0, requests=1000), np.random.default_rng(0)
        memory = HullMoments.empty(2)
        for _ in range(failures):
            memory.observe(1, 0.5, 0.0)
        memory.add_expected(0, 1, 0.0, 0.2)
        spent, tries = 0.5 * failures, 0
        for n in range(failures + 1, 600):
            arm = policy.choose(memory, Now(n, log_of(n), spent), rng)
            tries += arm == 1
            if arm == 1:
                break
            memory.observe(0, 0.0, 0.2)
        assert tries == 1


def test_the_reserve_does_not_make_requests_worthless_near_the_end() -> None:
    """Two dear arms that are nearly as good take many pulls to compare; the cheapest, a bad one, has a good rate.

    With three times that kept to the last request, the end of a run compared arms by their rates: 115 pulls of the
    first arm on average. Its mean here has a standard error of about 4.
    """
    points = [(0.2, 0.2), (0.4, 0.45), (4.0, 0.75), (19.0, 0.95), (19.0, 0.92)]
    problem = Problem([Gaussian(cost, reward, cost / 2.0, 0.5) for cost, reward in points])
    result = simulate(problem, Ration(), [200_000.0], requests=20_000, runs=200, seed=3, progress=False)
    assert result.pulls[0, :, 0, 0].mean() < 70.0
