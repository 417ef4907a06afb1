"""Budget-UCB: intervals around reward and cost, a lower bound of the mean costs known."""

import math
from typing import NamedTuple, Self

from outlay.beliefs import Belief
from outlay.checks import real
from outlay.formulas.unit import checked_bounds, share
from outlay.parameters import Record


class _BudgetUCBFields(NamedTuple):
    min_cost: float
    cost_bound: float
    reward_bound: float


class BudgetUCB(Record, _BudgetUCBFields):
    """Budget-UCB: the rate of the means plus a bonus from both intervals.

    With r̄ and c̄ the means as shares of their bounds, λ = min_cost as a share of M_X, e = √(2·ln n/T):

        score = r̄/c̄ + (e/c̄)·(1 + min(r̄ + e, 1)/max(c̄ − e, λ))      ∞ while T = 0 or c̄ = 0

    Parameters
    ----------
        min_cost: λ·M_X > 0, at most the smallest mean cost; at most cost_bound.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=800, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(BudgetUCB(min_cost=0.25).score(belief, log_n=4.0), 6)
    1.25

    Reference: Xia, Ding, Zhang, Yu, Qin, "Budgeted bandit problems with continuous random costs", ACML 2015.
    """

    __slots__ = ()

    def __new__(cls, min_cost: float, cost_bound: float = 1.0, reward_bound: float = 1.0) -> Self:
        """Check the parameters."""
        owner = cls.__name__
        bounds = checked_bounds(owner, cost_bound, reward_bound)
        return super().__new__(cls, real(owner, "min_cost", min_cost, above=0, at_most=bounds[0]), *bounds)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost = share(belief.mean_cost, self.cost_bound)
        if belief.pulls == 0 or cost <= 0.0:
            return math.inf
        reward = share(belief.mean_reward, self.reward_bound)
        radius = math.sqrt(2.0 * log_n / belief.pulls)
        highest = min(reward + radius, 1.0) / max(cost - radius, self.min_cost / self.cost_bound)
        return reward / cost + radius / cost * (1.0 + highest)

    def phase(self, log_n: float) -> int:  # noqa: ARG002 (it never changes)
        """Always 0: between pulls of the arm the score never falls as log_n grows."""
        return 0
