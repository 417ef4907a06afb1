"""Thrifty, slow and obvious: the whole choice, from lists of samples and an order. Shares no code with outlay."""

import math
from typing import NamedTuple

import numpy as np
from tests.policies.slow_kl_rate import (
    Pairs,
    Standing,
    closed,
    largest_seen,
    mean_reward,
    price,
    total_cost,
    unpaid,
    usual_spread,
)


class Usual(NamedTuple):
    """What the open arms are like: how many there are, the means of their means, and what was spent on them."""

    opened: int
    price: float
    rate: float
    spent: float

    @property
    def rarity(self) -> float:
        return math.log(1 + self.opened / 10)


class Choice(NamedTuple):
    """The arm to pull; whether rounding could not have changed it; the excess of every open arm and of a fresh one."""

    arm: int
    clear: bool
    leader: int = -1
    excess: dict[int, float] = {}  # noqa: RUF012
    fresh: float = math.nan


def choose(
    arms: list[Pairs], order: list[int], slope: float, budget: float | None, slack: float, free_pulls: int = 0
) -> Choice:
    """Two arms in the order; who has cost nothing yet, for 30 pulls; the least excess ≤ 0; else the leader.

    Numbers closer than `slack` are near enough for rounding to tell them apart in another way.
    """
    waiting = [arm for arm in order if not arms[arm]]
    opened = [arm for arm in range(len(arms)) if arms[arm]]
    if waiting and len(opened) < 2:
        return Choice(waiting[0], True)
    clear = all(abs(total_cost(arms[k])) >= slack * sum(abs(x) for x, _ in arms[k]) for k in opened)
    for pulls in range(1, 30):
        for k in opened:
            if len(arms[k]) == pulls and total_cost(arms[k]) <= 0:
                return Choice(k, clear)
    samples = [arms[k] for k in opened]
    at = Standing(samples, [price(pairs, samples) for pairs in samples], 0)
    leader, *others = sorted(range(len(opened)), key=lambda i: (-at.rate(i), at.spend(i), len(samples[i]), i))
    at = at._replace(leader=leader)
    clear &= all(at.rate(leader) - at.rate(i) >= slack * abs(at.rate(leader)) for i in others)
    clear &= all(abs(at.spend(leader) - at.spend(i)) >= slack * at.spend(leader) for i in others)
    usual = usual_of(samples)
    gap = at.rate(leader) - usual.rate
    clear &= abs(gap - 1e-9 * max(abs(usual.rate), abs(at.rate(leader)))) >= 0.5 * slack * abs(usual.rate)
    values = {i: excess(at, i, usual, slope, budget, free_pulls) for i in sorted(others)}
    found = {opened[i]: value for i, value in values.items()}
    wanted = fresh(at, usual, budget) if waiting else math.inf
    clear &= not waiting or budget is None or abs(1 - (budget - usual.spent) / needed(usual)) >= slack
    ranked = sorted(value for value in (*values.values(), wanted) if value < math.inf)
    clear &= all(abs(value) >= slack for value in ranked)
    clear &= len(ranked) < 2 or ranked[0] > 0 or wanted == -math.inf or ranked[1] - ranked[0] >= slack
    if not ranked or ranked[0] > 0:
        return Choice(opened[leader], clear, opened[leader], found, wanted)
    if wanted == ranked[0]:
        return Choice(waiting[0], clear, opened[leader], found, wanted)
    best = min(values, key=lambda i: (values[i], at.spend(i), len(samples[i]), i))
    return Choice(opened[best], clear, opened[leader], found, wanted)


def usual_of(samples: list[Pairs]) -> Usual:
    """Where the means of costs come to nothing, the largest cost of any pull stands for the usual price."""
    costs = math.fsum(total_cost(pairs) / len(pairs) for pairs in samples)
    largest = max(abs(x) for pairs in samples for x, _ in pairs) or 1e-300
    usual_price = costs / len(samples) if costs > 0 else largest
    rewards = math.fsum(map(mean_reward, samples)) / len(samples)
    return Usual(len(samples), usual_price, rewards / usual_price, math.fsum(map(total_cost, samples)))


def needed(usual: Usual) -> float:
    return 2 * (usual.opened + 1) * math.log(usual.opened + 1) * usual.price


def differ(rate: float, usual: float) -> bool:
    return rate - usual > 1e-9 * max(abs(rate), abs(usual))


def fresh(at: Standing, usual: Usual, budget: float | None) -> float:
    """Told the budget, what is left decides; else the evidence; while all rates are one, nothing speaks against it."""
    if budget is not None:
        return math.inf if budget - usual.spent < needed(usual) else -math.inf
    if not differ(at.rate(at.leader), usual.rate):
        return -math.inf
    return usual.rarity - 0.45 * math.log(usual.spent / (2 * usual.price)) if usual.spent > 0 else math.inf


def enough_per_unit(slope: float, usual: Usual, budget: float | None) -> float:
    return min(1, slope + 0.04 * length(usual, budget))


def length(usual: Usual, budget: float | None) -> float:
    horizon = usual.spent if budget is None else budget
    if horizon <= 0:
        return 0.0
    return max(0, math.log(horizon / usual.price) - 0.5 * max(0, math.log(usual.opened / 10)) - 6)


def told_from_0(mean: float, costs: list[float], every: list[float]) -> bool:
    """Whether a mean cost is: by one standard error, or by two, and by one standard deviation, once one was < 0."""
    deviation = float(np.std(costs))
    error = deviation / math.sqrt(len(costs))
    return mean > min(deviation, 2 * error) if min(every) < 0 else mean > error


def excess(at: Standing, arm: int, usual: Usual, slope: float, budget: float | None, free_pulls: int) -> float:
    T, r, dearer = len(at.arms[arm]), at.rate(at.leader), at.prices[arm] / at.prices[at.leader]
    least = at.spend(at.leader) if budget is None else min(at.spend(at.leader), budget - usual.spent)
    ahead = math.log(least / at.spend(arm)) + 0.75 * max(0, math.log(dearer)) if least > 0 else 0.0
    if ahead <= 0:
        return math.inf
    g = enough_per_unit(slope, usual, budget) * ahead
    m = r * at.prices[arm] - mean_reward(at.arms[arm])
    costs = [cost for cost, _ in at.arms[arm]]
    no_price = not told_from_0(abs(math.fsum(costs)) / T, costs, [cost for pairs in at.arms for cost, _ in pairs])
    paid = mean_reward(at.arms[arm])
    if m <= 0 or (no_price and (paid > 0 or (paid == 0 and free_pulls > T))):
        return -g
    M = max(0.0, largest_seen(at, r, None)) * min(1.0, 10 * dearer)
    v = float(np.var([reward - r * cost for cost, reward in at.arms[arm]]))
    hidden = unpaid(at, arm, min(1.0, 10 * dearer)) * varying(at.arms[arm]) * M**2
    v += (2 * usual_spread(at, arm, r, dearer) + hidden) / T
    if v == 0:
        return math.inf if T > 1 else -g
    D = max(0.5 * math.log(1 + m**2 / v), closed(m, v, M) if M > 0 else 0.0)
    return shrunken(T * D, T * at.prices[arm] ** 2 / v, r, usual) - g


def varying(pairs: Pairs) -> float:
    """The share of the mean squared reward that is variance, one pull more counted as one that varies."""
    rewards = np.array([reward for _, reward in pairs])
    own = float(np.mean(rewards**2))
    return (len(pairs) * float(np.var(rewards)) / own + 1) / (len(pairs) + 1) if own > 0 else 1.0


def shrunken(evidence: float, q: float, rate: float, usual: Usual) -> float:
    """Where the leader's rate is no larger than the usual one, there is nothing to shrink to."""
    if not differ(rate, usual.rate):
        return evidence
    p = 2 * usual.rarity / (rate - usual.rate) ** 2
    w = p / (p + q)
    return float((math.sqrt(w * usual.rarity) + math.sqrt((1 - w) * evidence)) ** 2)
