"""The best arm alone, for a budget and a number of requests: what who knows all means and does not mix would pull."""

import math

import numpy as np

from outlay.beliefs import HullMoments
from outlay.formulas.argmax import Now
from outlay.formulas.confidence import budget_or_infinity, requests_or_infinity
from outlay.parameters import Array, Parameters, array, derived, number


class BestFixed(Parameters):
    """Pull the arm that brings most alone: the largest mean reward times the share of the requests that it can serve.

    Args:
        costs, rewards: the true mean cost, above 0, and mean reward of every arm.
        budget, requests: B and N; `simulate` fills them in.

    >>> policy = BestFixed([0.1, 1.0], [0.3, 0.9], budget=50.0, requests=100)
    >>> policy.choose(policy.memory(2), Now(pulls=0, log_n=0.0, spent=0.0), np.random.default_rng(0))  # 0.3 < 0.45
    1
    """

    costs: Array = array(above=0)
    rewards: Array = array()
    budget: float | None = number(default=None, above=0)
    requests: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)
    known_requests: float = derived(requests_or_infinity)

    def memory(self, arms: int) -> HullMoments:
        """What it would not need."""
        return HullMoments.empty(arms)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (it is told all)
        """Return that arm."""
        best, most = 0, -math.inf
        for arm in range(len(memory.pulls)):
            served = min(1.0, self.known_budget / (self.known_requests * self.costs[arm]))
            if self.rewards[arm] * served > most:
                best, most = arm, self.rewards[arm] * served
        return best
