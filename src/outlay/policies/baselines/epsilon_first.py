"""ε-first: explore with a part of the budget, then play the best rate."""

import numpy as np

from outlay.beliefs import Moments
from outlay.formulas.choices.choose import Now
from outlay.formulas.rates import best_rate
from outlay.parameters import Parameters, derived, number
from outlay.policies.baselines.told_budget import budget_or_infinity


class EpsilonFirst(Parameters):
    """Pull the arms in turn until ε·B is spent, then the arm with the largest R̄/X̄.

    The paper solves a knapsack problem with the estimates of the first part, whose costs are known constants; here
    costs are random, the best rate is played, and its estimate goes on learning.

    Args:
        epsilon: the part of the budget for exploring, above 0 and below 1.
        budget: B; `simulate` fills it in. While it is unknown (None) the arms are pulled in turn for ever.

    >>> policy = EpsilonFirst(epsilon=0.1, budget=50.0)
    >>> policy.choose(Moments.empty(3), Now(pulls=7, log_n=1.946, spent=4.5), np.random.default_rng(0))
    1

    Reference: Tran-Thanh, Chapman, Munoz de Cote, Rogers, Jennings, "Epsilon-first policies for budget-limited
    multi-armed bandits", AAAI 2010.
    """

    epsilon: float = number(default=0.1, above=0, below=1)
    budget: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the next arm in turn, or the best."""
        arms = len(memory.stats)
        if now.pulls < arms or now.spent < self.epsilon * self.known_budget:
            return now.pulls % arms
        return best_rate(memory)
