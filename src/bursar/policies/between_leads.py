"""Numbers that a comparison with the leader needs, bounded over all leads between two; exact where the two are one."""

import math

from bursar.beliefs import Lead, PooledBelief


def largest_spread(
    var_cost: float, var_reward: float, cov: float, other_cov: float, rate: float, other_rate: float
) -> float:
    """Var(R − rX), at least 0: the largest for two covariances and two rates, and so for all between.

    >>> largest_spread(1.0, 2.0, 0.5, 0.5, 1.0, 2.0)
    4.0
    """
    most = 0.0
    for r in (rate, other_rate):
        for c in (cov, other_cov):
            most = max(most, var_reward - 2.0 * r * c + r * r * var_cost)
    return most


def own_spread(belief: PooledBelief, low: Lead, high: Lead) -> float:
    """The sample variance, 1/T, of R − rX, with r the leader's rate."""
    return largest_spread(belief.var_cost, belief.var_reward, belief.cov, belief.cov, low.rate, high.rate)


def usual_spread(belief: PooledBelief, low: Lead, high: Lead) -> float:
    """s²: the variance of R − rX over all pulls, in proportion to the size of the arm's rewards.

    The size is the mean square of the arm's rewards and of one more that is like all others.
    """
    spread = largest_spread(high.var_cost, high.var_reward, low.cov, high.cov, low.rate, high.rate)
    own = belief.mean_reward * belief.mean_reward + belief.var_reward
    least = min(low.mean_reward * low.mean_reward, high.mean_reward * high.mean_reward)
    size = low.var_reward + (least if low.mean_reward * high.mean_reward > 0.0 else 0.0)
    if not size > 0.0:
        return spread if own == 0.0 else math.inf
    return spread * (belief.pulls * (own / size) + 1.0) / (belief.pulls + 1)


def largest_seen(reward_max: float, low: Lead, high: Lead) -> float:
    """M: no R − rX is larger, by the largest reward and the extreme costs that have been seen."""
    most = reward_max
    for rate in (low.rate, high.rate):
        most = max(most, reward_max + (rate * max(0.0, -low.cost_min) if rate >= 0.0 else -rate * low.cost_max))
    return most
