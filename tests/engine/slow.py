"""The slow, obvious twin of the engine: one run, one pull at a time, every sample kept."""

import math
from typing import Any

import numpy as np

from outlay import Problem
from outlay.beliefs import Moments
from outlay.policies import Now


def slow_run(
    problem: Problem, policy: Any, budgets: list[float], seed: int, run: int, requests: list[int] | None = None
) -> list[tuple[list[int], float, float]]:
    """For each budget, by itself and from the start: pulls per arm, total cost, total reward at first passage."""
    counts = [math.inf] * len(budgets) if requests is None else requests
    return [_until(problem, policy, *pair, seed, run) for pair in zip(budgets, counts, strict=True)]


def _until(
    problem: Problem, policy: Any, budget: float, requests: float, seed: int, run: int
) -> tuple[list[int], float, float]:
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))
    arms = range(len(problem.arms))
    memory: Any = policy.memory(len(arms)) if hasattr(policy, "memory") else Moments.empty(len(arms))
    pulls = [0 for _ in arms]
    costs: list[float] = []
    rewards: list[float] = []
    while math.fsum(costs) <= budget and len(costs) < requests:
        n = sum(pulls)
        log_n = math.log(n) if n else 0.0
        if hasattr(policy, "choose"):
            arm = policy.choose(memory, Now(n, log_n, math.fsum(costs)), rng)
        elif hasattr(policy, "sample"):
            samples = [policy.sample(memory.belief(k), log_n, rng) for k in arms]
            arm = max(arms, key=lambda k: (samples[k], -pulls[k], -k))
        else:
            arm = max(arms, key=lambda k: (policy.score(memory.belief(k), log_n), -pulls[k], -k))
        cost, reward = problem.arms[arm].draw(rng)
        memory.observe(arm, cost, reward)
        if memory.full():
            memory = memory.enlarged()
        pulls[arm] += 1
        costs.append(cost)
        rewards.append(reward)
    return pulls, math.fsum(costs), math.fsum(rewards)
