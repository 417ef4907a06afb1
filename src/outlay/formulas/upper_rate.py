"""What the paper's policies share: the estimated rate, the stability condition, the upper confidence bound of a rate.

Proposition 2 of Cayci, Eryilmaz, Srikant (2020): if cost and reward are known within radii η and ε, and η is below
(λ−1)/λ of the mean cost, the rate is known within λ(ε + |r|η)/E[X]; λ = 1.28 throughout.
"""

import math

STABLE = 0.21875  # (λ − 1)/λ with λ = 1.28


def estimated_rate(mean_cost: float, mean_reward: float, min_cost: float) -> float:
    """r̂ = max(0, R̄)/max(b, X̄), with `min_cost` the paper's b > 0.

    >>> estimated_rate(2.0, 3.0, 1e-12)
    1.5
    """
    return max(0.0, mean_reward) / max(min_cost, mean_cost)


def upper_rate(
    rate: float, mean_cost: float, cost_radius: float, reward_radius: float, weight: float, factor: float
) -> float:
    """r̂ + factor·(ε + weight·η)/X̄ where the estimate is stable (η = 0 or η < 0.21875·X̄, X̄ > 0), else ∞.

    >>> upper_rate(rate=0.5, mean_cost=2.0, cost_radius=0.25, reward_radius=0.5, weight=2.0, factor=1.5)
    1.25
    >>> upper_rate(rate=0.5, mean_cost=1.0, cost_radius=0.25, reward_radius=0.5, weight=2.0, factor=1.5)
    inf
    """
    if not (mean_cost > 0.0 and (cost_radius == 0.0 or cost_radius < STABLE * mean_cost)):
        return math.inf
    score = rate + factor * (reward_radius + weight * cost_radius) / mean_cost
    # NaN (0·∞, ∞ − ∞) comes only from numbers that overflowed: nothing is known of the rate.
    return math.inf if math.isnan(score) else score
