"""KUBE: fill a knapsack of the budget that is left, and pull an arm at random from it."""

import math

import numpy as np

from outlay.beliefs import Moments
from outlay.formulas.choices.choose import Now, precedes
from outlay.formulas.log_time import log_after
from outlay.parameters import Parameters, derived, number
from outlay.policies.baselines.fractional_kube import density
from outlay.policies.baselines.told_budget import budget_or_infinity

MOST = 1e300  # times that an arm can fit


class KUBE(Parameters):
    """KUBE: an arm drawn from the density-ordered greedy knapsack of the budget that is left.

    Arms in falling order of (R̄/M_R + √(2·ln t/T))/X̄; each is taken m = ⌊left/X̄⌋ times, which leaves less than its
    mean cost; then arm i is pulled with probability m_i/Σm. Where no mean cost fits any more, and while some arm has
    not been pulled or has a mean cost ≤ 0, the densest arm is pulled.

    In the paper the costs are known, one constant per arm; here the mean cost takes its place.

    Args:
        reward_bound: M_R; rewards lie in [0, M_R].
        budget: B; `simulate` fills it in. While it is unknown (None) the densest arm is pulled.

    >>> memory = Moments.empty(2)
    >>> memory.observe(0, 2.0, 1.0)
    >>> memory.observe(1, 1.0, 0.1)
    >>> policy, rng = KUBE(budget=9.0), np.random.default_rng(0)  # three of arm 1 fit into what is left, and none else
    >>> [policy.choose(memory, Now(pulls=2, log_n=0.693, spent=6.0), rng) for _ in range(5)]
    [1, 1, 1, 1, 1]

    Reference: Tran-Thanh, Chapman, Rogers, Jennings, "Knapsack based optimal policies for budget-limited multi-armed
    bandits", AAAI 2012.
    """

    reward_bound: float = number(default=1.0, above=0)
    budget: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:
        """Fill the knapsack and draw from it on the way: a new arm replaces the drawn one with the chance m_i/Σm."""
        log_t = log_after(now.log_n, 1.0)
        left = self.known_budget - now.spent
        chosen = densest(memory, log_t, self.reward_bound, math.inf)
        first = memory.belief(chosen)
        if first.pulls == 0 or first.mean_cost <= 0.0 or left == math.inf:
            return chosen
        packed = 0.0
        for _ in range(len(memory.stats)):
            arm = densest(memory, log_t, self.reward_bound, left)
            if arm < 0:
                break
            cost = memory.belief(arm).mean_cost
            times = min(left / cost, MOST)
            times -= times % 1.0
            packed += times
            if rng.random() * packed < times:
                chosen = arm
            left -= times * cost
        return chosen


def densest(memory: Moments, log_t: float, reward_bound: float, left: float) -> int:
    """The arm of the largest density among those whose mean cost is at most `left`; −1 if there is none."""
    best, top, least = -1, -math.inf, 0
    for arm in range(len(memory.stats)):
        belief = memory.belief(arm)
        if belief.mean_cost <= left:
            dense = density(belief, log_t, reward_bound)
            if best < 0 or precedes(dense, belief.pulls, arm, top, least, best):
                best, top, least = arm, dense, belief.pulls
    return best
