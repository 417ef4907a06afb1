"""Linear arms: a line in the cost, plus Gaussian noise."""

import math

from outlay.arms import Gaussian, Linear


def known_cost(law: Linear, rate: float, worth: float = 0.0) -> float:
    """D* = (rμ + ν − E[R])²/(2 noise_sd²): cost law and noise known, the line unknown; it is cheapest to raise it.

    Moving intercept and slope by a and b costs E(a + bX)²/(2 noise_sd²), at least (a + bμ)²/(2 noise_sd²).

    >>> from outlay.arms import Pareto
    >>> known_cost(Linear(Pareto(1.0, 1.0), slope=0.5, noise_sd=0.5), 1.0)
    0.5
    """
    cost, reward, *_ = law.moments()
    return (rate * cost + worth - reward) ** 2 / (2 * law.noise_sd**2) if law.noise_sd > 0 else math.inf


def as_gaussian(law: Linear) -> Gaussian:
    """The same law, for a Gaussian or constant cost, by its means, standard deviations and correlation.

    >>> as_gaussian(Linear(Gaussian(1.0, 0.0, 0.5, 0.0), slope=2.0))
    Gaussian(cost=1.0, reward=2.0, cost_sd=0.5, reward_sd=1.0, correlation=1.0)
    """
    cost, reward, var_cost, var_reward, cov = law.moments()
    spread = math.sqrt(var_cost) * math.sqrt(var_reward)
    correlation = max(-1.0, min(1.0, cov / spread)) if spread > 0 else 0.0
    if spread > 0 and law.noise_sd == 0:
        correlation = math.copysign(1.0, law.slope)
    return Gaussian(cost, reward, math.sqrt(var_cost), math.sqrt(var_reward), correlation)
