"""KL-rate and Frugal, slow and obvious: the whole choice, from lists of samples. Shares no code with outlay."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Pairs = list[tuple[float, float]]
Excess = Callable[["Standing", int], float]


class Standing(NamedTuple):
    """The samples of each arm, what a pull of each costs, and who leads."""

    arms: list[Pairs]
    prices: list[float]
    leader: int

    def spend(self, arm: int) -> float:
        return len(self.arms[arm]) * self.prices[arm]

    def rate(self, arm: int) -> float:
        return mean_reward(self.arms[arm]) / self.prices[arm]

    def everything(self) -> Pairs:
        return [pair for pairs in self.arms for pair in pairs]


class Choice(NamedTuple):
    """The arm to pull; whether rounding could not have changed it; the excess of every arm but the leader."""

    arm: int
    clear: bool
    leader: int = -1
    excess: dict[int, float] = {}  # noqa: RUF012


def choose(arms: list[Pairs], excess: Excess, slack: float) -> Choice:
    """Who has cost nothing yet, for 30 pulls; else the arm with the least excess ≤ 0; else the leader.

    Numbers closer than `slack` are near enough for rounding to tell them apart in another way.
    """
    clear = all(abs(total_cost(pairs)) >= slack * sum(abs(x) for x, _ in pairs) for pairs in arms)
    for pulls in range(30):
        for arm, pairs in enumerate(arms):
            if len(pairs) == pulls and total_cost(pairs) <= 0:
                return Choice(arm, clear)
    at = Standing(arms, [price(pairs, arms) for pairs in arms], 0)
    leader, *others = sorted(range(len(arms)), key=lambda k: (-at.rate(k), at.spend(k), len(arms[k]), k))
    at = at._replace(leader=leader)
    clear &= all(at.rate(leader) - at.rate(k) >= slack * abs(at.rate(leader)) for k in others)
    clear &= all(abs(at.spend(leader) - at.spend(k)) >= slack * at.spend(leader) for k in others)
    found = {k: excess(at, k) for k in sorted(others)}
    values = sorted(found.values())
    clear &= all(abs(value) >= slack for value in values)
    if not values or values[0] > 0:
        return Choice(leader, clear, leader, found)
    clear &= len(values) == 1 or values[1] - values[0] >= slack
    best = min(found, key=lambda k: (found[k], at.spend(k), len(arms[k]), k))
    return Choice(best, clear, leader, found)


def kl_rate(schedule: str, evidence: str, reward_bound: float | None) -> Excess:
    enough: dict[str, Callable[[float, int], float]] = {
        "plus": lambda ahead, arms: math.log(1 + math.exp(ahead) / arms),
        "half": lambda ahead, arms: max(ahead / 2, ahead - 5),
        "one": lambda ahead, arms: ahead,
    }

    def excess(at: Standing, arm: int) -> float:
        T, r = len(at.arms[arm]), at.rate(at.leader)
        if at.spend(arm) >= at.spend(at.leader):
            return math.inf
        g = enough[schedule](math.log(at.spend(at.leader) / at.spend(arm)), len(at.arms))
        m = r * at.prices[arm] - mean_reward(at.arms[arm])
        if m <= 0:
            return -g
        z = np.array([reward - r * cost for cost, reward in at.arms[arm]])
        M = largest_seen(at, r, reward_bound)
        if reward_bound is None or M <= 0:
            learnt = math.sqrt(T) * math.sqrt((T * np.var(z) + 4 * usual_spread(at, arm, r)) / (T + 4))
            M = min(M, learnt) if M > 0 else learnt
        if M == 0:
            return math.inf if T > 1 else -g
        D = closed(m, float(np.var(z)), M)
        if evidence == "sample" and T <= 1000:
            D = max(D, newton(np.minimum(z, M), M, start=m / ((m + np.var(z) / (M + m)) * M)))
        if evidence == "exact":
            return max(T * D, halved(np.minimum(z[:10_000], M), M)) - g
        return T * D - g

    return excess


def frugal(slope: float, delay: float, reward_bound: float | None) -> Excess:
    def excess(at: Standing, arm: int) -> float:
        T, r, dearer = len(at.arms[arm]), at.rate(at.leader), at.prices[arm] / at.prices[at.leader]
        ahead = math.log(at.spend(at.leader) / at.spend(arm)) + 0.75 * max(0, math.log(dearer))
        if ahead <= 0:
            return math.inf
        g = max(slope * ahead, ahead - delay)
        m = r * at.prices[arm] - mean_reward(at.arms[arm])
        if m <= 0:
            return -g
        M = largest_seen(at, r, reward_bound)
        v = float(np.var([reward - r * cost for cost, reward in at.arms[arm]]))
        v += (2 * usual_spread(at, arm, r) + unpaid(at, arm) * max(M, 0) ** 2) / T
        D = closed(m, v, M) if M > 0 else 0.0
        if reward_bound is None or M <= 0:
            if v == 0:
                return math.inf if T > 1 else -g
            D = max(D, 0.5 * math.log(1 + m**2 / v))
        return T * D - g

    return excess


def price(pairs: Pairs, arms: list[Pairs]) -> float:
    """The mean cost; where it is not positive, the largest cost of any pull (or 1) by the root of the arm's pulls."""
    if total_cost(pairs) > 0:
        return total_cost(pairs) / len(pairs)
    return (max(abs(x) for others in arms for x, _ in others) or 1.0) / math.sqrt(len(pairs))


def total_cost(pairs: Pairs) -> float:
    return math.fsum(x for x, _ in pairs)


def mean_reward(pairs: Pairs) -> float:
    return math.fsum(r for _, r in pairs) / len(pairs)


def unpaid(at: Standing, arm: int, share: float = 1.0) -> float:
    """1 for an arm that has paid nothing, falling to 0 at a hundredth of the usual squared reward, or this share."""
    mine = float(np.mean([reward**2 for _, reward in at.arms[arm]]))
    usual = float(np.mean([(share * reward) ** 2 for pairs in at.arms for _, reward in pairs]))
    return max(0.0, 1 - 100 * mine / usual) if mine > 0 else 1.0


def usual_spread(at: Standing, arm: int, r: float, relative: float = 1.0) -> float:
    """The variance of R − rX over all pulls, times the usual size of the arm's squared rewards and of one like all.

    That one is ten times like all, for the arm's price, where it is much cheaper than the leader; dearer, all grows.
    """
    pulls = at.everything()
    usual = float(np.mean([reward**2 for _, reward in pulls])) or 1.0
    sizes = [reward**2 / usual for _, reward in at.arms[arm]] + [min(1.0, 10 * relative) ** 2]
    variance = np.var([reward - r * cost for cost, reward in pulls])
    return float(variance * np.mean(sizes) * max(1.0, relative) ** 0.25)


def largest_seen(at: Standing, r: float, reward_bound: float | None) -> float:
    pulls = at.everything()
    most = max(reward for _, reward in pulls)
    most = most if reward_bound is None else max(most, reward_bound)
    costs = [cost for cost, _ in pulls]
    return most + (r * max(0, -min(costs)) if r >= 0 else -r * max(0, *costs))


def closed(m: float, v: float, M: float) -> float:
    q = v / (M + m)
    a = m + q
    p = q / (M + a)
    return (p * math.log(q / a) if q > 0 else 0) + (1 - p) * math.log(1 + m / M)


def newton(z: Any, M: float, start: float) -> float:
    """The largest mean of ln(1 − λz) met in four of Newton's steps."""
    highest, best = (1 - 1e-9) / M, 0.0
    weight = min(start, highest)
    for _ in range(5):
        best = max(best, float(np.mean(np.log(1 - weight * z))))
        share = z / (1 - weight * z)
        if not np.any(share):
            break
        weight = float(np.clip(weight - np.sum(share) / np.sum(share**2), 0, highest))
    return best


def halved(z: Any, M: float) -> float:
    """The largest sum of ln(1 − λz), by halving the λ that hold it."""
    low, high = 0.0, (1 - 1e-9) / M
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(-z / (1 - middle * z)) > 0 else (low, middle)
    return float(np.sum(np.log(1 - low * z)))
