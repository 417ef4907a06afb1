"""Scores by test inversion: against slow twins that try rates, in other units, at the edges, compiled."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.beliefs.compiled import compiled
from tests.policies import slow_inversion as slow
from tests.policies.test_scores import drawn, moments_of, second_moments

from outlay.policies import UCBM1, BernsteinRate, CatoniRate, Fieller, FiellerKnown, MedianRate
from outlay.policies.baselines import RobustUCBMedian, RobustUCBTruncated

Array = NDArray[np.float64]


def remembered(policy: Any, samples: slow.Samples) -> Any:
    """The belief of a policy with a memory of its own."""
    memory = policy.memory(1)
    for cost, reward in samples:
        memory.observe(0, cost, reward)
        memory = memory.enlarged() if memory.full() else memory
    return memory.belief(0)


@pytest.mark.parametrize("seed", range(3))
def test_closed_forms_equal_the_slow_twins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    finite = dict.fromkeys(("known", "student", "plugin", "bernstein"), 0)
    for _ in range(60):
        samples, log_n = drawn(rng)
        belief, alpha = moments_of(samples, 1), rng.uniform(0.2, 1.5)
        moments, (m_x, m_r) = second_moments(rng), rng.choice([0.0, 1e-3, 0.02], size=2).tolist()
        level = alpha * log_n
        pairs: dict[str, tuple[Any, float]] = {
            "known": (FiellerKnown(*moments, alpha), slow.fieller_known(samples, level, *(m[1] for m in moments))),
            "student": (Fieller(alpha), slow.student(samples, level)),
            "plugin": (Fieller(alpha, form="plugin"), slow.plugin(samples, level)),
            "bernstein": (BernsteinRate(m_x, m_r, alpha), slow.bernstein(samples, level, m_x, m_r)),
        }
        for name, (policy, expected) in pairs.items():
            assert policy.score(belief, log_n) == pytest.approx(expected, rel=1e-6, abs=1e-9), name
            finite[name] += math.isfinite(expected)
    assert min(finite.values()) > 15  # the comparison is not only of infinities


@pytest.mark.parametrize("seed", range(3))
def test_estimates_from_samples_equal_the_slow_twins(seed: int) -> None:
    rng = np.random.default_rng(10 + seed)
    finite = dict.fromkeys(("median", "sampled", "known"), 0)
    for _ in range(60):
        samples, log_n = drawn(rng)
        alpha, tail = rng.uniform(0.2, 1.5), float(rng.choice([1.2, 1.7, 2.0]))
        var_cost, var_reward, cov = (float(values[1]) for values in second_moments(rng))
        level = alpha * log_n
        pairs: dict[str, tuple[Any, float]] = {
            "median": (MedianRate(alpha, tail), slow.median_rate(samples, level, 1 - 1 / tail)),
            "sampled": (CatoniRate(alpha), slow.catoni(samples, level)),
            "known": (
                CatoniRate(alpha, var_cost, var_reward, cov),
                slow.catoni(samples, level, np.poly1d([var_cost, -2 * cov, var_reward])),
            ),
        }
        for name, (policy, expected) in pairs.items():
            score = policy.score(remembered(policy, samples), log_n)
            within = 1e-9 if name == "median" else 2e-4 * (1 + abs(expected))
            assert score == pytest.approx(expected, rel=1e-9, abs=within), (name, samples, level)
            finite[name] += math.isfinite(expected)
    assert min(finite.values()) > 15


def test_catonis_sum_crosses_once() -> None:
    """No rate above the score is accepted again: the score is the last crossing, as the guarantee has it."""
    rng, seen = np.random.default_rng(15), 0
    for _ in range(300):
        samples, log_n = drawn(rng)
        if rng.random() < 0.5:
            heavy = rng.standard_t(rng.uniform(1.1, 3.0), (len(samples), 2)) * rng.uniform(0, 2, 2)
            samples = [(x + abs(a) * 0.3, r + b) for (x, r), (a, b) in zip(samples, heavy.tolist(), strict=True)]
        score = CatoniRate().score(remembered(CatoniRate(), samples), log_n)
        if math.isfinite(score):
            bound = slow.catoni_bound(slow.waiting_left_out(samples), log_n, None)
            steps = (abs(score) + 0.1) * np.geomspace(1e-4, 1e6, 100)
            assert all(bound(rate) < 0 for rate in (score + steps).tolist())
            seen += 1
    assert seen > 100


SCALE_FREE: list[Any] = [Fieller(), Fieller(0.25, form="plugin"), MedianRate(), MedianRate(0.5, tail=1.5), CatoniRate()]


def belief_for(policy: Any, samples: slow.Samples) -> Any:
    return remembered(policy, samples) if hasattr(policy, "memory") else moments_of(samples, 0)


def scaled(samples: slow.Samples, cost: float, reward: float) -> slow.Samples:
    return [(x * cost, r * reward) for x, r in samples]


@pytest.mark.parametrize("policy", SCALE_FREE, ids=repr)
def test_units_change_nothing(policy: Any) -> None:
    """To the last bit for powers of two, so that choices are the same; and no overflow in units of 1e±15."""
    rng, finite = np.random.default_rng(20), 0
    for _ in range(30):
        samples, log_n = drawn(rng)
        score = policy.score(belief_for(policy, samples), log_n)
        for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**-10, 2.0**-10)):
            assert policy.score(belief_for(policy, scaled(samples, cost, reward)), log_n) * cost == score * reward
        for cost, reward in ((1e15, 1.0), (1.0, 1e15), (1e-15, 1e-15), (1e-15, 1e15), (1e15, 1e-15)):
            other = policy.score(belief_for(policy, scaled(samples, cost, reward)), log_n)
            if len(samples) > 10:  # few samples on a line leave a rounding error as their variance
                assert other * cost / reward == pytest.approx(score, rel=1e-6)
        finite += math.isfinite(score)
    assert finite > 8


EVERY: list[Any] = [
    FiellerKnown(0.04, 0.09, 0.05), FiellerKnown(0.0, 0.0, 0.0), BernsteinRate(0.5, 1.0), BernsteinRate(0.0, 0.0),
    CatoniRate(1.0, 0.04, 0.09, 0.05), CatoniRate(1.0, 0.0, 0.09, 0.0), CatoniRate(1.0, 0.0, 0.0, 0.0), *SCALE_FREE,
]  # fmt: skip


@pytest.mark.parametrize("policy", EVERY, ids=repr)
def test_edges(policy: Any) -> None:
    def score(samples: slow.Samples, log_n: float) -> float:
        value = float(policy.score(belief_for(policy, samples), log_n))
        assert not math.isnan(value)
        return value

    assert score([], 0.0) == math.inf
    for log_n in (0.0, 3.0, 36.0):
        score([(1.0, 0.5)], log_n)
        for cost in (0.0, -1.0):  # a mean cost that is not positive: nothing is known of the rate
            assert score([(cost, 0.5)] * 200, log_n) == math.inf
        assert score([(1.0, 0.0)] * 2000, log_n) >= 0.0
        for value in (5e-324, 1e-310, 1e154, 1e300):
            score([(1.0, value), (2.0, -value)] * 20, log_n)
            score([(value, 1.0), (value, -1.0)] * 20, log_n)
    assert score([(2.0, -1.0)] * 2000, 3.0) == pytest.approx(-0.5, abs=0.02)
    assert score([(1.0, 0.5), (1.5, -3.0)] * 1000, 3.0) == pytest.approx(-1.0, abs=0.4)


REMEMBERING: list[Any] = [
    UCBM1([0.0, 1e-5], [0.5, 1e-5], [0.0, 5e-6]), MedianRate(0.5), CatoniRate(0.5), CatoniRate(0.5, 0.5, 0.5, 0.1),
    pytest.param(RobustUCBMedian(1e-3, 1e-3), marks=pytest.mark.soak),
    pytest.param(RobustUCBTruncated(1.0, 1.0), marks=pytest.mark.soak),
]  # fmt: skip


@pytest.mark.parametrize("policy", REMEMBERING, ids=repr)
def test_compiled_equals_interpreted_and_remembers_rightly(policy: Any) -> None:
    """Bit for bit, with nothing remembered, with the right thing remembered and with something else remembered."""
    rng, score = np.random.default_rng(8), compiled(type(policy).score)
    memory, finite = policy.memory(2), 0
    for n in range(1, 900):
        memory.observe(int(rng.integers(2)), rng.standard_t(3) + 2.0, rng.standard_t(3) + 1.0)
        memory = memory.enlarged() if memory.full() else memory
        for arm in range(2) if n % 5 == 0 else ():
            for log_n in (math.log(n), math.log(n) / 4, math.log(n) / 4):
                one = policy.score(memory.belief(arm), log_n)
                if rng.random() < 0.5 and hasattr(memory, "arms"):
                    memory.arms[arm, 3:] = 0
                assert one == score(policy, memory.belief(arm), log_n)
                finite += math.isfinite(one)
    assert finite > 500
    assert policy.score(memory.belief(0), math.inf) == math.inf == score(policy, memory.belief(0), math.inf)
