"""Ration, slow and obvious: the whole choice, from lists of samples and an order. Shares no code with outlay.

Costs are turned into dues sample by sample; then `slow_thrifty` has the formulas.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from tests.policies import slow_thrifty
from tests.policies.slow_kl_rate import Pairs, Standing, closed, mean_reward, price, total_cost, unpaid, usual_spread


class Edge(NamedTuple):
    """The price of money and the worth of a request, the ends (None: the origin, or none), and whether it is clear."""

    price: float
    worth: float
    low: int | None
    high: int | None
    clear: bool = True


class Choice(NamedTuple):
    """The arm to pull, and whether rounding could not have changed it."""

    arm: int
    clear: bool


class Told(NamedTuple):
    """What the policy is told; ∞ for a limit that there is none of."""

    budget: float = math.inf
    requests: float = math.inf
    costs: list[float] | None = None
    reward_bound: float = -math.inf
    slope: float = 0.33


def choose(arms: list[Pairs], order: list[int], told: Told, slack: float) -> Choice:
    """Two arms in the order, or one where costs are told; an arm that is worth opening; the least excess; the edge."""
    waiting = [arm for arm in order if not arms[arm]]
    opened = [arm for arm in range(len(arms)) if arms[arm]]
    if not opened or (waiting and len(opened) < 2 and told.costs is None):
        return Choice(waiting[0], True)
    pulls, spent = sum(map(len, arms)), math.fsum(map(total_cost, arms))
    b, n = max(0.0, told.budget - spent), max(1.0, told.requests - pulls)
    point = {k: (mean_cost(arms, k, told), mean_reward(arms[k])) for k in opened}
    usual_price = slow_thrifty.usual_of([arms[k] for k in opened]).price
    c = b / n if n < math.inf else 0.0
    edge = edge_over(point, c, arms, usual_price, slack)
    off = [k for k in opened if k not in (edge.low, edge.high)]
    used = math.fsum(len(arms[k]) * point[k][0] for k in off), sum(len(arms[k]) for k in off)
    reserve = 3 / (1 + pulls / n)
    rest = max(1.0, n - reserve * used[1])
    later = min(c, max(0.0, b - reserve * used[0]) / rest if rest < math.inf else 0.0)
    ahead = edge_over(point, later, arms, usual_price, slack)
    costs = [x for x, _ in point.values() if x > 0]
    scarce = min(1.0, 4 * c / min(costs)) if costs and ahead.worth == 0 else 1.0
    market = Market(arms, point, ahead, told, pulls, spent, scarce)
    clear = edge.clear and ahead.clear
    wanted = math.inf
    if waiting:
        wanted, sure = market.fresh(waiting[0], slack)
        clear &= sure
        if told.costs is not None:
            cost, largest = told.costs[waiting[0]], max(r for pairs in arms for _, r in pairs)
            rest = max(1.0, n - 3)
            then = edge_over(point, max(0.0, b - 3 * cost) / rest, arms, usual_price, slack)
            most = max(largest, told.reward_bound)
            clear &= then.clear and abs(then.price * cost + then.worth - most) >= slack * abs(most)
            if most > 0 and then.price * cost + then.worth >= most:
                wanted = math.inf
        if wanted == -math.inf:
            return Choice(waiting[0], clear)
    ends = {edge.low, edge.high, ahead.low, ahead.high}
    found = {k: market.excess(k) for k in opened if k not in ends}
    ranked = sorted(value for value in (*found.values(), wanted) if value < math.inf)
    clear &= all(abs(value) >= slack for value in ranked)
    if ranked and ranked[0] <= 0:
        clear &= len(ranked) < 2 or ranked[1] - ranked[0] >= slack
        if wanted == ranked[0]:
            return Choice(waiting[0], clear)
        return Choice(min(found, key=lambda k: (found[k], market.spend(k), len(arms[k]), k)), clear)
    return on_edge(arms, point, edge, c, n, clear, slack)


def mean_cost(arms: list[Pairs], arm: int, told: Told) -> float:
    if told.costs is not None:
        return told.costs[arm]
    if total_cost(arms[arm]) == 0 and len(arms[arm]) < 20:  # as if one more had cost as much as the dearest of all
        return max(0.0, *(cost for pairs in arms for cost, _ in pairs)) / (len(arms[arm]) + 1)
    return total_cost(arms[arm]) / len(arms[arm])


def edge_over(
    point: dict[int, tuple[float, float]], c: float, arms: list[Pairs], usual_price: float, slack: float
) -> Edge:
    """The pair of points, the origin among them, whose line is highest over c; or one that is as good and costs c."""
    samples = [arms[k] for k in point]
    prices = {k: price_at(point[k][0], arms[k], samples) for k in point}
    rates, spends = {k: point[k][1] / prices[k] for k in point}, {k: len(arms[k]) * prices[k] for k in point}
    affordable = [k for k in point if point[k][0] <= c]
    clear = all(abs(x - c) >= slack * abs(x) for x, _ in point.values())
    candidates: list[tuple[float, int | None, int | None]] = [(point[k][1], k, None) for k in affordable]
    for low, high in itertools.product([None, *affordable], [k for k in point if point[k][0] > c]):
        x, y = (0.0, 0.0) if low is None else point[low]
        slope = (point[high][1] - y) / (point[high][0] - x)
        if slope > 0 and point[high][1] > 0:
            candidates.append((y + slope * (c - x), low, high))
    paying = sorted((entry for entry in candidates if entry[0] > 0 or entry[2] is not None), key=lambda e: -e[0])
    values = [entry[0] for entry in paying]
    if c == 0 and not any(point[k][1] > 0 for k in affordable):  # all lines meet at the origin: the steepest
        steep = sorted((rates[high], high) for _, low, high in paying if low is None and high is not None)[::-1]
        paying, values = [(0.0, None, high) for _, high in steep], [rate for rate, _ in steep]
    clear &= len(values) < 2 or values[0] - values[1] >= slack * abs(values[0])
    if not paying:
        if usual_price <= c:
            return Edge(0.0, 0.0, min(point, key=lambda k: (-point[k][1], len(arms[k]), k)), None, clear)
        return Edge(0.0, 0.0, None, min(point, key=lambda k: (-rates[k], spends[k], len(arms[k]), k)), clear)
    value, left, right = paying[0]
    if right is None:
        return Edge(0.0, value, left, None, clear)
    x, y = (0.0, 0.0) if left is None else point[left]
    slope = (point[right][1] - y) / (point[right][0] - x)
    if abs(y - slope * x) > 1e-12 * abs(y):
        return Edge(slope, max(0.0, y - slope * x), left, right, clear)
    leader = min(point, key=lambda k: (-rates[k], spends[k], len(arms[k]), k))  # on the first edge
    ranked = sorted(rates.values(), reverse=True)
    clear &= len(ranked) < 2 or ranked[0] - ranked[1] >= slack * ranked[0]
    return Edge(rates[leader], 0.0, None, leader, clear)


def price_at(mean: float, pairs: Pairs, samples: list[Pairs]) -> float:
    return mean if mean > 0 else price(pairs, samples)


class Market:
    """All samples in dues, at the prices of an edge."""

    def __init__(
        self,
        arms: list[Pairs],
        point: dict[int, tuple[float, float]],
        edge: Edge,
        told: Told,
        pulls: int,
        spent: float,
        scarce: float,
    ) -> None:
        self.edge, self.told, self.point, self.scarce = edge, told, point, scarce
        ends = [k for k in (edge.low, edge.high) if k is not None]
        if edge.worth > 0:
            self.money, self.request, self.rate = edge.price, edge.worth, 1.0
        elif edge.low is not None:
            self.money, self.request, self.rate = 0.0, 1.0, 0.0
        else:
            samples = [arms[k] for k in point]
            x, y = point[ends[0]]
            self.money, self.request, self.rate = 1.0, 0.0, y / price_at(x, arms[ends[0]], samples)
        self.total = self.due(told.budget, told.requests)
        self.used = self.due(spent, pulls)
        self.arms = {k: [(self.due(x, 1), r) for x, r in arms[k]] for k in point}
        self.costs = [self.money * x for k in point for x, _ in arms[k]]
        self.price = {k: self._price(k) for k in point}
        observed = slow_thrifty.usual_of([arms[k] for k in point])
        rewards = observed.rate * observed.price
        usual_price = self.due(observed.price, 1)
        self.usual = slow_thrifty.Usual(observed.opened, usual_price, rewards / usual_price, self.used)
        self.ahead = math.fsum(self.spend(k) for k in ends)
        self.lead_price = self.ahead / sum(len(arms[k]) for k in ends) if self.ahead > 0 else usual_price

    def due(self, money: float, requests: float) -> float:
        return sum(rate * value for rate, value in ((self.money, money), (self.request, requests)) if rate > 0)

    def _price(self, arm: int) -> float:
        mean = self._mean(arm)
        largest = max(map(abs, self.costs)) or 1.0
        return mean if mean > 0 else largest / math.sqrt(len(self.arms[arm]))

    def _mean(self, arm: int) -> float:
        return self.due(self.point[arm][0], 1) if self.money > 0 else self.request

    def spend(self, arm: int) -> float:
        return len(self.arms[arm]) * self.price[arm]

    def fresh(self, arm: int, slack: float) -> tuple[float, bool]:
        m = self.usual.opened
        if self.total == math.inf:
            if not slow_thrifty.differ(self.rate, self.usual.rate):
                return -math.inf, True
            return self.usual.rarity - 0.45 * math.log(self.used / (2 * self.usual.price)), True
        one = self.usual.price if self.told.costs is None else self.due(self.told.costs[arm], 1)
        factor = 0.75 * self.scarce + 2 * (1 - self.scarce)
        needed = factor * (m + 1) * math.log(m + 1) * one
        left = self.total - self.used
        return (math.inf if left < needed else -math.inf), abs(left - needed) >= slack * needed

    def excess(self, arm: int) -> float:
        pairs, p = self.arms[arm], self.price[arm]
        T, left = len(pairs), min(self.ahead, self.total - self.used)
        ahead = math.log(left / (T * p)) + 0.75 * max(0.0, math.log(p / self.lead_price)) if left > 0 else 0.0
        if ahead <= 0:
            return math.inf
        x = slow_thrifty.length(self.usual, None if self.total == math.inf else self.total)
        slope = self.told.slope + 0.04 * x + self.scarce * x**2 / 80
        g = ahead * min(slope, max(1.0, 2 * self.scarce * self.told.slope))
        m = self.rate * p - mean_reward(pairs)
        dues = [x for x, _ in pairs]
        vary = dues if self.told.costs is None else [0.0] * T
        if m <= 0 or (not slow_thrifty.told_from_0(abs(self._mean(arm)), vary, self.costs) and mean_reward(pairs) > 0):
            return -g
        everything = Standing(list(self.arms.values()), [], 0)
        place = list(self.arms).index(arm)
        worth = self.request * self.rate
        M = max(r for _, r in everything.everything()) - worth
        M += self.rate * max(0.0, -min(self.costs)) if self.rate >= 0 else -self.rate * max(0.0, max(self.costs))
        relative = p / self.lead_price
        share = min(1.0, 10 * relative)
        M = max(0.0, M) * share
        own, usual = (float(np.var([r - self.rate * x for x, r in some])) for some in (pairs, everything.everything()))
        if self.told.costs is not None:
            own = float(np.var([r for _, r in pairs]))
        unseen = M or max(0.0, self.rate * self.lead_price)
        spread = usual_spread(everything, place, self.rate, relative)
        hidden = unpaid(everything, place, share) * slow_thrifty.varying(pairs) * unseen**2
        v = own + (2 * spread + hidden) / T
        if v == 0:
            return math.inf if T > 1 else -g
        D = max(0.0, closed(m, v, M)) if M > 0 else 0.0  # by rounding it may be below 0
        if M == 0 or self.scarce < 1 or own >= 0.5 * usual:
            D = max(D, 0.5 * math.log(1 + m**2 / v))
        return slow_thrifty.shrunken(T * D, T * p**2 / v, self.rate, self.usual) - g


def on_edge(
    arms: list[Pairs], point: dict[int, tuple[float, float]], edge: Edge, c: float, n: float, clear: bool, slack: float
) -> Choice:
    """The end that stands alone; the one whose cost cannot be told from c; else by the share that uses up both."""
    if edge.low is None or edge.high is None:
        return Choice(next(k for k in (edge.low, edge.high) if k is not None), clear)
    low, high = edge.low, edge.high
    share = (c - point[low][0]) / (point[high][0] - point[low][0])
    near = high if share > 0.5 else low
    distance, spread = (c - point[near][0]) ** 2 * n, 4 * float(np.var([x for x, _ in arms[near]]))
    clear &= abs(share - 0.5) >= slack and abs(distance - spread) >= slack * max(distance, spread)
    if distance <= spread:
        return Choice(near, clear)
    left, right = len(arms[high]) * (1 - share), len(arms[low]) * share
    return Choice(high if left <= right else low, clear and abs(left - right) >= slack * right)
