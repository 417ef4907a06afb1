from typing import Any

import numpy as np
import pytest

from outlay import __version__
from outlay.arms import Gaussian, Problem
from outlay.policies import UCBB1, UCBM1, Fixed, RoundRobin
from outlay.results import Result

NASTY = '</script><img src=x onerror="alert(1)">&amp;'


def made(
    policies: dict[str, Any], growth: list[float], names: list[str] | None = None, runs: int = 20, count: int = 25
) -> Result:
    """A result without a simulation: arm 1 of policy i is pulled about growth[i]·ln B times (linearly if negative)."""
    rng = np.random.default_rng(0)
    budgets = np.geomspace(20.0, 20_000.0, count)
    pulls = np.zeros((len(policies), runs, count, 2), np.int64)
    for i, speed in enumerate(growth):
        curve = speed * np.log(budgets) if speed >= 0 else -speed * budgets
        pulls[i, :, :, 1] = curve * rng.gamma(30.0, 1 / 30.0, size=(runs, 1))
        pulls[i, :, :, 0] = np.maximum(budgets - pulls[i, :, :, 1], 0)
    cost = pulls.sum(axis=-1).astype(float)
    return Result(
        problem=Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)], names=names),
        policies=policies,
        budgets=budgets,
        seed=0,
        pulls=pulls,
        cost=cost,
        reward=pulls @ [1.0, 0.5],
        oracle_reward=np.tile(budgets, (runs, 1)),
        version=__version__,
    )


@pytest.fixture(scope="session")
def three() -> Result:
    return made({"UCBB1": UCBB1(0.25, 0.25, 0.0), "UCBM1": UCBM1(0.25, 0.25, 0.0), "Fixed": Fixed(0)}, [6.0, 14.0, 0.0])


@pytest.fixture(scope="session")
def apart() -> Result:
    return made({"UCBB1": UCBB1(0.25, 0.25, 0.0), "RoundRobin": RoundRobin()}, [6.0, -0.5])


@pytest.fixture(scope="session")
def nasty() -> Result:
    """Names that would break a careless page."""
    labels = {NASTY: RoundRobin(), "_hidden $x$ \\frac": Fixed(0)}
    return made(labels, [6.0, 3.0], names=[NASTY, "b"])


@pytest.fixture(scope="session")
def make():
    return made
