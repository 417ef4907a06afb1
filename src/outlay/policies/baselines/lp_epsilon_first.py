"""ε-first with a linear program: explore with a part of both budgets, then play the optimal mix."""

import numpy as np

from outlay.beliefs import HullMoments
from outlay.formulas.choices.choose import Now
from outlay.parameters import number
from outlay.policies.baselines.two_budgets import TwoBudgets, drawn_end, left_per_request, unpulled


class LPEpsilonFirst(TwoBudgets):
    """Pull the arms in turn until ε·B is spent or ε·N pulls are made, then an arm of the optimal mix, as `LPGreedy`.

    Args:
        budget: B; `simulate` fills it in. None: no limit.
        requests: N, likewise. With neither, the arms are pulled in turn for ever.
        epsilon: the part of both for exploring, above 0 and below 1.

    >>> policy = LPEpsilonFirst(budget=50.0, requests=100)
    >>> policy.choose(policy.memory(3), Now(pulls=7, log_n=1.946, spent=4.5), np.random.default_rng(0))
    1

    Reference: `EpsilonFirst`, with the linear program of Li, Sun, Ye, "The symmetry between arms and knapsacks",
    arXiv 2102.06385, in place of the knapsack.
    """

    epsilon: float = number(default=0.1, above=0, below=1)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """The next arm in turn, or one of the mix."""
        arms = len(memory.pulls)
        exploring = now.pulls < self.epsilon * self.known_requests and now.spent < self.epsilon * self.known_budget
        if now.pulls < arms or exploring:
            return now.pulls % arms
        first = unpulled(memory)
        if first < arms:
            return first
        c = left_per_request(self.known_budget, self.known_requests, now)
        return drawn_end(memory.costs, memory.rewards, c, now, rng)
