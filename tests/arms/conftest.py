"""One or more examples of every law, and a compiled loop that draws from any of them."""

from collections.abc import Callable

import numpy as np
import pytest

from outlay.arms import (
    AnyLaw,
    Bernoulli,
    Beta,
    Constant,
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
from outlay.testing import draws

# Every example has fourth moments, so that the errors of sample variances can be estimated.
LAWS: tuple[AnyLaw, ...] = (
    Gaussian(1.0, 0.9, 0.3, 0.2, 0.5),
    Gaussian(-1.0, 2.0, 0.0, 0.2),
    Gaussian(1.0, 2.0, 0.5, 0.2, -1.0),
    Bernoulli(0.3, 0.6, 0.4),
    Bernoulli(0.25, 0.5),
    Bernoulli(0.8, 0.7, -0.3),
    Bernoulli(1.0, 0.4),
    Beta(0.4, 0.3, 0.2, 0.1, 0.6),
    Beta(2.0, 0.1, 1.9, 0.2, -0.2, cost_bound=4.0),
    Beta(0.9, 3.0, 0.01, 0.9, 0.9, reward_bound=10.0),
    Uniform(-1.0, 2.0, 0.0, 0.5, -0.7),
    Uniform(1.0, 1.0, 0.0, 2.0),
    Discrete([1.0, 2.0, 4.0, 9.0], [0.0, 3.0, -1.0, 2.0], [0.2, 0.5, 0.3, 0.0]),
    Constant(2.0, 1.0),
    Exponential(2.0, 0.5, 0.6),
    Exponential(2.0, 0.5),
    Gamma(1.0, 3.0, 0.5, 2.0, 0.4),
    Gamma(1.0, 3.0, 2.0, 6.0, 1.0),
    Lognormal(1.0, 2.0, 0.4, 0.6, -0.5),
    Lognormal(1.0, 2.0, 0.0, 0.6),
    Pareto(2.0, 0.5, 12.0, 15.0),
    StudentT(1.0, -0.5, 0.5, 2.0, 12.0, 0.7),
    Linear(Gamma(1.0, 3.0, 0.5, 2.0, 0.4), -0.5, 2.0, 0.3),
    Linear(Linear(Uniform(0.0, 2.0, 0.0, 1.0), 1.0), 2.0),
    Empirical([1.0, 2.0, 4.0], [0.5, -1.0, 2.0]),
)


def label(law: AnyLaw) -> str:
    return type(law).__name__


@pytest.fixture(params=LAWS, ids=label)
def law(request):
    return request.param


@pytest.fixture(scope="session")
def draw_many() -> Callable[..., np.ndarray]:
    """Compiled draws: `draw_many(law, rng, count)` gives an array of (cost, reward) rows."""
    return draws
