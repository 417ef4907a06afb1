"""KL-rate and Frugal with their slow twins, and kinds of outcomes to feed them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.policies import slow_kl_rate as slow

from outlay.policies import Frugal, KLRate

Array = NDArray[np.float64]
Tape = Callable[[np.random.Generator, int], tuple[float, float]]

EVERY: list[tuple[Any, slow.Excess]] = [
    *(
        (KLRate(schedule, evidence, bound), slow.kl_rate(schedule, evidence, bound))
        for schedule in ("plus", "half", "one")
        for evidence in ("closed", "sample")
        for bound in (None, 1.5)
    ),
    (KLRate("one", "exact", 1.5), slow.kl_rate("one", "exact", 1.5)),
    *((Frugal(*given), slow.frugal(*given)) for given in ((0.3, 7.0, None), (0.3, 7.0, 1.5), (0.2, 0.5, None))),
]
ALL = [policy for policy, _ in EVERY]


def gaussian(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    z, w = rng.normal(size=2)
    return 1 + 0.2 * arm + 0.3 * z, 1 - 0.2 * arm + 0.5 * (0.8 * z + 0.6 * w)


def coins(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    cost = rng.random() < 0.5
    return float(cost), float(rng.random() < 0.6 - 0.1 * arm + 0.2 * cost)


def lattice(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return float(rng.integers(1, 3)), float(rng.integers(0, 3)) / 2 - 0.25 * (arm == 1)


def refunds(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return 0.4 - 0.2 * arm + rng.normal(), 0.5 + 0.5 * rng.normal()


def losses(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.exponential(), -0.5 - 0.1 * arm - rng.random()


def nothing(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.exponential(1 + arm), 0.0


def rarely(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return 1.0 + arm, float(rng.random() < 0.03)


def constants(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return (1.0, 2.0, 3.0, 2.0)[arm], (1.0, 1.0, 3.0, 1.0)[arm]


def heavy(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.pareto(1.3), 0.3 * rng.pareto(2.1 + 0.3 * arm)


def on_a_line(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    cost = rng.exponential()
    return cost, (1 - 0.1 * arm) * cost + 0.01 * arm


def free(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return (0.0, rng.exponential(), 0.0, -0.5)[arm], rng.random()


TAPES = [gaussian, coins, lattice, refunds, losses, nothing, rarely, constants, heavy, on_a_line, free]
EVERY_DAY = (gaussian, lattice, refunds, nothing, heavy, free)
each_tape = pytest.mark.parametrize(  # the slow twins take a second for each
    "tape", [pytest.param(t, marks=() if t in EVERY_DAY else pytest.mark.soak, id=t.__name__) for t in TAPES]
)
