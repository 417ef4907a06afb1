"""√n-greedy: the best rate of as many arms as the root of the pulls."""

import math

from outlay.beliefs import Belief
from outlay.formulas.rates import observed_rate
from outlay.parameters import Parameters
from outlay.policies.protocol import RisingScore


class RootGreedy(RisingScore, Parameters):
    """Open another arm while fewer than 1 + √n are open, else pull the open arm with the largest R̄/X̄; told nothing.

    For hundreds of arms and few pulls for each. Arms are opened in the order in which they are listed, so arm k, from
    0, may be pulled once k < 1 + √n:

        score = R̄/X̄      ∞ while T = 0 or X̄ ≤ 0, and −∞ while T = 0 and k ≥ 1 + √n

    The order must say nothing about the arms: shuffle them where it might, for the last of K arms is opened after
    (K − 2)² pulls.

    >>> fresh = Belief(arm=2, pulls=0, mean_cost=0.0, mean_reward=0.0, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> [RootGreedy().score(fresh, math.log(n)) for n in (1, 2)]
    [-inf, inf]

    Reference: the count of arms is that of Wang, Audibert, Munos, "Algorithms for infinitely many-armed bandits",
    NeurIPS 2008, for rates that are uniform near the best; pulling the best of them is the folklore of such problems.
    """

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's observed rate, if it may be pulled yet; log_n = ln(pulls so far)."""
        if belief.pulls == 0 and belief.arm > 1 and not math.log(belief.arm - 1.0) < 0.5 * log_n:
            return -math.inf
        return observed_rate(belief)
