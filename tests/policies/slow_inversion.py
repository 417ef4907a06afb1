"""Test inversion, slow and obvious: the largest r that an upper confidence bound of the mean of R − rX leaves.

Each bound is written for the list of numbers z = R − rX; `largest` then tries rates. Shares no code with outlay.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Samples = list[tuple[float, float]]


def largest(bound: Callable[[float], float]) -> float:
    """sup{r : bound(r) ≥ 0}, by halving: ∞ if the bound is ≥ 0 at the far end, else it is < 0 beyond one point."""
    low, high = -1e3, 1e6
    if bound(high) >= 0:
        return math.inf
    assert bound(low) >= 0
    for _ in range(100):
        middle = (low + high) / 2
        if bound(middle) >= 0:
            low = middle
        else:
            high = middle
    return low


def rates(samples: Samples) -> Callable[[float], Any]:
    costs, rewards = np.array(samples).T
    return lambda r: rewards - r * costs


def fieller_known(samples: Samples, level: float, var_cost: float, var_reward: float, cov: float) -> float:
    if not samples or np.mean([cost for cost, _ in samples]) <= 0:
        return math.inf
    z, T = rates(samples), len(samples)
    return largest(lambda r: np.mean(z(r)) + np.sqrt(2 * level / T * (var_reward - 2 * r * cov + r**2 * var_cost)))


def student(samples: Samples, level: float) -> float:
    if len(samples) <= 2 or np.mean([cost for cost, _ in samples]) <= 0:
        return math.inf
    z, g = rates(samples), np.exp(2 * level / (len(samples) - 2)) - 1
    return largest(lambda r: np.mean(z(r)) + np.sqrt(g * np.var(z(r))))


def plugin(samples: Samples, level: float) -> float:
    if len(samples) < 5 or np.mean([cost for cost, _ in samples]) <= 0:
        return math.inf
    z, T = rates(samples), len(samples)
    return largest(lambda r: np.mean(z(r)) + np.sqrt(2 * level / T * np.var(z(r))))


def bernstein(samples: Samples, level: float, m_x: float, m_r: float) -> float:
    """The empirical Bernstein bound for numbers that vary by at most M_R + |r|·M_X."""
    if not samples or np.mean([cost for cost, _ in samples]) - 3 * m_x * level / len(samples) <= 0:
        return math.inf
    z, T = rates(samples), len(samples)
    return largest(
        lambda r: np.mean(z(r)) + np.sqrt(2 * level / T * np.var(z(r))) + 3 * (m_r + abs(r) * m_x) * level / T
    )


def median_rate(samples: Samples, level: float, p: float) -> float:
    """The (⌊q·m⌋ + 1)-th largest block mean of z as the bound, q = p/4; blocks of no cost are never refuted."""
    q = p / 4
    m = math.floor(level / (q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p)))) + 1
    if len(samples) < m:
        return math.inf
    size = len(samples) // m
    means = [np.mean(samples[j * size : (j + 1) * size], axis=0) for j in range(m)]
    return largest(lambda r: sorted((w - r * x if x > 0 else math.inf for x, w in means), reverse=True)[int(q * m)])


def psi(x: Any) -> Any:
    return np.sign(x) * np.log(1 + np.abs(x) + x**2 / 2)


def catoni(samples: Samples, level: float, variance: Callable[[float], float] | None = None) -> float:
    """Catoni's sum as the bound, over the samples that do not wait."""
    used = waiting_left_out(samples)
    if len(used) <= 2 * level or sum(cost for cost, _ in used) <= 0:
        return math.inf
    return largest(catoni_bound(used, level, variance))


def catoni_bound(samples: Samples, level: float, variance: Callable[[float], float] | None) -> Callable[[float], float]:
    """Catoni's sum for z with a scale from the raw second moment, or from the variance of R − rX as a function of r."""
    z, size, ell = rates(samples), len(samples), (math.floor(4 * level) + 1) / 4

    def bound(r: float) -> float:
        v = np.mean(z(r) ** 2) if variance is None else variance(r)
        return float(np.sum(psi(z(r) * np.sqrt(2 * ell / (size * v))))) + 2 * ell if v > 0 else 1.0

    return bound


def waiting_left_out(samples: Samples) -> Samples:
    """As many samples as have a count of only three binary digits before its zeros."""
    size = len(samples)
    while size >= 8 and size % 2 ** (int(math.log2(size)) - 2):
        size -= 1
    return samples[:size]
