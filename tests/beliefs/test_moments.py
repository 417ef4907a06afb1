"""Moments against exact arithmetic: any data, a large offset, and a very long run."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray
from tests.beliefs.compiled import compiled

from outlay.beliefs import Belief, Moments

NUMBERS = st.floats(-1e6, 1e6).map(lambda value: value if abs(value) > 1e-6 else 0.0)  # squares must not underflow
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=60)


def remembered(pairs: list[tuple[float, float]]) -> Belief:
    memory = Moments.empty(3)
    for cost, reward in pairs:
        memory.observe(1, cost, reward)
    assert memory.belief(0) == Belief(0, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return memory.belief(1)


def exact(pairs: list[tuple[float, float]]) -> list[Fraction]:
    costs, rewards = ([Fraction(v) for v in column] for column in zip(*pairs, strict=True))
    n = len(pairs)
    x, r = sum(costs, Fraction(0)) / n, sum(rewards, Fraction(0)) / n
    products = [
        [(a - x) * (a - x) for a in costs],
        [(b - r) * (b - r) for b in rewards],
        [(a - x) * (b - r) for a, b in zip(costs, rewards, strict=True)],
    ]
    return [x, r, *(sum(p, Fraction(0)) / n for p in products)]


@given(PAIRS)
@settings(max_examples=300)
def test_any_data_against_rational_arithmetic(pairs: list[tuple[float, float]]) -> None:
    belief = remembered(pairs)
    x, r, vx, vr, c = (float(v) for v in exact(pairs))
    scale_x, scale_r = (max(abs(v) for v in column) for column in zip(*pairs, strict=True))
    assert (belief.arm, belief.pulls) == (1, len(pairs))
    assert belief.mean_cost == pytest.approx(x, rel=1e-13, abs=1e-14 * scale_x)
    assert belief.mean_reward == pytest.approx(r, rel=1e-13, abs=1e-14 * scale_r)
    assert belief.var_cost == pytest.approx(vx, rel=1e-10, abs=1e-30 * scale_x * scale_x)
    assert belief.var_reward == pytest.approx(vr, rel=1e-10, abs=1e-30 * scale_r * scale_r)
    assert abs(belief.cov - c) <= 1e-10 * math.sqrt(vx * vr) + 1e-30 * scale_x * scale_r


def test_constant_values_have_no_variance() -> None:
    belief = remembered([(0.1, 0.7)] * 1000)
    assert belief == Belief(1, 1000, 0.1, 0.7, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("pulls", [30_000_000, pytest.param(1_000_000_000, marks=pytest.mark.soak)])
def test_long_run_against_integers(pulls: int) -> None:
    """Many pulls of lattice values, whose exact sums are integers."""
    observe = compiled(Moments.observe)

    def run(memory: Moments, pulls: int, totals: NDArray[np.int64]) -> None:
        state = np.uint64(1)
        for _ in range(pulls):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            cost = np.int64(state >> np.uint64(50)) % 100
            reward = np.int64(state >> np.uint64(40)) % 64 - 20 + cost // 10
            observe(memory, 0, 3.0 + cost / 4.0, reward / 8.0)  # quarters and eighths: no rounding before `observe`
            totals[0] += cost
            totals[1] += reward
            totals[2] += cost * cost
            totals[3] += reward * reward
            totals[4] += cost * reward

    memory, totals = Moments.empty(1), np.zeros(5, dtype=np.int64)
    fast: Any = njit(run)
    fast(memory, pulls, totals)
    sx, sr, sxx, srr, sxr = map(int, totals)
    belief = memory.belief(0)
    within = max(1e-11, 1e-18 * pulls)  # equal terms round alike: the error of n additions can grow like n
    assert belief.pulls == pulls
    assert belief.mean_cost == pytest.approx(float(3 + Fraction(sx, 4 * pulls)), rel=1e-12)
    assert belief.mean_reward == pytest.approx(float(Fraction(sr, 8 * pulls)), rel=1e-12)
    var_cost = float(Fraction(sxx * pulls - sx * sx, 16 * pulls * pulls))
    var_reward = float(Fraction(srr * pulls - sr * sr, 64 * pulls * pulls))
    assert belief.var_cost == pytest.approx(var_cost, rel=within)
    assert belief.var_reward == pytest.approx(var_reward, rel=within)
    cov = float(Fraction(sxr * pulls - sx * sr, 32 * pulls * pulls))
    assert abs(belief.cov - cov) <= within * math.sqrt(var_cost * var_reward)


def test_beliefs_hold_plain_python_numbers() -> None:
    memory = Moments.empty(1)
    memory.observe(0, np.float64(1.0), np.float64(2.0))
    assert [type(v) for v in memory.belief(0)] == [int, int, float, float, float, float, float]
    assert memory.full() is False
