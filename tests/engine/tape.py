"""Samples of every law, drawn beforehand: a world that compiles in no time, for tests of what is chosen."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.arms.conftest import LAWS

SAMPLES = 2_000  # of each law


class Tape(NamedTuple):
    """Arms of any laws; a pull is a row of the tape, at random."""

    samples: NDArray[np.float64]  # [law, sample, cost or reward]
    laws: NDArray[np.int64]  # [arm]

    def pull(self, arm: int, rng: Any) -> tuple[float, float]:
        law, row = self.laws[arm], int(rng.random() * self.samples.shape[1])
        return self.samples[law, row, 0], self.samples[law, row, 1]


def recorded() -> NDArray[np.float64]:
    """Samples of every law of the library."""
    rng = np.random.default_rng(0)
    return np.array([[law.draw(rng) for _ in range(SAMPLES)] for law in LAWS])


def spread(rng: np.random.Generator, low: float, high: float) -> float:
    """Evenly spread in the logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
