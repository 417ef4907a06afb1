"""Slow, obvious twins: the whole log at once, one row at a time."""

import math
from typing import Any

import numpy as np


def hill(costs: Any, k: int) -> float:
    """Hill's estimate of the tail index from the k largest of all costs."""
    ranked = sorted(costs, reverse=True)
    return k / math.fsum(math.log(cost / ranked[k]) for cost in ranked[:k])


def blocks(values: Any, most: int) -> tuple[int, list[float]]:
    """Means of equal blocks whose size is the least power of two that leaves at most `most`; a last part is dropped."""
    size = 1
    while len(values) // size > most:
        size *= 2
    return size, [float(np.mean(values[i : i + size])) for i in range(0, len(values) - size + 1, size)]


def rank_sums(means: list[float]) -> list[float]:
    """|Σ_{i ≤ t} (rank_i − mean rank)| for t = 1, …, m − 1, ties having the mean of their ranks."""
    ranks = [sum(a < b for a in means) + (sum(a == b for a in means) + 1) / 2 for b in means]
    middle = (len(means) + 1) / 2
    return [abs(sum(rank - middle for rank in ranks[:t])) for t in range(1, len(means))]


def fieller(costs: Any, rewards: Any, quantile: float) -> tuple[float, float]:
    """The r at which |mean of R − rX| is `quantile` standard errors: roots of a quadratic."""
    n = len(costs)
    (vx, c), (_, vr) = np.cov(costs, rewards) * quantile**2 / n
    x, r = np.mean(costs), np.mean(rewards)
    low, high = sorted(np.roots([x * x - vx, 2 * (c - x * r), r * r - vr]).real)
    return float(low), float(high)
