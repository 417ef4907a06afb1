"""The paper's scores, slow and obvious, straight from the list of an arm's samples. Shares no code with outlay."""

import math

import numpy as np

LAMBDA = 1.28
Samples = list[tuple[float, float]]


def bonus(rate: float, mean_cost: float, epsilon: float, eta: float, times: float, factor: float) -> float:
    stable = mean_cost > 0 and (eta == 0 or eta < mean_cost * (LAMBDA - 1) / LAMBDA)
    return rate + factor * (epsilon + times * eta) / mean_cost if stable else math.inf


def lmmse(var_cost: float, var_reward: float, cov: float) -> tuple[float, float]:
    """ω and V = Var(R − ωX), written out as the variance it is."""
    omega = cov / var_cost if var_cost > 0 else 0.0
    return omega, max(0.0, var_reward - 2 * omega * cov + omega**2 * var_cost)


def ucb_b1(
    samples: Samples, log_n: float, var_cost: float, var_reward: float, cov: float, *,
    alpha: float, b: float, m_x: float, m_r: float, L: float, factor: float,
) -> float:  # fmt: skip
    if not samples:
        return math.inf
    T = len(samples)
    x, r = np.mean(samples, axis=0).tolist()
    rate = max(0, r) / max(b, x)
    omega, V = lmmse(var_cost, var_reward, cov)
    epsilon = 2 * alpha * m_r * log_n / (3 * T) + np.sqrt(L * alpha * V * log_n / T)
    eta = 2 * alpha * m_x * log_n / (3 * T) + np.sqrt(L * alpha * var_cost * log_n / T)
    return bonus(rate, x, epsilon, eta, abs(rate - omega), factor)


def ucb_m1(
    samples: Samples, log_n: float, var_cost: float, var_reward: float, cov: float, *, alpha: float, b: float
) -> float:
    T = len(samples)
    m = math.floor(3.5 * alpha * log_n) + 1
    if m > T:
        return math.inf
    size = T // m
    means = [np.mean(samples[j * size : (j + 1) * size], axis=0) for j in range(m)]
    rate = float(np.median([max(0, r) / max(b, x) for x, r in means]))
    cost = float(np.median([x for x, _ in means]))
    omega, V = lmmse(var_cost, var_reward, cov)
    epsilon = 11 * np.sqrt(alpha * V * log_n / T)
    eta = 11 * np.sqrt(alpha * var_cost * log_n / T)
    return bonus(rate, cost, epsilon, eta, abs(rate - omega), 2 * np.sqrt(2))


def ucb_b2(samples: Samples, log_n: float, *, alpha: float, b: float, m_x: float, m_r: float, factor: float) -> float:
    if not samples:
        return math.inf
    T = len(samples)
    x, r = np.mean(samples, axis=0).tolist()
    v_x, v_r = np.var(samples, axis=0).tolist()
    ell = alpha * log_n
    epsilon = np.sqrt(2 * v_r * ell / T) + 3 * m_r * ell / T
    eta = np.sqrt(2 * v_x * ell / T) + 3 * m_x * ell / T
    rate = max(0, r) / max(b, x)
    return bonus(rate, x, epsilon, eta, rate, factor)


def ucb_b2c(
    samples: Samples, log_n: float, *, alpha: float, b: float, m_x: float, m_r: float, omega_bar: float, factor: float
) -> float:
    if not samples:
        return math.inf
    T = len(samples)
    x, r = np.mean(samples, axis=0).tolist()
    costs, rewards = np.array(samples).T
    v_x = np.var(costs)
    constant = min(costs) == max(costs)  # of equal numbers np.var can give 1e-33
    omega = 0.0 if constant else np.mean((costs - x) * (rewards - r)) / v_x
    loss = np.mean((rewards - r - omega * (costs - x)) ** 2)
    ell = alpha * log_n
    m_z = m_r + omega_bar * m_x
    epsilon = np.sqrt(2 * loss * ell / T) + 3 * m_z * ell / T
    eta = np.sqrt(2 * v_x * ell / T) + 3 * m_x * ell / T
    rate = max(0, r) / max(b, x)
    return bonus(rate, x, epsilon, eta, max(0.0, rate - omega), factor)
