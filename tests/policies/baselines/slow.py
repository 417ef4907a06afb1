"""The rivals' rules, slow and obvious, from lists of samples. Shares no code with outlay."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import brentq

Samples = list[tuple[float, float]]
INF = math.inf


def unit(samples: Samples, m_x: float, m_r: float) -> tuple[int, float, float]:
    """T, and the mean cost and reward on [0, 1]."""
    x, r = np.mean(samples, axis=0)
    return len(samples), float(np.clip(x / m_x, 0, 1)), float(np.clip(r / m_r, 0, 1))


def greedy(samples: Samples, n: float) -> float:
    x, r = np.mean(samples, axis=0)
    return float(r / x) if x > 0 else INF


def ucb_v(samples: Samples, n: float, explore: float, b: float) -> float:
    costs, rewards = np.array(samples).T
    T, x, E = len(samples), float(costs.mean()), explore * np.log(n)
    if x <= 0 or (T == 1 and b == 0):
        return INF
    rate = float(rewards.mean()) / x
    return float(rate + (np.sqrt(2 * np.var(rewards - rate * costs) * E / T) + 3 * b * E / T) / x)


def fractional_kube(samples: Samples, n: float, m_r: float) -> float:
    T, _, r = unit(samples, 1.0, m_r)
    x = np.mean(samples, axis=0)[0]
    return float((r + np.sqrt(2 * np.log(n + 1) / T)) / x) if x > 0 else INF


def ucb_bv1(samples: Samples, n: float, least: float, m_x: float, m_r: float) -> float:
    T, c, r = unit(samples, m_x, m_r)
    s, lam = np.sqrt(np.log(n) / T), least / m_x
    return float(r / c + (1 + 1 / lam) * s / (lam - s)) if s < lam and c > 0 else INF


def budget_ucb(samples: Samples, n: float, least: float, m_x: float, m_r: float) -> float:
    T, c, r = unit(samples, m_x, m_r)
    e, lam = np.sqrt(2 * np.log(n) / T), least / m_x
    return float(r / c + e / c * (1 + min(r + e, 1) / max(c - e, lam))) if c > 0 else INF


def xia(kind: str, samples: Samples, n: float, alpha: float, m_x: float, m_r: float) -> float:
    T, c, r = unit(samples, m_x, m_r)
    e = alpha * np.sqrt(np.log(n) / T)
    if c == 0:
        return INF
    if kind == "i":
        return float(r / c + e)
    if kind == "c":
        return float((r + e) / c)
    return float(min(r + e, 1) / (c - e)) if c > e else INF


def ucb_sc(samples: Samples, n: float, m_x: float, m_r: float) -> float:
    T, c, r = unit(samples, m_x, m_r)
    delta = np.log((n + 1) / T) / (2 * T)
    if c <= np.sqrt(delta):
        return INF
    a = np.sqrt(delta / (r**2 + c**2 - delta))
    return float((r + a * c) / (c - a * r))


def wilson(p: float, z2: float, T: int, sign: int) -> float:
    """The textbook's form."""
    return float((p + z2 / (2 * T) + sign * np.sqrt(z2) * np.sqrt(p * (1 - p) / T + z2 / (4 * T**2))) / (1 + z2 / T))


def omega(samples: Samples, n: float, rho: float, m_x: float, m_r: float) -> float:
    T, c, r = unit(samples, m_x, m_r)
    z2 = 2 * rho * np.log(n + 2)
    return min(1.0, wilson(r, z2, T, 1)) / wilson(c, z2, T, -1) if c > 0 else INF


def omega_star(samples: Samples, n: float, rho: float, wait: int, m_x: float, m_r: float) -> float:
    T, c, r = unit(samples, m_x, m_r)
    z2 = 2 * rho * np.log(n + 2)

    def eta(values: Sequence[float], bound: float, share: float) -> float:
        if max(2, wait) > T or share in (0, 1):
            return 1.0
        mean = share * bound
        return min(1.0, float(np.var(values, ddof=1)) / ((bound - mean) * mean * T / (T - 1)))

    costs, rewards = zip(*samples, strict=True)
    upper = min(1.0, wilson(r, eta(rewards, m_r, r) * z2, T, 1))
    return upper / wilson(c, eta(costs, m_x, c) * z2, T, -1) if c > 0 else INF


def b_kl_ucb(samples: Samples, n: float, cost: float, m_r: float, c: float) -> float:
    T, _, r = unit(samples, 1.0, m_r)
    level = (math.log(n) + c * math.log(max(1, math.log(n)))) / T

    def kl(q: float) -> float:
        low = r * math.log(r / q) if r > 0 else 0.0
        return low + ((1 - r) * math.log((1 - r) / (1 - q)) if r < 1 else 0.0)

    if r == 1 or level == 0:
        return r / cost
    top = 1 - 1e-16
    return top / cost if kl(top) <= level else float(brentq(lambda q: kl(q) - level, r, top, xtol=1e-15)) / cost


def kl_ucb_sc(samples: Samples, n: float, m_x: float, m_r: float, loglog: float) -> float:
    """The largest rate for which the nearest pair of coins is within the level: two nested searches."""
    T, c, r = unit(samples, m_x, m_r)
    level = (math.log(n) + loglog * math.log(max(1, math.log(n)))) / T
    if c == 0:
        return INF
    if level == 0:
        return r / c

    def kl(p: float, q: float) -> float:
        if (q <= 0 < p) or (q >= 1 > p):
            return INF
        one = p * math.log(p / q) if p > 0 else 0.0
        return one + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)

    def need(log_rate: float) -> float:
        """Over the chance p of a cost: convex, with a quadratic for its slope."""
        rate = math.exp(log_rate)
        a, half = 2 * rate, 1 + rate + c * rate + r
        p = 2 * (c + r) / (half + math.sqrt(max(0.0, half**2 - 4 * a * (c + r))))
        return kl(c, p) + kl(r, min(1.0, rate * p)) - level

    low = math.log(r / c) if r > 0 else -700.0
    high = max(low, 0.0) + 1.0
    while need(high) < 0:
        high += 1.0
    return math.exp(brentq(need, low, high, xtol=1e-14, rtol=1e-15))


def robust_median(samples: Samples, n: float, var_cost: float, var_reward: float) -> float:
    T = len(samples)
    k = max(1, min(math.floor(8 * math.log(math.exp(1 / 8) * n**2)), T // 2))
    size = T // k
    means = np.array([np.mean(samples[j * size : (j + 1) * size], axis=0) for j in range(k)])
    x, r = np.median(means[:, 0]), np.median(np.maximum(0, means[:, 1]))
    rest = 16 * math.log(math.exp(1 / 8) * n**2) / T
    e, h = np.sqrt(12 * var_reward * rest), np.sqrt(12 * var_cost * rest)
    return float((r + e) / (x - h)) if x > h else INF


def robust_truncated(samples: Samples, whens: list[int], n: float, cost_moment: float, reward_moment: float) -> float:
    """`whens` says which pull of all arms each sample was, from 1 on."""
    T = len(samples)

    def truncated(values: Sequence[float], u: float) -> float:
        kept = [v for s, (v, w) in enumerate(zip(values, whens, strict=True), 1)
                if w == 1 or abs(v) <= math.sqrt(u * s / math.log(w**2))]  # fmt: skip
        return sum(kept) / T

    costs, rewards = zip(*samples, strict=True)
    level = math.log(n**2) / T
    e, h = 4 * math.sqrt(reward_moment * level), 4 * math.sqrt(cost_moment * level)
    x, r = truncated(costs, cost_moment), truncated(rewards, reward_moment)
    return max(0, r + e) / (x - h) if x > h else INF


History = list[Samples]  # an arm's samples, for each arm


def first_of(scores: list[float], history: History) -> set[int]:
    """The arm to pull, or the arms whose scores only rounding tells apart."""
    top = max(scores)
    if top == INF:
        return {min(range(len(scores)), key=lambda k: (-scores[k], len(history[k]), k))}
    return {k for k, score in enumerate(scores) if score >= top - 1e-12 * abs(top)}


def epsilon_first(history: History, spent: float, budget: float, epsilon: float) -> set[int]:
    n = sum(map(len, history))
    if n < len(history) or spent < epsilon * budget:
        return {n % len(history)}
    return first_of([greedy(s, n) for s in history], history)


def opening(history: History, limit: float, score: Callable[[Samples, float], float]) -> set[int]:
    """The first arm never pulled while fewer than the limit were, else the best of those that were."""
    n, fresh = sum(map(len, history)), [k for k, samples in enumerate(history) if not samples]
    if fresh and len(history) - len(fresh) < limit:
        return {fresh[0]}
    return first_of([score(samples, n) if samples else -INF for samples in history], history)


def ucb_bv2(history: History, m_x: float, m_r: float) -> set[int]:
    n = sum(map(len, history))
    if not all(history):
        return first_of([INF] * len(history), history)
    units = [unit(s, m_x, m_r) for s in history]
    lam = min(c for _, c, _ in units)
    scores = []
    for T, c, r in units:
        s = np.sqrt(np.log(n) / T)
        scores.append(float(r / c + (1 / lam) * (1 + 1 / (lam - s)) * s) if s < lam else INF)
    return first_of(scores, history)


def pd_bwk(history: History, budget: float, factor: float, m_x: float, m_r: float) -> set[int]:
    C = factor * max(1.0, math.log(len(history) * max(1.0, budget / m_x)))

    def rad(x: float, T: int) -> float:
        return float(np.sqrt(C * x / T) + C / T)

    scores = []
    for samples in history:
        if not samples:
            scores.append(INF)
            continue
        T, c, r = unit(samples, m_x, m_r)
        lower = c - rad(c, T)
        scores.append(min(1.0, r + rad(r, T)) / lower if lower > 0 else INF)
    return first_of(scores, history)


def kube(history: History, left: float, m_r: float) -> dict[int, float]:
    """The chances of the arms."""
    n = sum(map(len, history))
    dense = [fractional_kube(s, n, m_r) if s else INF for s in history]
    first = min(first_of(dense, history))
    if dense[first] == INF or left == INF:
        return {first: 1.0}
    costs = [float(np.mean(s, axis=0)[0]) for s in history]
    order = sorted(range(len(history)), key=lambda k: (-dense[k], len(history[k]), k))
    times = {}
    for k in order:
        times[k] = max(0, math.floor(left / costs[k]))
        left -= times[k] * costs[k]
    total = sum(times.values())
    return {k: m / total for k, m in times.items() if m} if total else {first: 1.0}


def b_greedy(history: History, explore: float, random: Callable[[], float]) -> set[int]:
    n, K = sum(map(len, history)), len(history)
    if n < K:
        return {n}
    if random() < explore * K / (n + 1):
        return {math.floor(K * random())}
    return first_of([greedy(s, n) for s in history], history)


def bts(coins: list[list[tuple[int, int]]], beta: Callable[[float, float], float]) -> int:
    """From the arms' rounded (cost, reward)."""
    scores = []
    for seen in coins:
        if not seen:
            scores.append(INF)
            continue
        costs, rewards = (sum(values) for values in zip(*seen, strict=True))
        reward = beta(1 + rewards, 1 + len(seen) - rewards)
        scores.append(reward / beta(1 + costs, 1 + len(seen) - costs))
    return min(range(len(coins)), key=lambda k: (-scores[k], len(coins[k]), k))
