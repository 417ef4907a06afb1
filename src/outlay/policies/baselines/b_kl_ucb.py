"""B-KL-UCB: KL-UCB's bound of the reward over a known cost."""

import math

from outlay.beliefs import Belief
from outlay.formulas.known_moments import check_length
from outlay.formulas.unit import share
from outlay.parameters import Array, Parameters, array, number
from outlay.policies.protocol import RisingScore

STEPS = 50  # more than it ever takes
CLOSE = 1e-15


class BKLUCB(RisingScore, Parameters):
    """B-KL-UCB: the largest mean reward that the samples do not refute, over the mean cost, which is known.

    With r̄ the mean reward as a share of its bound, kl the divergence of two coins, f = ln n + c·ln max(1, ln n):

        score = max{q : T·kl(r̄, q) ≤ f}/cost      ∞ while T = 0

    The form is the paper's; c = 3 is KL-UCB's own, and whether the paper has the same one is not certain.

    Args:
        costs: the mean cost of every arm, above 0: one number for all, or one per arm.
        reward_bound: M_R; rewards lie in [0, M_R].
        loglog: c ≥ 0; 0 is often better than the 3 of the theory.

    >>> belief = Belief(0, pulls=50, mean_cost=0.0, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(BKLUCB(costs=0.5, loglog=0.0).score(belief, log_n=math.log(100)), 6)
    1.225466

    Reference: Combes, Jiang, Srikant, "Bandits with budgets: regret lower bounds and optimal algorithms", SIGMETRICS
    2015; Garivier, Cappé, "The KL-UCB algorithm for bounded stochastic bandits and beyond", COLT 2011.
    """

    costs: Array = array(above=0)
    reward_bound: float = number(default=1.0, above=0)
    loglog: float = number(default=3.0, at_least=0)

    def check(self, arms: int) -> None:
        """Refuse a number of arms that the costs were not given for."""
        check_length(type(self).__name__, "costs", self.costs, arms)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = (log_n + self.loglog * math.log(max(1.0, log_n))) / belief.pulls
        cost = float(self.costs[belief.arm if len(self.costs) > 1 else 0])
        return kl_upper(share(belief.mean_reward, self.reward_bound), level) / cost


def kl_upper(p: float, level: float) -> float:
    """The largest q with kl(p, q) ≤ level, by Newton's method for u = −ln(1 − q).

    kl is convex in u, so from above Newton's method falls towards the root, and ends where rounding stops it. It starts
    at the smaller of two upper bounds: Pinsker's, and the one that leaves out −p·ln q.

    >>> kl_upper(0.0, math.log(2.0)), round(kl_upper(0.4, math.log(100) / 50), 6)
    (0.5, 0.612733)
    """
    if p >= 1.0 or level <= 0.0:
        return p
    if p <= 0.0:
        return -math.expm1(-level)
    rest = 1.0 - p
    most = level - p * math.log(p) - rest * math.log(rest)
    u = most / rest
    pinsker = rest - math.sqrt(0.5 * level)
    if pinsker > 0.0:
        u = min(u, -math.log(pinsker))
    for _ in range(STEPS):
        q = -math.expm1(-u)
        excess = rest * u - p * math.log(q) - most
        step = excess * q / (q - p) if q > p else 0.0
        if not step > CLOSE * u:
            break
        u -= step
    return max(p, -math.expm1(-u))
