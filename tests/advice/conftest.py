from typing import Any

import numpy as np
import pandas as pd
import pytest

import outlay
from outlay.advice import rehearsal


def drawn(seed: int = 0, rows: int = 400) -> pd.DataFrame:
    """A log of three arms, a clear order of rates, nothing odd about it."""
    rng = np.random.default_rng(seed)
    arms = rng.choice(["good", "fair", "poor"], size=rows * 3)
    rates = pd.Series(arms).map({"good": 0.8, "fair": 0.6, "poor": 0.2}).to_numpy()
    return pd.DataFrame(
        {"arm": arms, "cost": rng.gamma(4.0, 0.25, len(arms)), "reward": (rng.random(len(arms)) < rates).astype(float)}
    )


@pytest.fixture
def log() -> pd.DataFrame:
    return drawn()


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """In place of the simulator: every policy earns half of the best arm's, or what the dict says of it."""
    shares: dict[str, float] = {}

    def simulate(
        problem: Any, policies: Any, budgets: Any, *, runs: int, seed: int, workers: Any, max_pulls: int
    ) -> Any:
        best = problem.rate * budgets[-1] * (1 + 0.01 * np.random.default_rng(seed).normal(size=(runs, 1)))
        pulls = np.ones((len(policies), runs, 1, len(problem)), np.int64)
        reward = np.stack([shares.get(label, 0.5) * best for label in policies])
        return outlay.Result(problem, policies, np.array(budgets), seed, pulls, reward, reward, best, "0.1.0")

    monkeypatch.setattr(rehearsal, "simulate", simulate)
    return shares


@pytest.fixture
def draw() -> Any:
    return drawn


@pytest.fixture
def close(draw: Any) -> Any:
    """Two arms between which the log does not decide."""
    return draw().replace({"arm": {"poor": "good"}}).assign(reward=lambda frame: frame["cost"] > 0.9)
