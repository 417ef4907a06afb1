"""What the samples of one arm say, and what follows from it: the slope and the residual variance.

Reference: Section 4.2 of Cayci, Eryilmaz, Srikant (2020) for both (LMMSE).
"""

from typing import NamedTuple

Sample = tuple[float, float]  # cost and reward


class Belief(NamedTuple):
    """What the samples of one arm say: their number, means, biased (1/T) variances and covariance; zeros before any."""

    arm: int
    pulls: int
    mean_cost: float
    mean_reward: float
    var_cost: float
    var_reward: float
    cov: float


def slope(belief: Belief) -> float:
    """ω = Cov(X, R)/Var(X), the slope of the best linear guess of the reward from the cost; 0 when Var(X) = 0.

    >>> slope(Belief(0, 9, 1.0, 1.0, var_cost=4.0, var_reward=9.0, cov=2.0))
    0.5
    """
    if belief.var_cost > 0.0 and belief.cov != 0.0:  # a GPU divides 0 slowly
        return belief.cov / belief.var_cost
    return 0.0


def residual_variance(belief: Belief) -> float:
    """V = min over ω of Var(R − ωX) = Var(R) − ω²Var(X): what the cost cannot explain of the reward, at least 0.

    >>> residual_variance(Belief(0, 9, 1.0, 1.0, var_cost=4.0, var_reward=9.0, cov=2.0))
    8.0
    """
    # ω·Cov is ω²Var(X) with one rounding less, and does not overflow where ω² would.
    return max(0.0, belief.var_reward - slope(belief) * belief.cov)
