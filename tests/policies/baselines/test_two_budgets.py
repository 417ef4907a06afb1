"""Rivals that are told a budget and requests: slow twins by scipy's linear program, compiled runs, shares."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.policies.baselines import slow
from tests.policies.baselines.examples import some
from tests.policies.baselines.test_choices import assert_compiled_runs_equal_interpreted_ones, check_twin, tables

from outlay.formulas.argmax import log_of
from outlay.policies import Now
from outlay.policies import baselines as b

LIMITS: dict[str, Any] = {"budget": 60.0, "requests": 150}
EVERY: list[Any] = [
    *(b.LPGreedy(**LIMITS), b.LPEpsilonFirst(**LIMITS, epsilon=0.3), b.LPUCB(**LIMITS), b.LPThompson(**LIMITS)),
    *(b.PDBwKRequests(**LIMITS, cost_bound=2.0), b.LPGreedy(requests=150), b.LPUCB(budget=60.0), b.PDBwKRequests()),
]


@pytest.mark.parametrize("policy", some(EVERY), ids=repr)
def test_compiled_runs_equal_interpreted_ones(policy: Any) -> None:
    assert_compiled_runs_equal_interpreted_ones(policy, tables(0))


def of_the_mix(points: list[tuple[float, float]], c: float) -> set[int]:
    """The arms that an optimal mix may have: those that lose nothing at the prices of scipy's linear program."""
    x, r = np.array(points).T
    if r.max() <= 0:
        return set(range(len(points)))
    found = linprog(-r, A_ub=[x, np.ones_like(x)], b_ub=[c, 1.0], bounds=(0, None))
    price, worth = -found.ineqlin.marginals
    return set(np.flatnonzero(worth + price * x - r <= 1e-9).tolist())


Value = Callable[[slow.Samples, slow.Samples, int], float]  # of an arm's samples, of all, of the pulls so far


def mean(samples: slow.Samples, everything: slow.Samples, n: int) -> float:
    return float(np.mean(samples, axis=0)[1])


def optimistic(samples: slow.Samples, everything: slow.Samples, n: int) -> float:
    rewards = np.array(samples)[:, 1]
    variance = (rewards.var() * len(rewards) + np.array(everything)[:, 1].var()) / (len(rewards) + 1)
    return float(rewards.mean() + 0.5 * np.sqrt(variance * 2 * np.log(n) / len(rewards)))


@pytest.mark.parametrize(
    ("policy", "value", "turns"),
    [
        (b.LPGreedy(**LIMITS), mean, 4),
        (b.LPThompson(**LIMITS, scale=1e-12), mean, 4),
        (b.LPUCB(**LIMITS, alpha=0.5), optimistic, 4),
        (b.LPEpsilonFirst(**LIMITS, epsilon=0.2), mean, None),
    ],
    ids=lambda given: type(given).__name__,
)
def test_choices_are_of_the_mix_of_a_linear_program(policy: Any, value: Value, turns: int | None) -> None:
    def twin(history: slow.History, spent: float, rng: np.random.Generator) -> set[int]:
        n = sum(map(len, history))
        if n < turns if turns else n < 4 or (n < 0.2 * 150 and spent < 0.2 * 60):
            return {n % 4}
        everything = [pair for samples in history for pair in samples]
        points = [(float(np.mean(s, axis=0)[0]), value(s, everything, n)) for s in history]
        return of_the_mix(points, (60 - spent) / (150 - n))

    assert check_twin(policy, twin, seed=0, pulls=150, budget=60.0) > 250


def test_the_mix_uses_up_both() -> None:
    """Two constant arms: of 10⁴ requests at 0.25 each, half go to the one that costs 0.4; by chance 200 is 4 sd."""
    policy, rng = b.LPGreedy(budget=2500.0, requests=10_000), np.random.default_rng(0)
    memory, spent, dear = policy.memory(2), 0.0, 0
    for n in range(10_000):
        arm = policy.choose(memory, Now(n, log_of(n), spent), rng)
        memory.observe(arm, (0.1, 0.4)[arm], (0.3, 0.6)[arm])
        spent += (0.1, 0.4)[arm]
        dear += arm
    assert dear == pytest.approx(5000, abs=200)
    assert spent == pytest.approx(2500, abs=1.0)  # what is left is shared out anew at every pull


def test_thompson_draws_with_the_deviation_it_says() -> None:
    """Arm 1 is drawn above arm 0 with the probability Φ(gap/deviation); of 4000 draws 4 sd are 126."""
    policy = b.LPThompson(requests=10**6)
    memory = policy.memory(2)
    for reward in (0.0, 1.0) * 20:
        memory.observe(0, 1.0, reward)
        memory.observe(1, 1.0, reward + 0.1)
    rng, now = np.random.default_rng(1), Now(80, math.log(80), 80.0)
    drawn = sum(policy.choose(memory, now, rng) for _ in range(4000))
    variance = (40 * 0.25 + 0.25 + 0.05**2) / 41
    deviation = math.sqrt(2 * variance / 40)
    assert drawn == pytest.approx(4000 * 0.5 * (1 + math.erf(0.1 / deviation / math.sqrt(2))), abs=126)


def test_primal_dual_equals_the_slow_twin() -> None:
    for seed in range(3):
        check_twin(b.PDBwKRequests(**LIMITS, cost_bound=1.5, reward_bound=2.0), primal_dual, seed, pulls=150)


def primal_dual(history: slow.History, spent: float, rng: np.random.Generator) -> set[int]:
    """B = 60, N = 150, bounds 1.5 and 2: 40 units of each, of which a request uses 40/150."""
    n = sum(map(len, history))
    level, growth, scores = math.log(2 * 4 * 150), 1 + math.sqrt(math.log(2) / 40), []
    for samples in history:
        if not samples:
            scores.append(math.inf)
            continue
        T, cost, reward = slow.unit(samples, 1.5, 2.0)
        low = max(0.0, cost - math.sqrt(level * cost / T) - level / T)
        high = min(1.0, reward + math.sqrt(level * reward / T) + level / T)
        money = growth ** (max(0.0, spent) / 1.5) * low
        scores.append(high / (money + growth ** (n * 40 / 150) * 40 / 150))
    return slow.first_of(scores, history)
