"""Every score against the slow twin, the compiler against the interpreter, and what a score may never do."""

import math
from typing import Any

import numpy as np
import pytest
from tests.beliefs.compiled import compiled
from tests.policies import slow

from outlay import policies
from outlay.beliefs import Belief, Moments, residual_variance
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1, BernsteinRate, Fieller, FiellerKnown

MOMENT_POLICIES: list[Any] = [
    UCBB1(0.04, 0.09, 0.05),
    UCBB1([0.0, 1.0, 2.0], 1.0, [0.0, 0.5, -1.0], alpha=3.0, min_cost=0.1),
    UCBB1(0.25, 0.25, -0.2, cost_bound=1.0, reward_bound=2.0),
    UCBB1(0.25, 0.25, 0.25, cost_bound=0.5, variance_factor=1.0, factor=1.78),
    UCBB2(1.0, 2.0),
    UCBB2(1e-3, 1e-3, alpha=2.5, min_cost=0.01, factor=1.78),
    UCBB2C(1.0, 1.0, 0.5),
    UCBB2C(1e-3, 1e-3, 0.0, alpha=2.5, min_cost=0.01, factor=1.78),
    FiellerKnown(0.04, 0.09, 0.05),
    FiellerKnown([0.0, 1.0, 2.0], 1.0, [0.0, 0.5, -1.0], alpha=0.25),
    Fieller(),
    Fieller(alpha=0.25, form="plugin"),
    BernsteinRate(1.0, 2.0),
    BernsteinRate(1e-3, 0.0, alpha=0.25),
]
ELSEWHERE = {policies.UCBM1, policies.MedianRate, policies.CatoniRate}  # they read more than moments, and have tests


def test_every_score_from_moments_is_tested_here() -> None:
    scored = {policy for policy in policies.BUILT_IN.values() if callable(getattr(policy, "score", None))}
    assert scored - ELSEWHERE == {type(policy) for policy in MOMENT_POLICIES}, "list it in MOMENT_POLICIES, with a twin"


EDGES = [0.0, -0.0, 5e-324, 1e-310, 1e-154, 1e-12, 0.3, 1.0, 1e8, 1e154, 1e300, 1.7e308]


def drawn(rng: np.random.Generator) -> tuple[slow.Samples, float]:
    """An arm's samples and log n: often few, sometimes constant, negative or perfectly correlated on a lattice."""
    pulls = int(rng.choice([0, 1, 2, 3, 10, 100, 500, 2000], p=[0.05, 0.1, 0.1, 0.1, 0.15, 0.2, 0.2, 0.1]))
    cost, reward, cost_sd, reward_sd, correlation = rng.uniform((-0.3, -1, 0, 0, -0.95), (2, 1, 0.5, 1, 0.95))
    kind = rng.integers(6)
    cost_sd *= kind != 0
    reward_sd *= kind != 1
    z, w = rng.normal(size=(2, pulls))
    costs = cost + cost_sd * z
    rewards = reward + reward_sd * (correlation * z + math.sqrt(1 - correlation**2) * w)
    log_n = float(rng.choice([0.0, math.log(max(pulls, 1)), rng.uniform(0, 20), 36.0]))
    return list(zip(costs.tolist(), rewards.tolist(), strict=True)), log_n


def moments_of(samples: slow.Samples, arm: int) -> Belief:
    memory = Moments.empty(arm + 1)
    for cost, reward in samples:
        memory.observe(arm, cost, reward)
    return memory.belief(arm)


def second_moments(rng: np.random.Generator) -> tuple[list[float], list[float], list[float]]:
    var_cost = (rng.exponential(0.1, size=2) * rng.integers(0, 3, size=2)).tolist()
    var_reward = rng.exponential(0.3, size=2).tolist()
    cov = (rng.uniform(-0.9, 0.9, size=2) * np.sqrt(np.multiply(var_cost, var_reward))).tolist()
    return var_cost, var_reward, cov


@pytest.mark.parametrize("seed", range(4))
def test_moment_policies_equal_the_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    finite = dict.fromkeys(("B1", "B2", "B2C"), 0)
    for _ in range(300):
        samples, log_n = drawn(rng)
        arm = int(rng.integers(2))
        belief = moments_of(samples, arm)
        alpha, b, factor = rng.uniform(2.01, 4), float(rng.choice([1e-12, 0.2])), float(rng.choice([1.4, 1.78]))
        m_x, m_r = rng.choice([1e-3, 0.02, 1.0], size=2).tolist()
        L = float(rng.choice([0.5, 2.0]))
        vx, vr, c = second_moments(rng)
        bounds = (0.0, 0.0) if rng.random() < 0.5 else (m_x, m_r)
        shared = {"alpha": alpha, "b": b, "factor": factor}
        pairs: dict[str, tuple[Any, float]] = {
            "B1": (
                UCBB1(vx, vr, c, alpha, b, bounds[0], bounds[1], L, factor),
                slow.ucb_b1(samples, log_n, vx[arm], vr[arm], c[arm], m_x=bounds[0], m_r=bounds[1], L=L, **shared),
            ),
            "B2": (UCBB2(m_x, m_r, alpha, b, factor), slow.ucb_b2(samples, log_n, m_x=m_x, m_r=m_r, **shared)),
            "B2C": (
                UCBB2C(m_x, m_r, 0.7, alpha, b, factor),
                slow.ucb_b2c(samples, log_n, m_x=m_x, m_r=m_r, omega_bar=0.7, **shared),
            ),
        }
        # Where the cost explains all of the reward (two samples always), √L̂ is the root of a rounding error.
        explained = residual_variance(belief) < 1e-3 * belief.var_reward
        for name, (policy, expected) in pairs.items():
            within = 1e-7 if name == "B2C" and explained else 1e-12
            assert policy.score(belief, log_n) == pytest.approx(expected, rel=within, abs=1e-14), name
            finite[name] += math.isfinite(expected)
    assert min(finite.values()) > 50  # the comparison is not only of infinities


@pytest.mark.parametrize("seed", range(4))
def test_ucb_m1_equals_the_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    finite = 0
    for _ in range(60):
        samples, log_n = drawn(rng)
        arm = int(rng.integers(2))
        alpha, b = rng.uniform(2.01, 4), float(rng.choice([1e-12, 0.2]))
        var_cost, var_reward, cov = ([v * 0.02 for v in moments] for moments in second_moments(rng))
        policy = UCBM1(var_cost, var_reward, cov, alpha, b)
        memory = policy.memory(2)
        for cost, reward in samples:
            if memory.full():
                memory = memory.enlarged()
            memory.observe(arm, cost, reward)
        for at in (log_n, log_n / 3, log_n / 10):
            expected = slow.ucb_m1(samples, at, var_cost[arm], var_reward[arm], cov[arm], alpha=alpha, b=b)
            assert policy.score(memory.belief(arm), at) == pytest.approx(expected, rel=1e-12, abs=1e-14)
            finite += math.isfinite(expected)
    assert finite > 30


def beliefs(rng: np.random.Generator, count: int) -> list[tuple[Belief, float]]:
    """Beliefs of every size and sign, edges included, and a log n for each."""

    def value(signed: bool) -> float:
        size = float(rng.choice(EDGES)) if rng.random() < 0.4 else float(rng.exponential())
        return -size if signed and rng.random() < 0.3 else size

    made = []
    for _ in range(count):
        pulls = int(rng.choice([0, 1, 2, 7, 100, 10**4, 10**9]))
        belief = Belief(int(rng.integers(3)), pulls, value(True), value(True), value(False), value(False), value(True))
        made.append((belief, float(rng.choice([0.0, 0.7, rng.uniform(0, 37), 36.7]))))
    return made


@pytest.mark.parametrize("policy", MOMENT_POLICIES, ids=repr)
def test_compiled_equals_interpreted_and_never_nan(policy: Any) -> None:
    score = compiled(type(policy).score)
    for belief, log_n in beliefs(np.random.default_rng(7), 3000):
        one, other = policy.score(belief, log_n), score(policy, belief, log_n)
        assert not math.isnan(one)
        assert np.float64(one).tobytes() == np.float64(other).tobytes(), (belief, log_n)


def test_ucb_m1_memory_has_room_for_the_groups_of_a_large_alpha() -> None:
    policy = UCBM1(0.0, 1.0, 0.0, alpha=50.0)
    memory = policy.memory(1)
    for _ in range(6600):
        if memory.full():
            memory = memory.enlarged()
        memory.observe(0, 1.0, 2.0)
    assert math.isfinite(policy.score(memory.belief(0), 36.7))
    assert memory.scratch.shape[1] > 175 * 36.7
