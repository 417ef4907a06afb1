"""How strongly an arm's samples speak against a rate: natural units of evidence per pull.

An arm has at least the rate r only if Z = R − rX has a mean of at least 0. If that is so and Z ≤ M, then for each λ in
[0, 1/M] the product of 1 − λZ_i is a non-negative supermartingale, which reaches e^u with a probability of at most
e^(−u). So the mean of ln(1 − λZ_i) is evidence against r. docs/kl-rate.md has the proofs.
"""

import math

from outlay.checks import Vector

STEPS = 4  # of Newton, to the best λ
HALVINGS = 200  # of the interval that holds the best λ, at most
NEAR = 1e-9  # natural units of evidence that `exact_evidence` may miss; and how near λ comes to 1/M, as a share of it


def closed_evidence(shortfall: float, variance: float, bound: float) -> float:
    """The least evidence that any law of Z with mean −shortfall, this variance and Z ≤ bound has against its mean ≥ 0.

    The law that has it is on two points, one of them the bound M: with m the shortfall, v the variance, q = v/(M + m),
    a = m + q and p = q/(M + a), it is p·ln(q/a) + (1 − p)·ln(1 + m/M). For small m that is about m²/(2v).

    >>> round(closed_evidence(0.1, 0.5, 1.0), 6)
    0.009298
    >>> closed_evidence(0.5, 0.0, 1.0) == math.log1p(0.5)
    True
    """
    if not shortfall > 0.0:
        return 0.0
    if not bound > 0.0:
        return math.inf
    whole = math.log1p(shortfall / bound)
    q = variance / (bound + shortfall)
    if not q > 0.0:
        return whole
    a = shortfall + q
    p = q / (bound + a)
    return max(0.0, whole - p * (math.log1p(shortfall / q) + whole))


def gaussian_evidence(shortfall: float, variance: float) -> float:
    """½·ln(1 + m²/v): what a Gaussian law of Z with unknown variance has against a mean ≥ 0, by its likelihood ratio.

    >>> round(gaussian_evidence(0.1, 0.5), 6)
    0.009901
    """
    if not shortfall > 0.0:
        return 0.0
    if not variance > 0.0:
        return math.inf
    ratio = shortfall / math.sqrt(variance)
    return 0.5 * math.log1p(ratio * ratio)


def best_weight(shortfall: float, variance: float, bound: float) -> float:
    """The λ with the largest mean of ln(1 − λZ) under the law of `closed_evidence`."""
    return shortfall / ((shortfall + variance / (bound + shortfall)) * bound)


def _at_weight(pairs: Vector, pulls: int, rate: float, bound: float, weight: float) -> tuple[float, float, float]:
    """The sum of ln(1 − λ·min(Z_i, M)) at one λ, its slope and its curvature."""
    value, slope, curvature = 0.0, 0.0, 0.0
    for i in range(pulls):
        z = min(float(pairs[i, 1]) - rate * float(pairs[i, 0]), bound)
        rest = 1.0 - weight * z
        value += math.log(rest)
        share = z / rest
        slope -= share
        curvature -= share * share
    return value, slope, curvature


def sample_evidence(pairs: Vector, pulls: int, rate: float, bound: float, start: float, enough: float) -> float:
    """The most evidence of the samples themselves: the largest mean of ln(1 − λ·min(Z_i, M)) over λ in [0, 1/M).

    From λ = `start`, STEPS of Newton's; any λ gives a valid value, and the largest one met is returned, or the first
    that is more than `enough`.

    >>> import numpy as np
    >>> round(sample_evidence(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), 3, 0.5, 1.0, 0.3, math.inf), 6)
    0.056633
    """
    highest = (1.0 - NEAR) / bound
    weight = min(max(start, 0.0), highest)
    best = 0.0
    for _ in range(STEPS + 1):
        value, slope, curvature = _at_weight(pairs, pulls, rate, bound, weight)
        best = max(best, value / pulls)
        if best > enough or not curvature < 0.0:
            break
        weight = min(max(weight - slope / curvature, 0.0), highest)
    return best


def exact_evidence(pairs: Vector, pulls: int, rate: float, bound: float, start: float, enough: float) -> float:
    """`sample_evidence` at the best λ itself, found by Newton's steps and halving, or the first mean above `enough`.

    The sum of ln(1 − λZ_i) is concave in λ, so where it rises by s at λ and falls from λ' on, no λ gives more than
    s·(λ' − λ) above its value at λ. The search ends where that is `NEAR` or less; stopping short of 1/M misses `NEAR`
    per sample at most.

    >>> import numpy as np
    >>> round(exact_evidence(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), 3, 0.5, 1.0, 0.9, math.inf), 6)
    0.056633
    """
    low, high = 0.0, (1.0 - NEAR) / bound
    weight, untried = min(max(start, low), high), True
    best = 0.0
    for _ in range(HALVINGS):
        value, slope, curvature = _at_weight(pairs, pulls, rate, bound, weight)
        best = max(best, value / pulls)
        left = slope * (high - weight) if slope > 0.0 else slope * (low - weight)
        if best > enough or left <= NEAR:
            break
        if slope > 0.0:
            low = weight
        else:
            high = weight
        weight -= slope / curvature
        if weight >= high and untried:
            weight, untried = high, False  # the best λ is often the largest
        elif not low < weight < high:
            weight = low + 0.5 * (high - low)
    return best
