"""KL-UCB-SC: KL-UCB on cost and reward together."""

import math

from outlay.beliefs import Belief
from outlay.formulas.unit import UnitBounds, share
from outlay.parameters import number
from outlay.policies.baselines.b_kl_ucb import kl_upper
from outlay.policies.protocol import RisingScore

STEPS = 100  # more than it ever takes
CLOSE = 1e-14


class KLUCBSC(RisingScore, UnitBounds):
    """KL-UCB-SC: the largest rate of a pair of coins that the samples do not refute.

    With r̄ and c̄ the means as shares of their bounds, kl the divergence of two coins, f = ln n + c·ln max(1, ln n):

        score = max{q/p : T·(kl(c̄, p) + kl(r̄, q)) ≤ f}      ∞ while T = 0 or c̄ = 0

    For independent Bernoulli costs and rewards regret reaches the lower bound, Theorem 3 without its ½. The idea and
    that result are the paper's; we did not have its text at hand, and take c = 3 from KL-UCB. UCB-SC replaces the set
    by the circle around it.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].
        loglog: c ≥ 0; 0 is often better than the 3 of the theory.

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(KLUCBSC(loglog=0.0).score(belief, log_n=math.log(100)), 6)
    1.586618

    Reference: Watanabe, Komiyama, Nakamura, Kudo, "KL-UCB-based policy for budgeted multi-armed bandits with stochastic
    action costs", IEICE Transactions on Fundamentals E100-A (2017), 2470.
    """

    loglog: float = number(default=3.0, at_least=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = (log_n + self.loglog * math.log(max(1.0, log_n))) / belief.pulls
        cost = share(belief.mean_cost, self.cost_bound)
        return largest_ratio(cost, share(belief.mean_reward, self.reward_bound), level)


def largest_ratio(c: float, r: float, level: float) -> float:
    """The largest q/p with kl(c, p) + kl(r, q) ≤ level; ∞ where c = 0.

    There p = (c − s)/(1 − s) and q = (r + s)/(1 + s) for one s < c, at which −c·ln(1 − s/c) + ln(1 − s) − r·ln(1 + s/r)
    + ln(1 + s) is the level: Newton's method for v = −ln(1 − s/c), kept between an upper and a lower bound. Where c = 1
    the reward moves first, up to q = (1 + r)/2, and then the cost: −ln p is what is left of the level.

    >>> largest_ratio(0.5, 0.4, 0.0), round(largest_ratio(1.0, 0.4, math.log(100) / 50), 6)
    (0.8, 0.612733)
    """
    if c <= 0.0:
        return math.inf
    if level <= 0.0:
        return r / c
    if c >= 1.0:
        half = 0.5 * (1.0 + r)
        rest = level - math.log(2.0) + (r * math.log1p(1.0 / r) if r > 0.0 else 0.0)
        return half * math.exp(rest) if rest > 0.0 else kl_upper(r, level)
    low, high = 0.0, (level - math.log1p(-c)) / c
    v = high
    for _ in range(STEPS):
        s = -c * math.expm1(-v)
        shared = -r * math.log1p(s / r) if r > 0.0 else 0.0
        excess = c * v + math.log1p(-s) + shared + math.log1p(s) - level
        if excess > 0.0:
            high = v
        else:
            low = v
        # d/ds of both divergences times ds/dv, which is c − s
        slope = s * ((1.0 - c) / (1.0 - s) + (1.0 - r) * (c - s) / ((r + s) * (1.0 + s))) if s > 0.0 else 0.0
        after = v - excess / slope if slope > 0.0 else 0.5 * (low + high)
        if not low < after < high:
            after = 0.5 * (low + high)
        done = abs(after - v) <= CLOSE * v
        v = after
        if done:
            break
    s, least = -c * math.expm1(-v), c * math.exp(-v)
    return (r + s) * (1.0 - s) / ((1.0 + s) * least) if least > 0.0 else math.inf
