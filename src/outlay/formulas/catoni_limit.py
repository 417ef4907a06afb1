"""The largest rate that Catoni's bound on the mean of R − rX does not refute, by false position."""

import math

from outlay.beliefs import Belief
from outlay.checks import Vector

PRECISION = 1e-4  # of the limit, in units of the Gaussian radius
MOST = 200  # steps of a search
LARGE = 1e100  # product of factors whose logarithm is taken


def catoni_limit(pool: Vector, start: int, size: int, level: float, moments: Belief) -> float:
    """The rate above R̄/X̄ at which Catoni's sum over `pool[start : start + size]` (cost, reward) falls to −2·level.

    `moments` are the second moments, var_cost ∞ if unknown. ∞ if even Z = −X, the limit of R − rX for large r, is not
    refuted. The result is at most PRECISION too large, never too small.
    """
    cost = 0.0
    reward = 0.0
    for i in range(start, start + size):
        cost += float(pool[i, 0])
        reward += float(pool[i, 1])
    if not cost > 0.0:
        return math.inf
    rate = reward / cost
    # E[Z²] of Z = (R − rate·X) − δ·X is a − 2bδ + cδ².
    a, b, c = _known(moments, rate) if moments.var_cost < math.inf else _sampled(pool, start, size, rate)
    if not excess(pool, start, size, level, 0.0, 1.0, c) < 0.0:
        return math.inf
    radius = math.sqrt(2.0 * level * a * size) / cost
    if not 0.0 < radius < math.inf:
        return rate if radius == 0.0 else math.inf
    low, high = 0.0, 0.0
    at_low = excess(pool, start, size, level, 1.0, rate, a)
    at_high = at_low
    step = 1.5 * radius
    for _ in range(MOST):
        if at_low < 0.0:  # only where the moments are known, and the samples vary more than those say
            high, at_high = low, at_low
            low -= step
            at_low = excess(pool, start, size, level, 1.0, rate + low, a - 2.0 * b * low + c * low * low)
        elif not at_high < 0.0:
            low, at_low = high, at_high
            high += step
            at_high = excess(pool, start, size, level, 1.0, rate + high, a - 2.0 * b * high + c * high * high)
        else:
            break
        step *= 2.0
    if not (at_high < 0.0 <= at_low):
        return math.inf
    within = PRECISION * radius
    last = 0.0
    for _ in range(MOST):
        if high - low <= within:
            break
        middle = high - at_high * ((high - low) / (at_high - at_low))
        if not low < middle < high:  # NaN, too
            middle = 0.5 * low + 0.5 * high
        middle = min(max(middle, low + 0.4 * within), high - 0.4 * within)
        at = excess(pool, start, size, level, 1.0, rate + middle, a - 2.0 * b * middle + c * middle * middle)
        if at < 0.0:
            high, at_high = middle, at
            at_low *= 0.5 if last < 0.0 else 1.0  # twice on one side: the other end counts half (the Illinois rule)
        else:
            low, at_low = middle, at
            at_high *= 0.5 if last > 0.0 else 1.0
        last = at
    return rate + high


def excess(pool: Vector, start: int, size: int, level: float, p: float, q: float, moment: float) -> float:
    """Σ ψ(s·Z_i) + 2·level for Z = p·R − q·X, s² = 2·level/(size·E[Z²]): not negative while E[Z] ≥ 0 is not refuted."""
    scale = math.sqrt(2.0 * level / (size * moment)) if moment > 0.0 else LARGE  # a constant Z: its sign decides
    total, above, below = 0.0, 1.0, 1.0
    for i in range(start, start + size):
        x = scale * (p * float(pool[i, 1]) - q * float(pool[i, 0]))
        factor = 1.0 + abs(x) + 0.5 * x * x
        if x >= 0.0:
            above *= factor
        else:
            below *= factor
        if above > LARGE or below > LARGE:
            total += math.log(above) - math.log(below)
            above, below = 1.0, 1.0
    return total + math.log(above) - math.log(below) + 2.0 * level


def _known(moments: Belief, rate: float) -> tuple[float, float, float]:
    """Var(Z), Cov(Z, X) and Var(X) of Z = R − rate·X."""
    cross = moments.cov - rate * moments.var_cost
    return max(0.0, moments.var_reward - rate * (moments.cov + cross)), cross, moments.var_cost


def _sampled(pool: Vector, start: int, size: int, rate: float) -> tuple[float, float, float]:
    """The samples' means of Z², Z·X and X² with Z = R − rate·X."""
    a, b, c = 0.0, 0.0, 0.0
    for i in range(start, start + size):
        x = float(pool[i, 0])
        z = float(pool[i, 1]) - rate * x
        a += z * z
        b += z * x
        c += x * x
    return a / size, b / size, c / size
