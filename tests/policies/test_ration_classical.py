"""Ration without a budget is a policy for the classical bandit: against KL-UCB and Thompson sampling, played here."""

from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.policies.baselines.test_choices import play

from outlay.beliefs import HullMoments, SequentialMoments
from outlay.engine.jit.numba_types import OPTIONS, coerced, register
from outlay.formulas.argmax import log_of
from outlay.policies import Ration
from outlay.policies.protocol import memory_of
from outlay.usercode import Reach

Array = NDArray[np.float64]
TWO, LOW, TEN = [0.9, 0.8], [0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3], [0.9, *[0.8] * 9]


def regret_of_ration(means: Array, requests: int, runs: int) -> Array:
    for function in Reach(Ration, HullMoments, SequentialMoments, log_of).functions:
        register(function)
    fast: Any = numba.njit(**OPTIONS)(play)
    policy, regret = Ration(requests=requests), np.zeros(runs)
    for run in range(runs):
        rng = np.random.default_rng((7, run))
        table = np.ones((requests, len(means), 2))
        table[:, :, 1] = rng.random((requests, len(means))) < means
        chosen = np.zeros(requests, np.int64)
        fast(coerced(policy), memory_of(policy, len(means)), rng, table, chosen)
        regret[run] = (means.max() - means[chosen]).sum()
    return regret


def regret_of(rule: Any, means: Array, requests: int, runs: int) -> Array:
    """All runs at once; `rule` has an index of every arm from its pulls and sums."""
    rng = np.random.default_rng(8)
    pulls, sums, each = np.zeros((runs, len(means))), np.zeros((runs, len(means))), np.arange(runs)
    for n in range(requests):
        arm = np.full(runs, n) if n < len(means) else np.argmax(rule(rng, pulls, sums, n), axis=1)
        pulls[each, arm] += 1
        sums[each, arm] += rng.random(runs) < means[arm]
    regret: Array = pulls @ (means.max() - means)
    return regret


def thompson(rng: np.random.Generator, pulls: Array, sums: Array, n: int) -> Array:
    return rng.beta(1 + sums, 1 + pulls - sums)


def kl_ucb(rng: np.random.Generator, pulls: Array, sums: Array, n: int) -> Array:
    """The largest q with T·kl(mean, q) ≤ ln n, by bisection: 12 halvings are enough to rank arms."""
    mean = np.clip(sums / pulls, 1e-9, 1 - 1e-9)
    low, high = mean.copy(), np.ones_like(mean)
    for _ in range(12):
        q = (low + high) / 2
        inside = pulls * (mean * np.log(mean / q) + (1 - mean) * np.log((1 - mean) / (1 - q))) <= np.log(n)
        low, high = np.where(inside, q, low), np.where(inside, high, q)
    return (low + high) / 2


@pytest.mark.soak  # seconds of compiled runs
@pytest.mark.parametrize(
    ("means", "requests", "runs"),
    [
        (TWO, 10_000, 200),
        (LOW, 10_000, 200),
        (TEN, 100_000, 40),
    ],
    ids=["two", "low", "ten"],
)
def test_classical_instances(means: list[float], requests: int, runs: int) -> None:
    """Below KL-UCB, and not above Thompson sampling, by the means of many runs; each claim is given three standard
    errors, so that one that holds fails with a probability of 0.0014 at most under another seed."""
    given = np.array(means)
    mine = regret_of_ration(given, requests, runs)
    for rule, factor in ((kl_ucb, 0.9), (thompson, 1.1)):
        other = regret_of(rule, given, requests, 40)
        error = np.hypot(mine.std() / np.sqrt(len(mine)), factor * other.std() / np.sqrt(len(other)))
        assert mean_of(mine) - factor * mean_of(other) < 3 * error, (rule.__name__, mean_of(mine), mean_of(other))


def mean_of(values: Array) -> float:
    return float(values.mean())
