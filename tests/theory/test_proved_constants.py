"""The constants called proved: values worked out by hand, and the steps of the proof, one by one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.arms import Bernoulli, Constant, Gaussian, Problem
from outlay.beliefs import Belief
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.theory import outlasting
from outlay.theory.pull_bounds import pull_constants

# As in test_pull_bounds: Δ = μ = ½, σ² = 7/16, M_k = 1.5, Var(X) = ¼.
COINS = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)])


def known(problem: Problem, **more: float) -> UCBB1:
    return UCBB1(**problem.second_moments(), alpha=3.0, **more)


def test_arms_that_outlast_lemma_3():
    """968·S² against 793·σ² + 2821·Δ²Var(X): costs as random as rewards, at gaps of .2 and 2; and without noise."""
    for reward, kept in ((0.8, ["arm 1"]), (-0.0, [])):
        noisy = Problem([Gaussian(2.0, 2.0, 0.5, 0.5), Gaussian(2.0, 2.0 * reward, 0.5, 0.5)])
        spread, gap = 0.5 + reward * 0.5, 1.0 - reward
        sigma2 = 0.25 + 0.25
        assert (968 * spread**2 > 484 * 1.28**2 * sigma2 + 135 * (1.28 / 0.28) ** 2 * gap**2 * 0.25) == bool(kept)
        assert outlasting(noisy, UCBM1(**noisy.second_moments())) == kept
    for more, kept in (
        (0.99, ["arm 1"]),
        (1.01, []),
    ):  # Var(R) = 0 and r = 1: 968 = 484λ²(1 + Δ)² + 2821Δ² at Δ = .0913
        gap = more * 0.0913393
        edge = Problem([Gaussian(2.0, 2.0 * (1 + gap), 0.5, 0.0), Gaussian(2.0, 2.0, 0.5, 0.0)])
        assert outlasting(edge, UCBM1(**edge.second_moments())) == kept
    calm = Problem([Constant(1.0, 1.0), Constant(1.0, 0.5)])
    assert outlasting(calm, UCBM1(0.0, 0.0, 0.0)) == ["arm 1"]
    scaled = Problem([Gaussian(20.0, 20.0, 5.0, 5.0), Gaussian(20.0, 16.0, 5.0, 5.0)])  # the first, in other units
    assert outlasting(scaled, UCBM1(**scaled.second_moments())) == ["arm 1"]
    assert outlasting(COINS, UCBB2(1.0, 1.0)) == []


def test_proved_values():
    tau, reach = 0.28 / 1.56, 1.21875 * (1 + 1.4 * 1.21875)
    spread = math.sqrt(3 / 16) + 0.5 * math.sqrt(1 / 4)
    bounded = pull_constants(COINS, known(COINS, cost_bound=1.0, reward_bound=1.0), 1, "proved")
    judged = 2 * 0.25 / (tau * 0.5) ** 2 + 4 / 3 / (tau * 0.5)
    dropped = 2 * (reach * spread / 0.25) ** 2 + 4 / 3 * reach * 1.5 / 0.25
    assert bounded.coefficient == pytest.approx(max(judged, dropped))
    assert bounded.constant == 1 + 8 * 2
    unknown = pull_constants(COINS, UCBB2(1.0, 1.0, alpha=3.0), 1, "proved")
    judged = 2 * 0.25 / (tau * 0.5) ** 2 + 8 / (tau * 0.5)
    dropped = 2 * (reach * spread / 0.25) ** 2 + 8 * reach * 1.5 / 0.25
    assert unknown.coefficient == pytest.approx(max(judged, dropped))
    assert unknown.constant == 1 + 14 * 2
    learned = pull_constants(COINS, UCBB2C(1.0, 1.0, 1.5, alpha=3.0), 1, "proved")
    reach = 1.21875 * (1 + 1.4 * (1 + math.sqrt(2) * 0.21875))
    dropped = 2 * 2 * (3 / 16 + 1 / 16) * (reach / 0.25) ** 2 + 2 * reach * ((3 + math.sqrt(2)) * 1.5 + 6 * 1.5) / 0.25
    assert learned.coefficient == pytest.approx(max(judged, dropped))
    assert learned.constant == 1 + 14 * 2
    rare = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.05, 0.0)])  # judged late, and dropped at once
    told = rare.second_moments()
    for policy, linear in (
        (UCBB1(**told, alpha=3.0, cost_bound=1.0, reward_bound=1.0), 4 / 3),
        (UCBB2(1.0, 1.0, alpha=3.0), 8.0),
        (UCBB2C(1.0, 1.0, 1.0, alpha=3.0), 8.0),
    ):
        wanted = 2 * 0.05 * 0.95 / (tau * 0.05) ** 2 + linear / (tau * 0.05)
        assert pull_constants(rare, policy, 1, "proved").coefficient == pytest.approx(wanted)
    assert pull_constants(rare, UCBM1(**told), 1, "proved").coefficient == pytest.approx(121 * 0.95 / 0.05 / tau**2)
    heavy = pull_constants(COINS, UCBM1(**COINS.second_moments(), alpha=3.0), 1, "proved")
    reach = 1.21875 * (1 + 2 * math.sqrt(2) * 1.21875)
    assert heavy.coefficient == pytest.approx(121 * (reach * spread / 0.25) ** 2)
    assert heavy.constant == 2 + 2 * 2
    tame = Problem([Constant(1.0, 1.0), Constant(1.0, 0.5)])
    assert pull_constants(tame, UCBM1(0.0, 0.0, 0.0), 1, "proved").coefficient == 3.5


@settings(max_examples=500)
@given(
    mean=st.floats(0.01, 10),
    rate=st.floats(0, 10),
    slope=st.floats(-10, 10),
    eta=st.floats(0, 0.99999),
    epsilon=st.floats(0, 10),
    x=st.floats(-1, 1),
    y=st.floats(-1, 1),
    factor=st.sampled_from([1.4, 1.28 / 0.72, 2 * math.sqrt(2)]),
)
def test_score_of_an_arm_that_is_judged(mean, rate, slope, eta, epsilon, x, y, factor):
    """The proved constants: η < τμ makes the estimate stable, and then score ≤ r + H(ε + |r−ω|η)/μ."""
    eta *= 0.28 / 1.56 * mean
    cost = mean + x * eta
    assert eta == 0 or eta < 0.21875 * cost
    estimate = max(0.0, (rate - slope) * mean + y * epsilon + slope * cost) / cost
    score = estimate + factor * (epsilon + abs(estimate - slope) * eta) / cost
    reach = 1.21875 * (1 + factor * 1.21875)
    assert score <= rate + reach * (epsilon + abs(rate - slope) * eta) / mean + 1e-9 * (1 + abs(slope) + epsilon / mean)


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    samples=st.integers(20, 400),
    paid=st.floats(0.05, 1.0),
    level=st.floats(1e-4, 0.02),
    cost=st.sampled_from([1.0, 0.5]),
)
def test_score_of_ucb_b2c_where_costs_have_two_values(seed, samples, paid, level, cost):
    """Costs of 0 and c: ω̂ ≤ min(r̂, ω̄), so the score is above every rate that empirical Bernstein does not refute.

    The largest such rate r has r·X̄ − R̄ = √(2·V̂(R − rX)·ℓ/T) + 3(M_R + rM_X)ℓ/T. Above the arm's own rate, the score is
    at most H·E/μ, E the radius of the proof with sample moments in place of the true ones.
    """
    rng = np.random.default_rng(seed)
    x = cost * (rng.random(samples) < paid)
    r = rng.choice([0.0, 0.3, 1.0], samples, p=rng.dirichlet([0.5] * 3)) * np.where(x > 0, 1.0, rng.random())
    policy = UCBB2C(cost_bound=1.0, reward_bound=1.0, slope_bound=1 / cost, alpha=3.0, min_cost=1e-9)
    covariance = np.cov(x, r, bias=True)
    belief = Belief(0, samples, x.mean(), r.mean(), covariance[0, 0], covariance[1, 1], covariance[0, 1])
    score = policy.score(belief, level * samples / 3.0)
    if math.isinf(score):
        return

    def slack(rate: float) -> float:
        spread = math.sqrt(2 * np.var(r - rate * x) * level)
        return float(spread + 3 * (1 + rate) * level - rate * x.mean() + r.mean())

    assert slack(score) <= 1e-12
    assert all(slack(rate) <= 1e-12 for rate in score * np.array([1.1, 2.0, 10.0]))
    own, eta = r.mean() / x.mean(), math.sqrt(2 * np.var(x) * level) + 3 * level
    radius = math.sqrt(2) * math.sqrt(2 * np.var(r - own * x) * level) + 3 * (1 + own + 2 / cost) * level
    assert score <= own + 1.4 * radius / x.mean() * (1 + 1e-9)
    assert eta < 0.21875 * x.mean()


def test_proved_tails_of_the_medians():
    """UCB-M1 at n ≥ 2: a block is bad with chance p ≤ 4m/(121ℓ), and half of m blocks with chance below n^−α."""
    level = 2.0 * np.log(np.arange(2, 10**6, 7))
    blocks = np.floor(3.5 * level) + 1
    bad = 4 * blocks / (121 * level)
    assert bad.max() < 0.14
    exponent = blocks * (0.5 * np.log(0.5 / bad) + 0.5 * np.log(0.5 / (1 - bad)))
    assert (exponent > level).all()
