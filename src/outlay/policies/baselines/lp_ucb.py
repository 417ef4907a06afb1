"""Optimistic LP: the linear program of what the arms may yet turn out to be worth."""

import math

import numpy as np

from outlay.beliefs import HullMoments
from outlay.formulas.choices.choose import Now
from outlay.parameters import number
from outlay.policies.baselines.two_budgets import TwoBudgets, drawn_end, left_per_request, unpulled


class LPUCB(TwoBudgets):
    """Pull every arm once, then an arm of the optimal mix for what is left, with upper confidence bounds for rewards.

    With s² the sample variance of the arm's rewards and of one more that is as variable as all are together:

        R̄ + alpha·s·√(2·ln n/T)

    The paper is optimistic about costs, too, and knows that all lies in [0, 1]; here costs are the means so far, which
    loses less where they vary by orders of magnitude.

    Args:
        budget: B; `simulate` fills it in. None: no limit.
        requests: N, likewise.
        alpha: above 0; larger explores more.

    >>> policy, rng = LPUCB(budget=10.0, requests=30), np.random.default_rng(0)
    >>> memory = policy.memory(arms=2)
    >>> memory.observe(0, 0.1, 0.3)
    >>> memory.observe(1, 0.6, 0.8)
    >>> policy.choose(memory, Now(pulls=2, log_n=0.693, spent=0.7), rng)
    0

    Reference: Agrawal, Devanur, "Bandits with concave rewards and convex knapsacks", EC 2014, arXiv 1402.5758.
    """

    alpha: float = number(default=0.3, above=0)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """An arm without a sample, or one of the optimistic mix."""
        first = unpulled(memory)
        if first < len(memory.pulls):
            return first
        for arm in range(len(memory.pulls)):
            radius = self.alpha * reward_spread(memory, arm) * math.sqrt(2.0 * now.log_n / memory.pulls[arm])
            memory.other[1, arm] = memory.rewards[arm] + radius
        c = left_per_request(self.known_budget, self.known_requests, now)
        return drawn_end(memory.costs, memory.other[1], c, now, rng)


def reward_spread(memory: HullMoments, arm: int) -> float:
    """The standard deviation of the arm's rewards and of one more that is as variable as all are together.

    >>> memory = HullMoments.empty(1)
    >>> for reward in (0.0, 1.0):
    ...     memory.observe(0, 1.0, reward)
    >>> reward_spread(memory, 0)
    0.5
    """
    belief, everything = memory.belief(arm), memory.arms.belief(len(memory.pulls))
    return math.sqrt((belief.pulls * belief.var_reward + everything.var_reward) / (belief.pulls + 1))
