"""Fieller's limit: the largest rate that a bound on the mean of R − rX does not refute, in closed form."""

import math

from outlay.beliefs import Belief, residual_variance, slope


def fieller_limit(mean_cost: float, mean_reward: float, moments: Belief, g: float) -> float:
    """The largest r with R̄ − rX̄ + √(g·Var(R − rX)) ≥ 0; ∞ if there is none such, X̄ ≤ 0 or X̄² ≤ g·Var(X).

    It is the larger root r = r̂ + δ of (R̄ − rX̄)² = g·(Var(R) − 2r·Cov + r²Var(X)), with r̂ = R̄/X̄. In the units
    c = Var(X)/X̄², v = Var(R − r̂X)/X̄² and with t = g/(1 − gc), k = c·(r̂ − ω):

        δ = t·k + √(t²k² + t·v)  where k ≥ 0,  δ = v/(√(k² + v/t) − k)  where k < 0

    Nothing cancels in this form, and each operation rises with g: so does the result, to the last bit. `moments` gives
    the variances and the covariance; its means are not read.

    >>> moments = Belief(0, 9, 0.0, 0.0, var_cost=0.25, var_reward=0.0, cov=0.0)
    >>> fieller_limit(1.0, 1.0, moments, g=1.0)  # 1 − r + r/2 = 0
    2.0
    >>> fieller_limit(1.0, 1.0, moments, g=4.0)
    inf
    """
    if not mean_cost > 0.0:
        return math.inf
    cost_sd = math.sqrt(moments.var_cost) / mean_cost
    c = cost_sd * cost_sd
    left = 1.0 - g * c
    if not left > 0.0:
        return math.inf
    rate = mean_reward / mean_cost
    beyond = rate - slope(moments)
    residual_sd = math.sqrt(residual_variance(moments)) / mean_cost
    v = residual_sd * residual_sd + c * beyond * beyond
    if not v < math.inf:  # numbers that overflowed: nothing is known of the rate
        return math.inf
    if g == 0.0 or v == 0.0:
        return rate
    t = g / left
    k = c * beyond
    if k >= 0.0:
        return rate + (t * k + math.sqrt(t * k * (t * k) + t * v))
    return rate + v / (math.sqrt(k * k + v / t) - k)


def fieller_interval(belief: Belief, coverage: float = 0.95) -> tuple[float, float]:
    """The rates that the samples of an arm do not rule out: Student's interval of R − rX, inverted (Fieller, 1954).

    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> [round(end, 3) for end in fieller_interval(belief)]
    [0.748, 0.852]
    """
    if belief.pulls < 2:
        return -math.inf, math.inf
    from scipy.special import stdtrit

    quantile = float(stdtrit(belief.pulls - 1, 0.5 + coverage / 2.0))
    g = quantile * quantile / (belief.pulls - 1)
    mirrored = belief._replace(mean_reward=-belief.mean_reward, cov=-belief.cov)
    low, high = (fieller_limit(b.mean_cost, b.mean_reward, b, g) for b in (mirrored, belief))
    return -low, high
