"""Every score against its slow twin, the compiler against the interpreter, and what a score may never do."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.beliefs.compiled import compiled
from tests.policies.baselines import slow
from tests.policies.baselines.examples import ALL, SAMPLED, SCORED, some
from tests.policies.test_scores import beliefs, moments_of

from outlay.beliefs import Belief
from outlay.formulas.confidence import wilson_lower, wilson_upper
from outlay.parameters import signature_of
from outlay.policies import baselines as b


def drawn(rng: np.random.Generator, m_x: float, m_r: float) -> tuple[slow.Samples, int]:
    """An arm's samples within the bounds, on a lattice, continuous or constant, and the pulls of all arms."""
    pulls = int(rng.choice([1, 2, 3, 10, 29, 30, 100, 1000]))
    one, other = rng.uniform(0.3, 5.0, 2).tolist()
    costs, rewards = rng.beta(one, other, (2, pulls))
    kind = rng.integers(5)
    if kind < 3:
        costs, rewards = (rng.random((2, pulls)) < rng.uniform(0, 1, (2, 1))).astype(float)
    if kind == 3:
        costs[:], rewards[:] = rng.choice([0.0, 0.3, 1.0], 2)
    n = pulls + int(rng.choice([0, 1, 50, 10**4, 10**8]))
    return list(zip((costs * m_x).tolist(), (rewards * m_r).tolist(), strict=True)), n


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_the_slow_twins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    finite: dict[str, int] = {}
    for _ in range(200):
        m_x, m_r = rng.choice([1.0, 2.5], 2).tolist()
        samples, n = drawn(rng, m_x, m_r)
        belief = moments_of(samples, 1)
        least, alpha, rho = rng.uniform(0.01, 0.9) * m_x, rng.uniform(0.05, 2.0), rng.uniform(0.1, 2.0)
        wait, cost, c = int(rng.choice([0, 2, 30])), rng.uniform(0.1, 2.0), float(rng.choice([0.0, 3.0]))
        bounds = (m_x, m_r)
        pairs: dict[str, tuple[Any, float]] = {
            "greedy": (b.Greedy(), slow.greedy(samples, n)),
            "√n-greedy": (b.RootGreedy(), slow.greedy(samples, n)),
            "UCB-AIR": (b.UCBAIR(1.0, rho, m_r), slow.ucb_v(samples, n, rho, m_r)),
            "UCB-AIR without a bound": (b.UCBAIR(1.0, rho), slow.ucb_v(samples, n, rho, 0.0)),
            "fractional KUBE": (b.FractionalKUBE(m_r), slow.fractional_kube(samples, n, m_r)),
            "UCB-BV1": (b.UCBBV1(least, *bounds), slow.ucb_bv1(samples, n, least, *bounds)),
            "Budget-UCB": (b.BudgetUCB(least, *bounds), slow.budget_ucb(samples, n, least, *bounds)),
            "i-UCB": (b.IUCB(alpha, *bounds), slow.xia("i", samples, n, alpha, *bounds)),
            "c-UCB": (b.CUCB(alpha, *bounds), slow.xia("c", samples, n, alpha, *bounds)),
            "m-UCB": (b.MUCB(alpha, *bounds), slow.xia("m", samples, n, alpha, *bounds)),
            "UCB-SC+": (b.UCBSCPlus(*bounds), slow.ucb_sc(samples, n, *bounds)),
            "KL-UCB-SC": (b.KLUCBSC(*bounds, loglog=c), slow.kl_ucb_sc(samples, n, *bounds, c)),
            "ω-UCB": (b.OmegaUCB(rho, *bounds), slow.omega(samples, n, rho, *bounds)),
            "ω*-UCB": (b.OmegaStarUCB(rho, wait, *bounds), slow.omega_star(samples, n, rho, wait, *bounds)),
            "B-KL-UCB": (b.BKLUCB([9.0, cost], m_r, c), slow.b_kl_ucb(samples, n, cost, m_r, c)),
        }
        for name, (policy, expected) in pairs.items():
            assert policy.score(belief, math.log(n)) == pytest.approx(expected, rel=1e-9, abs=1e-12), name
            finite[name] = finite.get(name, 0) + math.isfinite(expected)
    assert min(finite.values()) > 20, finite  # the comparison is not only of infinities


@pytest.mark.parametrize("seed", range(2))
def test_robust_scores_equal_the_slow_twins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    finite = 0
    for _ in range(40):
        v_x, v_r, u_x, u_r = rng.uniform(1e-5, 1e-2, 4).tolist()
        u_x, u_r = 1.5 + u_x, 2.0 + u_r
        by_median, by_truncation = b.RobustUCBMedian(v_x, v_r), b.RobustUCBTruncated(u_x, u_r)
        medians, truncated = by_median.memory(2), by_truncation.memory(2)
        history: slow.History = [[], []]
        whens: list[list[int]] = [[], []]
        for when in range(1, int(rng.choice([3, 40, 3000])) + 1):
            arm = int(rng.random() < 0.3)
            cost, reward = 1.0 + 0.2 * rng.standard_t(3), 0.5 + rng.standard_t(2)
            history[arm].append((cost, reward))
            whens[arm].append(when)
            truncated.observe(arm, cost, reward)
            medians = medians.enlarged() if medians.full() else medians
            medians.observe(arm, cost, reward)
        for arm, n in itertools.product(range(2), (when, 2 * when, 10**8)):
            if history[arm]:
                one = by_median.score(medians.belief(arm), math.log(n))
                other = by_truncation.score(truncated.belief(arm), math.log(n))
                assert one == pytest.approx(slow.robust_median(history[arm], n, v_x, v_r), rel=1e-9)
                expected = slow.robust_truncated(history[arm], whens[arm], n, u_x, u_r)
                assert other == pytest.approx(expected, rel=1e-9)
                finite += math.isfinite(one) + math.isfinite(other)
    assert finite > 50


@pytest.mark.parametrize("policy", some(SCORED), ids=repr)
def test_compiled_equals_interpreted_and_never_nan(policy: Any) -> None:
    score = compiled(type(policy).score)
    for belief, log_n in beliefs(np.random.default_rng(7), 2000):
        one, other = policy.score(belief, log_n), score(policy, belief, log_n)
        assert not math.isnan(one)
        assert np.float64(one).tobytes() == np.float64(other).tobytes(), (belief, log_n)


@pytest.mark.parametrize("policy", SAMPLED, ids=repr)
def test_compiled_samples_equal_interpreted_ones_and_are_never_nan(policy: Any) -> None:
    sample = compiled(type(policy).sample)
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    for belief, log_n in beliefs(np.random.default_rng(7), 2000):
        belief = belief._replace(cov=min(1.0, max(-1.0, belief.cov)) * math.sqrt(belief.var_cost * belief.var_reward))
        mine, theirs = policy.sample(belief, log_n, one), sample(policy, belief, log_n, other)
        assert not math.isnan(mine)
        assert np.float64(mine).tobytes() == np.float64(theirs).tobytes(), belief
    assert one.bit_generator.state == other.bit_generator.state


@pytest.mark.parametrize("policy", SCORED, ids=repr)
def test_a_score_is_infinite_before_the_first_pull_and_where_nothing_was_paid(policy: Any) -> None:
    belief = Belief(0, 5, 0.0, 0.5, 0.0, 0.0, 0.0)
    assert policy.score(belief._replace(pulls=0), 0.0) == math.inf
    free = policy.score(belief, 3.0)
    assert free == math.inf or isinstance(policy, b.BKLUCB)  # which knows the cost
    assert policy.score(belief._replace(mean_cost=5e-324), 3.0) > 0.0


def test_wilson_bounds_keep_their_side_where_the_textbook_form_loses_it() -> None:
    for p, g in itertools.product([0.0, 1e-300, 1e-20, 1e-9, 0.3, 1 - 1e-16, 1.0], [0.0, 1e-18, 1e-9, 0.5, 1e6]):
        lower, upper = wilson_lower(p, g), wilson_upper(p, g)
        assert 0.0 <= lower <= p * (1 + 1e-15) <= upper * (1 + 3e-15) <= 1 + 4e-15
        assert (lower == 0.0) == (p == 0.0) or p == 1e-300
        if g > 0:  # both solve (p − q)² = g·q(1 − q)
            for q in {lower, upper} if p > 1e-9 else set():
                assert (p - q) ** 2 == pytest.approx(g * q * (1 - q), rel=1e-6, abs=1e-16)


def test_every_exported_policy_is_among_the_examples() -> None:
    own = {name for name in b.__all__ if "requests" in signature_of(getattr(b, name))}  # have tests of their own
    own |= {"CUSUMUCB", "DiscountedThompson", "GLRKLUCB", "SWUCB"}
    assert {type(policy).__name__ for policy in ALL} | own == set(b.__all__)
    assert all(getattr(b, name).__name__ == name for name in b.__all__)
