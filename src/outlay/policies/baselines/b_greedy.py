"""b-greedy: the best rate, and now and then any arm."""

import numpy as np

from outlay.beliefs import Moments
from outlay.formulas.choices.choose import Now
from outlay.formulas.rates import best_rate
from outlay.parameters import Parameters, number


class BGreedy(Parameters):
    """Any of the K arms with probability min(1, explore·K/t) at pull t, else the arm with the largest ΣR/ΣX.

    Every arm is pulled once first. An arm that has cost nothing yet counts as the best.

    Args:
        explore: above 0; larger explores more. The default 1 is the paper's K/t.

    >>> policy, rng = BGreedy(), np.random.default_rng(0)
    >>> [policy.choose(Moments.empty(3), Now(pulls=n, log_n=0.0, spent=0.0), rng) for n in range(3)]
    [0, 1, 2]

    Reference: Xia, Qin, Ding, Li, Zhang, Yu, Liu, "Finite budget analysis of multi-armed bandit problems",
    Neurocomputing 258 (2017).
    """

    explore: float = number(default=1.0, above=0)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:
        """Return an arm in turn, any arm, or the best."""
        arms = len(memory.stats)
        if now.pulls < arms:
            return now.pulls
        if rng.random() * (now.pulls + 1) < self.explore * arms:
            return int(rng.random() * arms)
        return best_rate(memory)
