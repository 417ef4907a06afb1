"""Rivals that fill a knapsack: with the budget that is left, or with money and requests by a linear program.

`KUBE` and `FractionalKUBE` order arms by density, `PDBwK` and `PDBwKRequests` raise prices as budgets are used up; the
others draw an arm from the optimal mix of two (`formulas.pricing`) for what is left, by means or by more than these.
"""

import math

import numpy as np

from outlay.beliefs import Belief, HullMoments, Moments
from outlay.beliefs.sequential import points_among
from outlay.checks import Vector
from outlay.formulas.argmax import Counts, Now, log_after, precedes
from outlay.formulas.confidence import UnitBounds, budget_or_infinity, requests_or_infinity, share, upper_over_lower
from outlay.formulas.pricing import NOTHING, per_request, prices
from outlay.parameters import Parameters, derived, number
from outlay.policies.protocol import RisingScore

MOST = 1e300  # times that an arm can fit


class FractionalKUBE(RisingScore, Parameters):
    """Fractional KUBE: an upper confidence bound of the reward over the mean cost.

        score = (R̄/M_R + √(2·ln t/T))/X̄      with t the pull to come; ∞ while T = 0 or X̄ ≤ 0

    In the paper the costs are known, one constant per arm; here the mean cost takes its place, without an interval.

    Args:
        reward_bound: M_R; rewards lie in [0, M_R].

    >>> belief = Belief(0, pulls=50, mean_cost=0.5, mean_reward=0.4, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(FractionalKUBE().score(belief, log_n=math.log(99)), 6)
    1.658386

    Reference: Tran-Thanh et al., "Knapsack based optimal policies for budget-limited multi-armed bandits", AAAI 2012.
    """

    reward_bound: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's density, log_n = ln(pulls so far)."""
        return density(belief, log_after(log_n, 1.0), self.reward_bound)


def density(belief: Belief, log_t: float, reward_bound: float) -> float:
    """(R̄/M_R + √(2·ln t/T))/X̄, KUBE's order of the arms; ∞ while T = 0 or X̄ ≤ 0."""
    if belief.pulls == 0 or belief.mean_cost <= 0.0:
        return math.inf
    return (share(belief.mean_reward, reward_bound) + math.sqrt(2.0 * log_t / belief.pulls)) / belief.mean_cost


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

    Reference: Tran-Thanh et al., "Knapsack based optimal policies for budget-limited multi-armed bandits", AAAI 2012.
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


class PDBwK(UnitBounds):
    """PD-BwK: an upper confidence bound of the reward over a lower one of the cost, at one level for the whole budget.

    With r̄ and c̄ the means as shares of their bounds, rad(x) = √(C·x/T) + C/T:

        score = min(r̄ + rad(r̄), 1)/(c̄ − rad(c̄))      where c̄ > rad(c̄), else ∞ (also while T = 0)

    The algorithm divides by v·(c̄ − rad(c̄)), v a price that grows by (1 + ε) to the power of the lower cost, and
    ε = √(ln d/B) for d resources: with the budget as the only one ε is 0 and v stays 1. The paper's C is of the order
    ln(d·K·rounds); rounds are unknown here, and C = factor·ln(K·B/M_X), at least `factor`, is our reading.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].
        factor: above 0; larger explores more.
        budget: B; `simulate` fills it in. While it is unknown (None) the arms are pulled in turn.

    >>> memory = Moments.empty(1)
    >>> PDBwK(budget=100.0).choose(memory, Now(pulls=0, log_n=0.0, spent=0.0), np.random.default_rng(0))
    0

    Reference: Badanidiyuru, Kleinberg, Slivkins, "Bandits with knapsacks", FOCS 2013.
    """

    factor: float = number(default=1.0, above=0)
    budget: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the arm with the largest score."""
        arms = len(memory.stats)
        if self.known_budget == math.inf:
            return now.pulls % arms
        level = self.factor * max(1.0, math.log(arms * max(1.0, self.known_budget / self.cost_bound)))
        best, top, least = 0, -math.inf, 0
        for arm in range(arms):
            belief = memory.belief(arm)
            score = math.inf
            if belief.pulls > 0:
                cost = share(belief.mean_cost, self.cost_bound)
                reward = share(belief.mean_reward, self.reward_bound)
                highest = min(reward + knapsack_radius(reward, belief.pulls, level), 1.0)
                score = upper_over_lower(highest, 0.0, cost, knapsack_radius(cost, belief.pulls, level))
            if arm == 0 or precedes(score, belief.pulls, arm, top, least, best):
                best, top, least = arm, score, belief.pulls
        return best


def knapsack_radius(share: float, pulls: int, level: float) -> float:
    """√(C·x/T) + C/T with C the level."""
    return math.sqrt(level * share / pulls) + level / pulls


class TwoBudgets(Parameters):
    """The parameters of a policy that may spend `budget` in at most `requests` pulls; None for no limit."""

    budget: float | None = number(default=None, above=0)
    requests: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)
    known_requests: float = derived(requests_or_infinity)

    def memory(self, arms: int) -> HullMoments:
        """The arms as points (mean cost, mean reward)."""
        return HullMoments.empty(arms)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """The arm to pull."""
        raise NotImplementedError

    def choose_among(self, memory: HullMoments, arms: Counts, now: Now, rng: np.random.Generator) -> int:
        """The arm to pull where only these may be."""
        return int(arms[self.choose(points_among(memory, arms), now, rng)])


def unpulled(memory: HullMoments) -> int:
    """The first arm without a sample, or the number of arms."""
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] == 0:
            return arm
    return len(memory.pulls)


def drawn_end(
    costs: Vector, rewards: Vector, budget: float, requests: float, now: Now, rng: np.random.Generator
) -> int:
    """An end of the edge of these points, drawn with the shares that use up money and requests together.

    Where a share of the requests is not to be served, the arm is pulled none the less: what is left decides when to
    end. While nothing pays, the arms are pulled in turn.
    """
    c = per_request(max(0.0, budget - now.spent), max(1.0, requests - now.pulls))
    edge = prices(costs, rewards, c)
    if edge.low == NOTHING or edge.high == NOTHING:
        end = edge.high if edge.low == NOTHING else edge.low
        return now.pulls % len(costs) if end == NOTHING else end
    across = costs[edge.high] - costs[edge.low]
    return edge.high if rng.random() * across < c - costs[edge.low] else edge.low


class PDBwKRequests(TwoBudgets):
    """PD-BwK with prices of money and of requests that grow as each is used up.

    With budgets scaled to one number, b = min(B/M_X, N), a pull uses b·c̄·M_X/B of the one and b/N of the other, c̄ and
    r̄ being the means as shares of their bounds. At ε = √(ln 2/b) and prices (1 + ε) to the power of what was used:

        score = min(r̄ + rad(r̄), 1)/(price·(c̄ − rad(c̄))⁺·b·M_X/B + price·b/N),  rad(x) = √(C·x/T) + C/T

    ∞ while T = 0. In the paper the lower bounds of what was used are summed up, here what was used; C = ln(2KN) is of
    the order that it asks for.

    Args:
        budget: B; `simulate` fills it in. While it is unknown (None) only requests have a price.
        requests: N, likewise. With neither, the arms are pulled in turn.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> policy = PDBwKRequests(budget=50.0, requests=100)
    >>> policy.choose(policy.memory(3), Now(pulls=0, log_n=0.0, spent=0.0), np.random.default_rng(0))
    0

    Reference: Badanidiyuru, Kleinberg, Slivkins, "Bandits with knapsacks", FOCS 2013, arXiv 1305.2545.
    """

    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the arm with the largest score."""
        arms, rounds, size = len(memory.pulls), self.known_requests, self.known_budget / self.cost_bound
        least = min(size, rounds)
        if least == math.inf:
            return now.pulls % arms
        level = math.log(2.0 * arms * max(1.0, rounds if rounds < math.inf else size))
        growth = math.log1p(math.sqrt(math.log(2.0) / least))
        money, request = (least / size if size < math.inf else 0.0), (least / rounds if rounds < math.inf else 0.0)
        money_price = money * math.exp(growth * money * max(0.0, now.spent) / self.cost_bound)
        request_price = request * math.exp(growth * request * now.pulls)
        best, top = 0, -math.inf
        for arm in range(arms):
            score, pulls = math.inf, memory.pulls[arm]
            if pulls > 0:
                cost, reward = share(memory.costs[arm], self.cost_bound), share(memory.rewards[arm], self.reward_bound)
                low = max(0.0, cost - knapsack_radius(cost, pulls, level))
                due = money_price * low + request_price
                high = min(1.0, reward + knapsack_radius(reward, pulls, level))
                score = high / due if due > 0.0 else math.inf
            if arm == 0 or precedes(score, pulls, arm, top, memory.pulls[best], best):
                best, top = arm, score
        return best


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
        return drawn_end(memory.costs, memory.rewards, self.known_budget, self.known_requests, now, rng)


class LPGreedy(TwoBudgets):
    """Pull every arm once, then an arm of the optimal mix of the mean costs and rewards so far, for what is left.

    The mix solves max Σp·R̄ subject to Σp·X̄ ≤ b/n and Σp ≤ 1: at most two arms, one of which is drawn. It is what is
    played when means are known; with estimates it locks onto wrong arms, as `Greedy` does.

    Args:
        budget: B; `simulate` fills it in. None: no limit.
        requests: N, likewise.

    >>> policy, rng = LPGreedy(budget=10.0, requests=30), np.random.default_rng(0)
    >>> memory = policy.memory(arms=2)
    >>> memory.observe(0, 0.1, 0.3)
    >>> memory.observe(1, 0.6, 0.8)
    >>> [policy.choose(memory, Now(pulls=2, log_n=0.693, spent=0.7), rng) for _ in range(6)]
    [0, 1, 1, 1, 0, 0]

    Reference: Jasin, Kumar, "A re-solving heuristic with bounded revenue loss for network revenue management with
    customer choice", Mathematics of Operations Research 37 (2012).
    """

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """An arm without a sample, or one of the mix."""
        first = unpulled(memory)
        if first < len(memory.pulls):
            return first
        return drawn_end(memory.costs, memory.rewards, self.known_budget, self.known_requests, now, rng)


class LPUCB(TwoBudgets):
    """Pull every arm once, then an arm of the optimal mix for what is left, with upper confidence bounds for rewards.

    With s² the sample variance of the arm's rewards and of one more that is as variable as all are together:

        R̄ + alpha·s·√(2·ln n/T)

    The paper is optimistic about costs, too, and knows that all lies in [0, 1]; here costs are the means so far, which
    loses less where they vary by orders of magnitude.

    Args:
        budget: B; `simulate` fills it in. None: no limit.
        requests: N, likewise.
        alpha: above 0; larger explores more.

    Reference: Agrawal, Devanur, "Bandits with concave rewards and convex knapsacks", EC 2014, arXiv 1402.5758.
    """

    alpha: float = number(default=0.3, above=0)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """An arm without a sample, or one of the optimistic mix."""
        first = unpulled(memory)
        if first < len(memory.pulls):
            return first
        for arm in range(len(memory.pulls)):
            radius = self.alpha * reward_spread(memory, arm) * math.sqrt(2.0 * now.log_n / memory.pulls[arm])
            memory.other[1, arm] = memory.rewards[arm] + radius
        return drawn_end(memory.costs, memory.other[1], self.known_budget, self.known_requests, now, rng)


def reward_spread(memory: HullMoments, arm: int) -> float:
    """The standard deviation of the arm's rewards and of one more that is as variable as all are together."""
    belief, everything = memory.belief(arm), memory.arms.belief(len(memory.pulls))
    return math.sqrt((belief.pulls * belief.var_reward + everything.var_reward) / (belief.pulls + 1))


class LPThompson(TwoBudgets):
    """Pull every arm once, then an arm of the optimal mix for what is left, with rewards drawn from their posteriors.

    The posterior of a mean reward is Gaussian around R̄ with the deviation scale·s/√T, s as for `LPUCB`; in the paper
    costs are known, and here they are the means so far.

    Args:
        budget: B; `simulate` fills it in. None: no limit.
        requests: N, likewise.
        scale: above 0; less explores less.

    Reference: Ferreira et al., "Online network revenue management using Thompson sampling", Operations Research (2018).
    """

    scale: float = number(default=1.0, above=0)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """An arm without a sample, or one of the mix of what was drawn."""
        first = unpulled(memory)
        if first < len(memory.pulls):
            return first
        for arm in range(len(memory.pulls)):
            deviation = self.scale * reward_spread(memory, arm) / math.sqrt(memory.pulls[arm])
            memory.other[1, arm] = memory.rewards[arm] + deviation * rng.standard_normal()
        return drawn_end(memory.costs, memory.other[1], self.known_budget, self.known_requests, now, rng)
