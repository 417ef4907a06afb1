"""Thompson sampling with a linear program."""

import math

import numpy as np

from outlay.beliefs import HullMoments
from outlay.formulas.choices.choose import Now
from outlay.parameters import number
from outlay.policies.baselines.lp_ucb import reward_spread
from outlay.policies.baselines.two_budgets import TwoBudgets, drawn_end, left_per_request, unpulled


class LPThompson(TwoBudgets):
    """Pull every arm once, then an arm of the optimal mix for what is left, with rewards drawn from their posteriors.

    The posterior of a mean reward is Gaussian around R̄ with the deviation scale·s/√T, s as for `LPUCB`; in the paper
    costs are known, and here they are the means so far.

    Args:
        budget: B; `simulate` fills it in. None: no limit.
        requests: N, likewise.
        scale: above 0; less explores less.

    >>> policy, rng = LPThompson(budget=10.0, requests=30), np.random.default_rng(0)
    >>> memory = policy.memory(arms=2)
    >>> memory.observe(0, 0.1, 0.3)
    >>> memory.observe(1, 0.6, 0.8)
    >>> [policy.choose(memory, Now(pulls=2, log_n=0.693, spent=0.7), rng) for _ in range(6)]
    [1, 0, 0, 1, 1, 1]

    Reference: Ferreira, Simchi-Levi, Wang, "Online network revenue management using Thompson sampling", Operations
    Research 66 (2018).
    """

    scale: float = number(default=1.0, above=0)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """An arm without a sample, or one of the mix of what was drawn."""
        first = unpulled(memory)
        if first < len(memory.pulls):
            return first
        for arm in range(len(memory.pulls)):
            deviation = self.scale * reward_spread(memory, arm) / math.sqrt(memory.pulls[arm])
            memory.other[1, arm] = memory.rewards[arm] + deviation * rng.standard_normal()
        c = left_per_request(self.known_budget, self.known_requests, now)
        return drawn_end(memory.costs, memory.other[1], c, now, rng)
