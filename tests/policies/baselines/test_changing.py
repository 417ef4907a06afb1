"""The rivals for arms that change, against twins that keep every pull and compute everything anew each time."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from outlay import Problem, simulate
from outlay.arms import Bernoulli
from outlay.policies import Now
from outlay.policies import baselines as b

Pulls = list[tuple[int, float, float]]
OTHERS: list[Any] = [b.SWUCB(200), b.DiscountedThompson(), b.CUSUMUCB()]


def drawn(rng: Any, n: int, arm: int) -> tuple[float, float]:
    """A cost and a reward up to 2; the first arm's falls after 200 pulls."""
    return float(rng.uniform(0.5, 1.5)), 2.0 * float(rng.random() < ((0.9, 0.4)[n >= 200] if arm == 0 else 0.6))


def best(scores: list[float]) -> int:
    return scores.index(max(scores))


def kl(p: float, q: float) -> float:
    return float(stats.entropy([p, 1 - p], [q, 1 - q]))


def upper(p: float, level: float) -> float:
    """The largest q with kl(p, q) ≤ level, by halving."""
    low, high = p, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if kl(p, middle) <= level else (low, middle)
    return low


def of(pulls: Pulls, arm: int) -> tuple[list[float], list[float]]:
    return [x for k, x, _ in pulls if k == arm], [r / 2.0 for k, _, r in pulls if k == arm]


def slow_sw(pulls: Pulls, arms: int) -> list[float]:
    scores, level = [], 0.6 * math.log(min(max(1, len(pulls)), 60))
    for arm in range(arms):
        costs, rewards = of(pulls[-60:], arm)
        bound = float(np.mean(rewards)) + math.sqrt(level / len(costs)) if costs else math.inf
        scores.append(bound / float(np.mean(costs)) if costs else math.inf)
    return scores


def slow_cusum(pulls: Pulls, arms: int) -> list[float]:
    since = []
    for arm in range(arms):
        costs, rewards = of(pulls, arm)
        start = above = below = 0.0
        for i, reward in enumerate(rewards):
            first = rewards[int(start) : int(start) + 10]
            if i >= start + 10:
                above = max(0.0, above + reward - float(np.mean(first)) - 0.05)
                below = max(0.0, below + float(np.mean(first)) - reward - 0.05)
            if max(above, below) > 4.0:
                start, above, below = i + 1.0, 0.0, 0.0
        since.append((costs[int(start) :], rewards[int(start) :]))
    n = sum(len(costs) for costs, _ in since)
    return [
        (float(np.mean(rewards)) + math.sqrt(math.log(n) / len(costs))) / float(np.mean(costs)) if costs else math.inf
        for costs, rewards in since
    ]


def slow_glr(pulls: Pulls, arms: int) -> list[float]:
    scores = []
    for arm in range(arms):
        costs, rewards, at, time = list[float](), list[float](), 0, 0
        for time, (k, cost, reward) in enumerate(pulls, 1):
            if k == arm:
                costs.append(cost)
                rewards.append(reward / 2.0)
                n, mean = len(costs), float(np.mean(rewards))
                splits = range(10, n, 10) if n % 10 == 0 else ()
                parts = [(rewards[:s], rewards[s:]) for s in splits]
                most = max(
                    [sum(len(part) * kl(float(np.mean(part)), mean) for part in pair) for pair in parts], default=0.0
                )
                if most > 1.5 * math.log(n) - math.log(0.05):
                    costs, rewards, at = [], [], time
        level = math.log(max(1, time - at)) / max(1, len(costs))
        scores.append(upper(float(np.mean(rewards)), level) / float(np.mean(costs)) if costs else math.inf)
    return scores


SLOW: dict[str, tuple[Any, Callable[[Pulls, int], list[float]]]] = {
    "SW-UCB": (b.SWUCB(60, reward_bound=2.0), slow_sw),
    "CUSUM-UCB": (b.CUSUMUCB(10, 0.05, 4.0, explore=0.0, reward_bound=2.0), slow_cusum),
    "GLR-klUCB": (b.GLRKLUCB(0.05, explore=1e-9, reward_bound=2.0), slow_glr),
}


@pytest.mark.parametrize("name", SLOW)
def test_choices_equal_the_slow_twins(name: str) -> None:
    policy, twin = SLOW[name]
    rng: Any = np.random.default_rng(4)
    memory, pulls = policy.memory(3), Pulls()
    for n in range(400):
        if memory.full():
            memory = memory.enlarged()
        if name == "SW-UCB":
            arm = best([policy.score(memory.belief(k), math.log(max(1, n))) for k in range(3)])
        else:
            arm = policy.choose(memory, Now(n + 3, 0.0, 0.0), rng)
        if n % 15 == 0 or n < 30:
            assert arm == best(twin(pulls, 3))
        outcome = drawn(rng, n, arm)
        memory.observe(arm, *outcome)
        pulls.append((arm, *outcome))
    if name != "SW-UCB":
        assert memory.belief(0).pulls < sum(k == 0 for k, *_ in pulls), "the change was noticed"


def test_discounted_sums_and_draws() -> None:
    """Against powers of γ, over so many pulls that the unit begins anew; and the law of a draw, p-value above 1e-3."""
    rng, pulls = np.random.default_rng(1), Pulls()
    policy = b.DiscountedThompson(0.8, reward_bound=2.0)
    memory = policy.memory(2)
    for n in range(1500):
        pulls.append((int(rng.integers(2)), *drawn(rng, n, 0)))
        memory.observe(*pulls[-1])
    weights = 0.8 ** np.arange(len(pulls))[::-1]
    for arm in range(2):
        mine = np.array([k == arm for k, *_ in pulls]) * weights
        costs, rewards = (np.array([pull[i] for pull in pulls]) for i in (1, 2))
        belief = memory.belief(arm)
        expected = mine.sum(), (mine @ costs) / mine.sum(), (mine @ rewards) / mine.sum(), weights.sum()
        assert belief[1:] == pytest.approx(expected, rel=1e-9)
    draws = [policy.sample(belief, 0.0, rng) * belief.mean_cost for _ in range(4000)]
    good = belief.pulls * belief.mean_reward / 2.0
    assert stats.kstest(draws, stats.beta(1 + good, 1 + belief.pulls - good).cdf).pvalue > 1e-3


def test_what_is_explored_by_chance_and_in_turn() -> None:
    rng: Any = np.random.default_rng(2)
    cusum, glr = b.CUSUMUCB(explore=0.3), b.GLRKLUCB(explore=0.3)
    memories = cusum.memory(3), glr.memory(3)
    for memory in memories:
        for arm, reward in ((0, 1.0), (1, 0.0), (2, 0.0)) * 20:
            memory.observe(arm, 1.0, reward)
    named = [cusum.choose(memories[0], Now(60, 4.1, 60.0), rng) for _ in range(6000)]
    assert np.bincount(named, minlength=3)[1:] == pytest.approx([600, 600], abs=100)
    assert [glr.choose(memories[1], Now(n, 4.1, 60.0), rng) for n in range(60, 80)] == [0, 1, 2, *[0] * 7] * 2


@pytest.mark.parametrize(
    "policy", [b.GLRKLUCB(), *(pytest.param(each, marks=pytest.mark.soak) for each in OTHERS)], ids=repr
)
def test_they_play_compiled_and_notice_that_the_best_arm_falls(policy: Any) -> None:
    pieces = [Problem([Bernoulli(1.0, p), Bernoulli(1.0, 0.5)]) for p in (0.9, 0.1)]
    problem = Problem.changing([(0, pieces[0]), (1000, pieces[1])])
    lost = simulate(problem, policy, [2000.0], runs=20, seed=1).run_regret()[..., 0].mean()
    assert lost < 200.0
