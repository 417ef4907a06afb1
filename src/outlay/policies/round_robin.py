"""Every arm equally often: the policy that learns nothing."""

import numpy as np

from outlay.beliefs import Moments
from outlay.formulas.choices.choose import Now
from outlay.parameters import Parameters


class RoundRobin(Parameters):
    """Pull the arms in turn, 0, 1, …, K − 1, 0, …: the pulls of any two arms differ by at most one.

    What exploring without learning brings; any policy should beat it.

    >>> RoundRobin().choose(Moments.empty(3), Now(pulls=4, log_n=1.386, spent=5.0), np.random.default_rng(0))
    1
    """

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the next arm in turn."""
        return now.pulls % len(memory.stats)
