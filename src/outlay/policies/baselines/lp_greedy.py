"""Greedy LP: the linear program of the means so far, solved anew at every pull, no exploration."""

import numpy as np

from outlay.beliefs import HullMoments
from outlay.formulas.choices.choose import Now
from outlay.policies.baselines.two_budgets import TwoBudgets, drawn_end, left_per_request, unpulled


class LPGreedy(TwoBudgets):
    """Pull every arm once, then an arm of the optimal mix of the mean costs and rewards so far, for what is left.

    The mix solves max Σp·R̄ subject to Σp·X̄ ≤ b/n and Σp ≤ 1: at most two arms, one of which is drawn. It is what is
    played when means are known; with estimates it locks onto wrong arms, as `Greedy` does.

    Args:
        budget: B; `simulate` fills it in. None: no limit.
        requests: N, likewise.

    >>> policy, rng = LPGreedy(budget=10.0, requests=30), np.random.default_rng(0)
    >>> memory = policy.memory(arms=2)
    >>> memory.observe(0, 0.1, 0.3)
    >>> memory.observe(1, 0.6, 0.8)
    >>> [policy.choose(memory, Now(pulls=2, log_n=0.693, spent=0.7), rng) for _ in range(6)]
    [0, 1, 1, 1, 0, 0]

    Reference: Jasin, Kumar, "A re-solving heuristic with bounded revenue loss for network revenue management with
    customer choice", Mathematics of Operations Research 37 (2012).
    """

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """An arm without a sample, or one of the mix."""
        first = unpulled(memory)
        if first < len(memory.pulls):
            return first
        c = left_per_request(self.known_budget, self.known_requests, now)
        return drawn_end(memory.costs, memory.rewards, c, now, rng)
