"""Fractional KUBE: the densest arm of an optimistic knapsack."""

import math

from outlay.beliefs import Belief
from outlay.formulas.log_time import log_after
from outlay.formulas.unit import share
from outlay.parameters import Parameters, number
from outlay.policies.protocol import RisingScore


class FractionalKUBE(RisingScore, Parameters):
    """Fractional KUBE: an upper confidence bound of the reward over the mean cost.

        score = (R̄/M_R + √(2·ln t/T))/X̄      with t the pull to come; ∞ while T = 0 or X̄ ≤ 0

    In the paper the costs are known, one constant per arm; here the mean cost takes its place, without an interval.

    Args:
        reward_bound: M_R; rewards lie in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(FractionalKUBE().score(belief, log_n=math.log(99)), 6)
    1.658386

    Reference: Tran-Thanh, Chapman, Rogers, Jennings, "Knapsack based optimal policies for budget-limited multi-armed
    bandits", AAAI 2012.
    """

    reward_bound: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's density, log_n = ln(pulls so far)."""
        return density(belief, log_after(log_n, 1.0), self.reward_bound)


def density(belief: Belief, log_t: float, reward_bound: float) -> float:
    """(R̄/M_R + √(2·ln t/T))/X̄, KUBE's order of the arms; ∞ while T = 0 or X̄ ≤ 0."""
    if belief.pulls == 0 or belief.mean_cost <= 0.0:
        return math.inf
    return (share(belief.mean_reward, reward_bound) + math.sqrt(2.0 * log_t / belief.pulls)) / belief.mean_cost
