"""A budget and requests, exactly: every outcome of small problems, by recursion over what is spent.

Slow and obvious: costs are whole numbers, an arm is a list of (cost, reward, probability), a state is (pulls made,
spent). A run ends when N pulls are made or spending has passed B; with `hard`, an arm may be pulled only if its largest
cost is left, and a run ends when that holds for none.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from outlay.arms import Discrete, Problem

Outcomes = list[tuple[int, float, float]]
Choice = Callable[[int, int], int]  # (pulls made, spent) → arm


class Means(NamedTuple):
    pulls: np.ndarray  # E[T_k]
    cost: float  # E[S]
    reward: float  # of what was drawn, not of E[R]


def problem_of(arms: list[Outcomes]) -> Problem:
    return Problem([Discrete(*map(list, zip(*arm, strict=True))) for arm in arms])


def played(arms: list[Outcomes], budget: int, requests: int, choose: Choice, hard: bool = False) -> Means:
    """What a policy does on average, from the chances of every state."""
    pulls, cost, reward = np.zeros(len(arms)), 0.0, 0.0
    chances = {0: 1.0}  # of what is spent
    for made in range(requests):
        after: dict[int, float] = {}
        for spent, chance in chances.items():
            arm = choose(made, spent)
            if spent > budget or (hard and max(x for x, _, _ in arms[arm]) > budget - spent):
                cost += chance * spent
                continue
            pulls[arm] += chance
            for x, r, p in arms[arm]:
                reward += chance * p * r
                after[spent + x] = after.get(spent + x, 0.0) + chance * p
        chances = after
    return Means(pulls, cost + sum(chance * spent for spent, chance in chances.items()), reward)


def optimum(arms: list[Outcomes], budget: int, requests: int) -> float:
    """The largest mean reward of any policy, by dynamic programming over (requests left, money left)."""
    most = max(abs(x) for arm in arms for x, _, _ in arm)
    room = most * requests + 1  # refunds may add up
    left = np.arange(-most, budget + room + most + 1)
    value = np.zeros(len(left))
    for _ in range(requests):
        best = np.full(len(left), -np.inf)
        for arm in arms:
            best = np.maximum(best, sum(p * (r + shifted(value, x)) for x, r, p in arm))
        value = np.where(left >= 0, best, 0.0)
    return float(value[most + budget])


def shifted(value: np.ndarray, cost: int) -> np.ndarray:
    """The values after spending `cost`; beyond the ends the nearest, which no path from the start reaches."""
    places = np.clip(np.arange(len(value)) - cost, 0, len(value) - 1)
    return np.asarray(value[places])
