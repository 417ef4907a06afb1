"""Numbers that a comparison with the leader needs, bounded over all leads between two; exact where the two are one."""

import math

from outlay.beliefs import Belief, Lead, PooledBelief


def are_one(low: Lead, high: Lead) -> bool:
    """Whether two leads are one, so that a comparison is exact."""
    return (
        low.spend == high.spend
        and low.rate == high.rate
        and low.price == high.price
        and low.spread == high.spread
        and low.size == high.size
        and low.opened == high.opened
        and low.usual_price == high.usual_price
        and low.usual_rate == high.usual_rate
    )


def own_spread(belief: Belief | PooledBelief, low: float, high: float) -> float:
    """The sample variance, 1/T, of the arm's R − rX, r being the leader's rate: the larger at the two rates."""
    most = 0.0
    for rate in (low, high):
        most = max(most, belief.var_reward - 2.0 * rate * belief.cov + rate * rate * belief.var_cost)
    return most


def usual_spread(belief: Belief | PooledBelief, low: Lead, high: Lead) -> float:
    """s²: the variance of R − rX over all pulls, in proportion to the size of the arm's rewards.

    The size is the mean square of the arm's rewards and of one more that is like all others.
    """
    own = belief.mean_reward * belief.mean_reward + belief.var_reward
    if not (own > 0.0 and low.size > 0.0):
        return high.spread / (belief.pulls + 1)
    return high.spread * (belief.pulls * (own / low.size) + 1.0) / (belief.pulls + 1)


def largest_seen(known: float, low: Lead, high: Lead) -> float:
    """M: no R − rX is larger, by the largest reward and the extreme costs that have been seen; 0 if that is ≤ 0.

    `known` is the largest possible reward, or −∞; a larger one that was seen replaces it. Between two leads, M is 0
    also where it is ≤ 0 for one of those between.
    """
    least, most = seen_between(known, low, high)
    return most if least > 0.0 else 0.0


def seen_between(known: float, low: Lead, high: Lead) -> tuple[float, float]:
    """The least and the largest that M is for any lead between the two, each with its extremes."""
    least, most = math.inf, 0.0
    for lead in (low, high):
        reward = max(known, lead.reward_max)
        if low.rate < 0.0 < high.rate:
            least = min(least, reward)
        for rate in (low.rate, high.rate):
            bound = reward + (rate * max(0.0, -lead.cost_min) if rate >= 0.0 else -rate * max(0.0, lead.cost_max))
            least, most = min(least, bound), max(most, bound)
    return least, most


def unpaid(belief: Belief | PooledBelief, high: Lead) -> float:
    """1 for an arm that has paid nothing so far, 0 for one whose mean square reward is 1 % of the usual or more."""
    own = belief.mean_reward * belief.mean_reward + belief.var_reward
    return max(0.0, 1.0 - 100.0 * (own / high.size)) if own > 0.0 and high.size > 0.0 else 1.0


def least_own_spread(belief: Belief | PooledBelief, low: float, high: float) -> float:
    """The least sample variance of the arm's R − rX for any rate r between the two."""
    rate = low
    if belief.var_cost > 0.0:
        rate = min(max(belief.cov / belief.var_cost, low), high)
    return max(0.0, belief.var_reward - 2.0 * rate * belief.cov + rate * rate * belief.var_cost)
