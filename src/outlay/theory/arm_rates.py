"""What the theory reads of a problem: rates, gaps, slopes and variances, computed once (Sections 2 to 4)."""

from typing import NamedTuple

import numpy as np

from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector


class Rates(NamedTuple):
    """First and second moments of every arm, as the theorems combine them; one entry per arm unless said otherwise."""

    rate: Vector  # r_k = E[R_k]/E[X_k]
    gap: Vector  # Δ_k = r* − r_k
    mean_cost: Vector  # μ_k = E[X_k]
    slope: Vector  # ω_k
    residual_variance: Vector  # V_k
    sigma2: Vector  # σ_k²
    best: int  # k*, the first arm with rate r*
    best_rate: float  # r*
    min_mean_cost: float  # μ_* = min_k μ_k


def rates(problem: Problem) -> Rates:
    """Rates, gaps, slopes, residual variances and the σ² of Theorem 1.

    ω_k = Cov(X_k, R_k)/Var(X_k), the slope of the best linear guess of the reward (0 where Var(X_k) = 0),
    V_k = min_ω Var(R_k − ωX_k) = Var(R_k) − ω_k² Var(X_k),
    σ_k² = V_k + (r* − ω_k)² Var(X_k) = Var(R_k − r*X_k).

    Where the cost has no finite variance no slope exists and 0 stands for it, so V_k = Var(R_k); σ_k² then is ∞ unless
    r* = 0.

    >>> from outlay.arms import Gaussian, Problem
    >>> found = rates(Problem([Gaussian(1.0, 2.0, 0.5, 1.0, 0.5), Gaussian(2.0, 1.0, 1.0, 1.0)]))
    >>> found.slope, found.residual_variance, found.sigma2
    (array([1., 0.]), array([0.75, 1.  ]), array([1., 5.]))
    """
    moments = checked_problem("rates", problem).second_moments()
    var_cost, var_reward, cov = moments["var_cost"], moments["var_reward"], moments["cov"]
    regular = (var_cost > 0) & np.isfinite(var_cost) & np.isfinite(cov)
    slope = np.divide(cov, var_cost, out=np.zeros(len(problem)), where=regular)
    residual = np.maximum(var_reward - slope * np.where(regular, cov, 0.0), 0.0)
    away = (problem.rate - slope) ** 2
    spread = np.multiply(away, var_cost, out=np.zeros(len(problem)), where=(away > 0) & (var_cost > 0))
    return Rates(
        rate=problem.rates,
        gap=problem.gaps,
        mean_cost=problem.mean_costs,
        slope=slope,
        residual_variance=residual,
        sigma2=residual + spread,
        best=problem.best,
        best_rate=problem.rate,
        min_mean_cost=float(problem.mean_costs.min()),
    )


def suboptimal(problem: Problem) -> list[int]:
    """The arms with a gap, by index.

    >>> from outlay.arms import Constant, Problem
    >>> suboptimal(Problem([Constant(1.0, 1.0), Constant(1.0, 0.5), Constant(2.0, 2.0)]))
    [1]
    """
    return [int(arm) for arm in np.flatnonzero(problem.gaps > 0)]
