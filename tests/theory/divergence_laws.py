"""Every law that D* is tested on, and what the tests read of it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from outlay.arms import (
    Beta,
    Discrete,
    Empirical,
    Exponential,
    Gamma,
    Gaussian,
    Linear,
    Lognormal,
    Pareto,
    StudentT,
    Uniform,
)
from outlay.theory import models

# Every law as a function of the units that costs and rewards are measured in.
LAWS: dict[str, Callable[[float, float], Any]] = {
    "Gaussian": lambda c, d: Gaussian(c, 0.6 * d, 0.5 * c, 0.4 * d, 0.3),
    "Gaussian, corner": lambda c, d: Gaussian(c, 0.5 * d, c, d, 0.9),
    "Bernoulli": lambda c, d: Discrete([0, 0, c, c], [0, d, 0, d], [0.35, 0.05, 0.25, 0.35]),
    "Discrete": lambda c, d: Discrete([c, 2 * c, 3 * c], [0, 2 * d, d], [0.3, 0.3, 0.4]),
    "Discrete, refunds": lambda c, d: Discrete([-c, 2 * c, c], [0.5 * d, d, 0], [0.3, 0.3, 0.4]),
    "Empirical": lambda c, d: Empirical(c * np.array([0.5, 1, 2, 1.5]), d * np.array([0.2, 1.1, 0.4, -0.3])),
    "Beta": lambda c, d: Beta(0.5 * c, 0.3 * d, 0.2 * c, 0.1 * d, 0.4, c, d),
    "Uniform": lambda c, d: Uniform(0.2 * c, c, -0.2 * d, 0.8 * d, -0.5),
    "Uniform, refunds": lambda c, d: Uniform(-0.5 * c, c, -0.2 * d, 0.4 * d, 0.5),
    "Exponential": lambda c, d: Exponential(c, 0.5 * d),
    "Exponential, correlated": lambda c, d: Exponential(c, 0.5 * d, 0.6),
    "Gamma": lambda c, d: Gamma(c, 0.5 * d, 0.3 * c, 0.7 * d),
    "Gamma, correlated": lambda c, d: Gamma(c, 0.5 * d, 0.5 * c, 0.25 * d, 0.4),
    "Lognormal": lambda c, d: Lognormal(c, 0.5 * d, 0.8 * c, 0.3 * d, 0.4),
    "Pareto": lambda c, d: Pareto(c, 0.5 * d, 2.5, 3.5),
    "StudentT": lambda c, d: StudentT(c, 0.5 * d, 0.5 * c, 0.4 * d, 3.0, 0.4),
    "StudentT on a line": lambda c, d: StudentT(c, 0.5 * d, 0.0, 0.4 * d, 3.0),
    "Linear": lambda c, d: Linear(Pareto(c, 1.0), 0.5 * d / c, 0.1 * d, 0.3 * d),
    "Linear, Gaussian cost": lambda c, d: Linear(Gaussian(c, 0, 0.5 * c, 0), 0.4 * d / c, 0.1 * d, 0.3 * d),
}
CASES = [(name, model.name) for name, law in LAWS.items() for model in models(law(1, 1))]


def own_rate(law: Any) -> Any:
    cost, reward, *_ = law.moments()
    return reward / cost


def variance(law: Any, rate: float) -> Any:
    _, _, var_cost, var_reward, cov = law.moments()
    return var_reward - 2 * rate * cov + rate**2 * var_cost


def shortfall(law: Any, price: float, worth: float) -> Any:
    cost, reward, *_ = law.moments()
    return price * cost + worth - reward
