"""Rivals that are optimistic: upper confidence bounds of rates from other papers, each named in its class.

Intervals around reward and cost (`MUCB`, `CUCB`, `IUCB`, `BudgetUCB`, `UCBBV1`, `UCBBV2`, `OmegaUCB`, `OmegaStarUCB`),
around the pair of means (`UCBSCPlus`), divergences of coins (`BKLUCB`, `KLUCBSC`), and one for a great many arms
(`UCBAIR`).
"""

import math

import numpy as np

from outlay.beliefs import Belief, Moments
from outlay.formulas.argmax import Now, log_after, precedes
from outlay.formulas.confidence import (
    LeastCost,
    UnitBounds,
    check_length,
    share,
    upper_over_lower,
    wilson_lower,
    wilson_upper,
)
from outlay.parameters import Array, Parameters, array, derived, integer, number
from outlay.policies.protocol import RisingScore

STEPS = 100  # of Newton's method, more than it ever takes
CLOSE, NEAR = 1e-15, 1e-14  # relative steps that end it


class Scaled(Parameters):
    """The parameters of m-UCB, c-UCB and i-UCB, each with a default of its own for α."""

    alpha: float = number(above=0)
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)


def shares_and_radius(
    alpha: float, cost_bound: float, reward_bound: float, belief: Belief, log_n: float
) -> tuple[float, float, float]:
    """c̄, r̄ and e = α·√(ln n/T); all 0 before the first pull."""
    if belief.pulls == 0:
        return 0.0, 0.0, 0.0
    cost, reward = share(belief.mean_cost, cost_bound), share(belief.mean_reward, reward_bound)
    return cost, reward, alpha * math.sqrt(log_n / belief.pulls)


class MUCB(RisingScore, Scaled):
    """m-UCB: an upper confidence bound of the reward over a lower one of the cost.

    With r̄ and c̄ the means as shares of their bounds, e = α·√(ln n/T):

        score = min(r̄ + e, 1)/(c̄ − e)      where c̄ > e, else ∞ (also while T = 0)

    Args:
        alpha: α > 0; larger explores more. The default is what the paper found best.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=100, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(MUCB(alpha=0.5).score(belief, log_n=4.0), 6)
    1.25

    Reference: Xia et al., "Finite budget analysis of multi-armed bandit problems", Neurocomputing 258 (2017).
    """

    alpha: float = number(default=0.0625, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's optimistic rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost, reward, radius = shares_and_radius(self.alpha, self.cost_bound, self.reward_bound, belief, log_n)
        return upper_over_lower(min(reward + radius, 1.0), 0.0, cost, radius)


class CUCB(RisingScore, Scaled):
    """c-UCB: an upper confidence bound of the reward over the mean cost.

    With r̄ and c̄ the means as shares of their bounds, e = α·√(ln n/T):

        score = (r̄ + e)/c̄      ∞ while T = 0 or c̄ = 0

    Args:
        alpha: α > 0; larger explores more. The default is what the paper found best.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=100, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(CUCB(alpha=0.5).score(belief, log_n=4.0), 6)
    1.0

    Reference: Xia et al., "Finite budget analysis of multi-armed bandit problems", Neurocomputing 258 (2017).
    """

    alpha: float = number(default=0.125, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's optimistic rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost, reward, radius = shares_and_radius(self.alpha, self.cost_bound, self.reward_bound, belief, log_n)
        return (reward + radius) / cost if cost > 0.0 else math.inf


class IUCB(RisingScore, Scaled):
    """i-UCB: the rate of the means plus a bonus that does not look at the cost.

    With r̄ and c̄ the means as shares of their bounds, e = α·√(ln n/T):

        score = r̄/c̄ + e      ∞ while T = 0 or c̄ = 0

    Args:
        alpha: α > 0; larger explores more. The default is what the paper found best.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=100, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(IUCB(alpha=0.5).score(belief, log_n=4.0), 6)
    0.9

    Reference: Xia et al., "Finite budget analysis of multi-armed bandit problems", Neurocomputing 258 (2017).
    """

    alpha: float = number(default=0.25, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's optimistic rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost, reward, radius = shares_and_radius(self.alpha, self.cost_bound, self.reward_bound, belief, log_n)
        return reward / cost + radius if cost > 0.0 else math.inf


class BudgetUCB(RisingScore, LeastCost):
    """Budget-UCB: the rate of the means plus a bonus from both intervals.

    With r̄ and c̄ the means as shares of their bounds, λ = min_cost as a share of M_X, e = √(2·ln n/T):

        score = r̄/c̄ + (e/c̄)·(1 + min(r̄ + e, 1)/max(c̄ − e, λ))      ∞ while T = 0 or c̄ = 0

    Args:
        min_cost: λ·M_X > 0, at most the smallest mean cost; at most cost_bound.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=800, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(BudgetUCB(min_cost=0.25).score(belief, log_n=4.0), 6)
    1.25

    Reference: Xia, Ding, Zhang, Yu, Qin, "Budgeted bandit problems with continuous random costs", ACML 2015.
    """

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost = share(belief.mean_cost, self.cost_bound)
        if belief.pulls == 0 or cost <= 0.0:
            return math.inf
        reward = share(belief.mean_reward, self.reward_bound)
        radius = math.sqrt(2.0 * log_n / belief.pulls)
        highest = min(reward + radius, 1.0) / max(cost - radius, self.min_cost / self.cost_bound)
        return reward / cost + radius / cost * (1.0 + highest)


class UCBBV1(RisingScore, LeastCost):
    """UCB-BV1: the rate of the means plus a bonus that the smallest mean cost scales.

    With r̄ and c̄ the means as shares of their bounds, λ = min_cost as a share of M_X, s = √(ln n/T):

        score = r̄/c̄ + (1 + 1/λ)·s/(λ − s)      where s < λ and c̄ > 0, else ∞ (also while T = 0)

    The condition s < λ forces ln n/λ² pulls on every arm before any is judged.

    Args:
        min_cost: λ·M_X > 0, at most the smallest mean cost; at most cost_bound.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=400, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(UCBBV1(min_cost=0.5).score(belief, log_n=4.0), 6)
    1.55

    Reference: Ding, Qin, Zhang, Liu, "Multi-armed bandit with budget constraint and variable costs", AAAI 2013.
    """

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        cost = share(belief.mean_cost, self.cost_bound)
        if belief.pulls == 0 or cost <= 0.0:
            return math.inf
        least = self.min_cost / self.cost_bound
        radius = math.sqrt(log_n / belief.pulls)
        if radius >= least:
            return math.inf
        return share(belief.mean_reward, self.reward_bound) / cost + (1.0 + 1.0 / least) * radius / (least - radius)


class UCBBV2(UnitBounds):
    """UCB-BV2: the rate of the means plus a bonus that the smallest observed mean cost scales.

    With r̄ and c̄ the means as shares of their bounds, λ the smallest c̄ of all arms, s = √(ln n/T):

        score = r̄/c̄ + (1/λ)·(1 + 1/(λ − s))·s      where s < λ, else ∞

    While some arm has cost nothing yet λ is 0, every score is ∞, and the arms are pulled in turn.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> memory = Moments.empty(2)
    >>> for arm in (0, 1):
    ...     memory.observe(arm, 0.5, 0.5 * arm)
    >>> UCBBV2().choose(memory, Now(pulls=2, log_n=0.693, spent=1.0), np.random.default_rng(0))
    0
    >>> UCBBV2().choose(memory, Now(pulls=1, log_n=0.0, spent=1.0), np.random.default_rng(0))
    1

    Reference: Ding, Qin, Zhang, Liu, "Multi-armed bandit with budget constraint and variable costs", AAAI 2013.
    """

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the arm with the largest score."""
        arms = len(memory.stats)
        smallest = 1.0
        for arm in range(arms):
            smallest = min(smallest, share(memory.belief(arm).mean_cost, self.cost_bound))
        best, top, least = 0, -math.inf, 0
        for arm in range(arms):
            belief, score = memory.belief(arm), math.inf
            if belief.pulls > 0:
                radius = math.sqrt(now.log_n / belief.pulls)
                if radius < smallest:
                    rate = share(belief.mean_reward, self.reward_bound) / share(belief.mean_cost, self.cost_bound)
                    score = rate + (1.0 / smallest) * (1.0 + 1.0 / (smallest - radius)) * radius
            if arm == 0 or precedes(score, belief.pulls, arm, top, least, best):
                best, top, least = arm, score, belief.pulls
        return best


class UCBSCPlus(RisingScore, UnitBounds):
    """UCB-SC+: the steepest line through the origin that touches a circle around the pair of means.

    With r̄ and c̄ the means as shares of their bounds, δ = ln(t/T)/(2T), t the pull to come, a = √(δ/(r̄² + c̄² − δ)):

        score = (r̄ + a·c̄)/(c̄ − a·r̄)      where c̄ > √δ, else ∞ (also while T = 0)

    computed as (r̄·c̄ + √δ·√(r̄² + c̄² − δ))/(c̄² − δ), which is the same without cancellation. The formula is that of
    public code of another paper's authors; the original statement was not at hand.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(UCBSCPlus().score(belief, log_n=math.log(99)), 6)
    1.04027

    Reference: Watanabe et al., on UCB-SC, a fast variant of KL-UCB-SC, IEICE Transactions (2017, 2018).
    """

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        cost = share(belief.mean_cost, self.cost_bound)
        reward = share(belief.mean_reward, self.reward_bound)
        radius = math.sqrt(max(0.0, log_after(log_n, 1.0) - math.log(belief.pulls)) / (2.0 * belief.pulls))
        rest = (cost - radius) * (cost + radius)
        if cost <= radius or rest <= 0.0:
            return math.inf
        return (reward * cost + radius * math.sqrt(reward * reward + rest)) / rest


class OmegaUCB(RisingScore, Parameters):
    """ω-UCB: Wilson's upper bound of the reward over his lower bound of the cost.

    With r̄ and c̄ the means as shares of their bounds, z² = 2ρ·ln(t + 1), t the pull to come, the bounds are the ends of
    {p : (p − p̂)² ≤ z²·p(1 − p)/T}; the upper one is at most 1. The score is ∞ while T = 0 or c̄ = 0.

    Args:
        rho: ρ > 0; larger explores more. ¼ is the authors' best on average; 1 is the least with logarithmic regret.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(OmegaUCB(rho=0.25).score(belief, log_n=math.log(98)), 6)
    1.283978

    Reference: Heyden et al., "Budgeted multi-armed bandits with asymmetric confidence intervals", KDD 2024.
    """

    rho: float = number(default=0.25, above=0)
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        g = 2.0 * self.rho * log_after(log_n, 2.0) / belief.pulls
        lower = wilson_lower(share(belief.mean_cost, self.cost_bound), g)
        if lower <= 0.0:
            return math.inf
        return wilson_upper(share(belief.mean_reward, self.reward_bound), g) / lower


class OmegaStarUCB(RisingScore, Parameters):
    """ω*-UCB: ω-UCB with z² multiplied by η ≤ 1, for reward and cost each.

    η is the sample variance over the largest that a law on [0, M] of this mean can have, x̄(M − x̄), both unbiased, and
    at most 1. It is 1 while T < `wait` or T < 2, and where x̄ is 0 or M.

    Args:
        rho: ρ > 0; larger explores more.
        wait: pulls of an arm before its variance is believed. 30 is the paper's; 0 is stronger on average but locks
            onto a wrong arm more often: two equal samples then leave no interval at all.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.01, var_reward=0.24, cov=0.0)
    >>> round(OmegaStarUCB(rho=0.25).score(belief, log_n=math.log(98)), 6)
    1.060028

    Reference: Heyden et al., "Budgeted multi-armed bandits with asymmetric confidence intervals", KDD 2024.
    """

    rho: float = number(default=0.25, above=0)
    wait: int = integer(default=30, at_least=0)
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate in units of M_R/M_X, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        g = 2.0 * self.rho * log_after(log_n, 2.0) / belief.pulls
        cost = share(belief.mean_cost, self.cost_bound)
        reward = share(belief.mean_reward, self.reward_bound)
        cost_eta = reward_eta = 1.0
        if belief.pulls >= max(2, self.wait):
            cost_eta = eta(cost, belief.var_cost, self.cost_bound)
            reward_eta = eta(reward, belief.var_reward, self.reward_bound)
        lower = wilson_lower(cost, cost_eta * g)
        if lower <= 0.0:
            return math.inf
        return wilson_upper(reward, reward_eta * g) / lower


def eta(share: float, variance: float, bound: float) -> float:
    """The variance over that of a coin with the same mean, at most 1; T/(T − 1) in both cancels."""
    largest = share * (1.0 - share)
    return min(1.0, variance / bound / bound / largest) if largest > 0.0 else 1.0


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

    Reference: Watanabe et al., "KL-UCB-based policy for budgeted multi-armed bandits with stochastic action costs",
    IEICE Transactions on Fundamentals E100-A (2017), 2470.
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
        done = abs(after - v) <= NEAR * v
        v = after
        if done:
            break
    s, least = -c * math.expm1(-v), c * math.exp(-v)
    return (r + s) * (1.0 - s) / ((1.0 + s) * least) if least > 0.0 else math.inf


class UCBAIR(RisingScore, Parameters):
    """UCB-AIR: open another arm while fewer than t^p are open, else pull the open arm with the largest UCB-V score.

    t is the pull to come; p = β/2 if β < 1, else β/(β + 1), where a new arm is within ε of the best with a chance of
    the order ε^β. Arms are opened in the order in which they are listed, so arm k, from 0, may be pulled once k < t^p.
    With r̂ = R̄/X̄, v the sample variance of R − r̂X and E = explore·ln n:

        score = r̂ + (√(2v·E/T) + 3b·E/T)/X̄      ∞ while T = 0 or X̄ ≤ 0, or T = 1 and b = 0

    and −∞ while T = 0 and k ≥ t^p. The paper has rewards in [0, 1] and no costs: there v is the variance of R, b and X̄
    are 1, and E is any sequence between 2·ln(10·ln t) and ln t. R − r̂X in place of R is our adaptation: to first order
    it is what moves R̄/X̄, as X̄ times the error of the rate. The last term guards against a v that is too small, and
    needs a bound; without one an arm is pulled twice before it is judged. A best mean of 1, for which the paper has
    p = β/(β + 1) whatever β, has no counterpart: nobody knows the largest possible rate.

    The order must say nothing about the arms: shuffle them where it might, for some may never be pulled.

    Args:
        beta: β > 0; larger opens more arms. 1 is for rates that are uniform near the best.
        explore: above 0; larger explores more.
        bound: b ≥ 0, the largest |R − r̂X|, where known; 0 leaves its term out.

    >>> belief = Belief(0, pulls=8, mean_cost=2.0, mean_reward=1.0, var_cost=1.0, var_reward=1.0, cov=0.25)
    >>> UCBAIR(bound=0.5).score(belief, log_n=4.0)
    1.375

    Reference: Wang, Audibert, Munos, "Algorithms for infinitely many-armed bandits", NeurIPS 2008; UCB-V: Audibert,
    Munos, Szepesvári, "Exploration-exploitation tradeoff using variance estimates in multi-armed bandits",
    Theoretical Computer Science 410 (2009).
    """

    beta: float = number(default=1.0, above=0)
    explore: float = number(default=1.0, above=0)
    bound: float = number(default=0.0, at_least=0)

    power: float = derived(lambda given: 0.5 * given.beta if given.beta < 1.0 else given.beta / (given.beta + 1.0))

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, if it may be pulled yet; log_n = ln(pulls so far)."""
        pulls = belief.pulls
        if pulls == 0:
            opens = belief.arm == 0 or math.log(belief.arm) < self.power * log_after(log_n, 1.0)
            return math.inf if opens else -math.inf
        if belief.mean_cost <= 0.0 or (pulls == 1 and self.bound == 0.0):
            return math.inf
        rate = belief.mean_reward / belief.mean_cost
        variance = max(0.0, belief.var_reward - rate * (2.0 * belief.cov - rate * belief.var_cost))
        level = self.explore * log_n / pulls
        score = rate + (math.sqrt(2.0 * variance * level) + 3.0 * self.bound * level) / belief.mean_cost
        return math.inf if math.isnan(score) else score  # from a cost so small that the rate overflows
