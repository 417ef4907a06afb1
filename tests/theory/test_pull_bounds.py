"""The lemmas: values worked out by hand, the steps of the proved constants, and Proposition 4."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.arms import Bernoulli, Constant, Exponential, Gaussian, Pareto, Problem, Uniform
from outlay.beliefs import Belief
from outlay.errors import BadParameter, NotCovered
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.theory.optimum import optimality
from outlay.theory.upper.from_pulls_to_regret import horizon, late_passage, regret_from_pulls
from outlay.theory.upper.pull_bounds import outlasting, pull_bound, pull_constants

# Bernoulli costs ½; rates 1 and ½: Δ = ½, μ = ½, Δμ = ¼, Var(X) = ¼; of the worse arm Var(R) = 3/16, r* = 1,
# σ² = 3/16 + 1/4 = 7/16, σ²/(Δμ)² = 7; M_k = 1 + ½, M_k/(Δμ) = 6; M_X/μ = 2; Var/μ² = 1; M_X⁴/Var² = 16.
COINS = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)])
LOG = 3.0 * math.log(1000)


def known(problem: Problem, **more: float) -> UCBB1:
    return UCBB1(**problem.second_moments(), alpha=3.0, **more)


def test_lemma_2():
    bounded = known(COINS, cost_bound=1.0, reward_bound=1.0)
    assert pull_bound(COINS, bounded, 1, 1000) == pytest.approx(42 * (7 + 6 + 2) * LOG + 36)
    problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5, 0.5), Gaussian(2.0, 1.0, 0.5, 0.5, 0.5)])
    # ω = ½, V = 3/16, σ² = 3/16 + ¼·¼ = ¼; Δμ = 1
    assert pull_bound(problem, known(problem), 1, 1000) == pytest.approx(11 * 0.25 * LOG + 36)


def test_lemma_3():
    policy = UCBM1(**COINS.second_moments(), alpha=3.0)
    wanted = 484 * 1.28**2 * 7 + 135 * (1.28 / 0.28) ** 2 * 1
    assert pull_bound(COINS, policy, 1, 1000) == pytest.approx(wanted * LOG + 144)


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


def test_appendix_f_and_g():
    known_range = UCBB2(1.0, 1.0, alpha=3.0)
    assert pull_bound(COINS, known_range, 1, 1000) == pytest.approx(
        (21 * (16 + 2 * 2 + 3 * 1) + 42 * (7 + 6)) * LOG + 144
    )
    learned = UCBB2C(1.0, 1.0, 0.5, alpha=3.0)  # M_Z = 1.5, M_X·M_Z/√Var = 3, over Δμ = 12
    assert pull_bound(COINS, learned, 1, 1000) == pytest.approx(
        (21 * (3 * 16 + 2 * 2 + 3 * 1) + 42 * (7 + 6 + 12)) * LOG + 192
    )


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


def test_refusals():
    policy = known(COINS, cost_bound=1.0, reward_bound=1.0)
    with pytest.raises(NotCovered, match=r"^the lemmas bound the pulls of arms with a gap, and 'arm 0' is a best arm$"):
        pull_bound(COINS, policy, 0, 1000)
    with pytest.raises(BadParameter, match=r"^arm of pull_bound must be a whole number ≥ 0 and < 2; got 2$"):
        pull_bound(COINS, policy, 2, 1000)
    with pytest.raises(BadParameter, match=r"^constants of pull_bound must be 'printed' or 'proved'; got 'best'$"):
        pull_bound(COINS, policy, 1, 1000, "best")
    with pytest.raises(
        NotCovered, match=r"^the proof for UCBB2C needs slope_bound ≥ .*; it is 0, and that of 'arm 0' is 1$"
    ):
        pull_bound(COINS, UCBB2C(1.0, 1.0, 0.0), 1, 1000, "proved")
    smooth = Problem([Bernoulli(0.5, 0.5), Uniform(0.0, 1.0, 0.0, 0.5)])
    with pytest.raises(
        NotCovered, match=r"^the proof for UCBB2C needs costs of 0 and one other value; those of 'arm 1'"
    ):
        pull_bound(smooth, UCBB2C(1.0, 1.0, 1.0), 1, 1000, "proved")
    assert pull_bound(Problem([*COINS.arms, Constant(0.5, 0.1)]), UCBB2C(1.0, 1.0, 2.0), 2, 1000, "proved") > 0


def test_lemma_1():
    """Bernoulli costs ½ and a budget of 50: how rarely 200 pulls leave it unspent, exactly and by the bound."""
    from scipy.stats import binom

    fourth = 0.5**4
    assert binom.cdf(50, 200, 0.5) <= late_passage(200, 0.5, 4.0, fourth)
    assert late_passage(200, 0.5, 4.0, fourth) == pytest.approx((32 / 3) ** 4 * fourth / (0.5**4 * 200**2))


def test_proposition_4():
    problem = Problem([Uniform(0.0, 2.0, 0.0, 2.0), Uniform(0.0, 1.0, 0.0, 0.5)])  # μ_* = ½, Δμ = ¼
    assert horizon(problem, 100.0) == 400
    found = regret_from_pulls(problem, [0.0, 40.0], 100.0, order=3.0, central_moment=0.25, optimality_gap=2.0)
    assert found.pulls == 10.0
    # Lemma 1 summed over n ≥ 400 is at most its integral from 399, here (2B − μ_*)/μ_*
    wanted = 0.25 * 9**3 * 0.25 / (0.5**3 * 0.5 * math.sqrt(399))
    assert found.residual == pytest.approx(wanted)
    tail = sum(late_passage(n, 0.5, 3.0, 0.25) for n in range(400, 20_000))
    assert tail * 0.25 <= found.residual
    printed = regret_from_pulls(problem, [0.0, 40.0], 100.0, 3.0, 0.25, 2.0, constants="printed")
    assert printed.residual == pytest.approx(wanted / 399)
    assert tail * 0.25 > printed.residual  # what is printed is not a bound on the sum
    assert found.value == pytest.approx(12 + wanted)


def test_proposition_4_refusals():
    problem = Problem([Uniform(0.0, 2.0, -2.0, 0.0), Uniform(0.0, 1.0, -2.0, 0.0)])
    with pytest.raises(NotCovered, match=r"^Proposition 4 needs a best rate r\* ≥ 0; it is -1$"):
        regret_from_pulls(problem, [0.0, 1.0], 100.0, 3.0, 0.25, 0.0)
    with pytest.raises(NotCovered, match=r"^Proposition 4 needs a budget above half of the smallest mean cost, 0\.25"):
        regret_from_pulls(COINS, [0.0, 1.0], 0.2, 3.0, 0.25, 0.0)
    with pytest.raises(
        BadParameter, match=r"^pulls of regret_from_pulls must be 2 numbers, one per arm; got \[1\.0\]$"
    ):
        regret_from_pulls(COINS, [1.0], 10.0, 3.0, 0.25, 0.0)
    with pytest.raises(BadParameter, match=r"^pulls of regret_from_pulls must be 2 numbers, one per arm; got 5$"):
        regret_from_pulls(COINS, 5, 10.0, 3.0)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match=r"^pulls of regret_from_pulls must be a number or a sequence .*; got None$"):
        regret_from_pulls(COINS, None, 10.0, 3.0)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match=r"^problem of regret_from_pulls must be .*Problem.*; got None$"):
        regret_from_pulls(None, [0.0], 10.0, 3.0)  # type: ignore[arg-type]


def test_proposition_4_needs_the_moment():
    tailed = Problem([Pareto(1.0, 1.0, 3.5), Pareto(1.0, 0.5, 3.0)])
    sentence = r"^Proposition 4 needs costs with a moment of order 3; 'arm 1' has moments of order below 3 only$"
    with pytest.raises(NotCovered, match=sentence):
        regret_from_pulls(tailed, [0.0, 1.0], 100.0, 3.0, 10.0, 1.0)
    assert regret_from_pulls(tailed, [0.0, 1.0], 100.0, 2.9, 10.0, 1.0).value > 1.5
    with pytest.raises(NotCovered, match=r"^the central moment is known .*; give one that covers 'arm 0'$"):
        regret_from_pulls(tailed, [0.0, 1.0], 100.0, 2.9)
    with pytest.raises(BadParameter, match=r"^central_moment of regret_from_pulls must be ≥ 0\.5\^4: .*; got 0\.06$"):
        regret_from_pulls(COINS, [0.0, 1.0], 100.0, 4.0, 0.06)
    assert regret_from_pulls(COINS, [0.0, 1.0], 100.0, 4.0, 0.0625).residual > 0


@pytest.mark.parametrize("order", [2.5, 3.0, 4.0])
def test_moments_that_are_known(order):
    """Left out, the moment is exact for Gaussian costs and enough for bounded ones."""
    from scipy.stats import norm

    gaussians = Problem([Gaussian(1.0, 1.0, 0.3, 0.5), Gaussian(1.0, 0.5, 0.7, 0.5)])
    exact = norm(scale=0.7).expect(lambda x: abs(x) ** order)
    residual = regret_from_pulls(gaussians, [0.0, 1.0], 100.0, order).residual
    assert residual == pytest.approx(regret_from_pulls(gaussians, [0.0, 1.0], 100.0, order, exact).residual)
    uniforms = Problem([Uniform(0.0, 2.0, 0.0, 2.0), Uniform(0.0, 2.0, 0.0, 0.5)])
    residual = regret_from_pulls(uniforms, [0.0, 1.0], 100.0, order).residual
    known = 2 ** (order - 2) / 3
    assert known >= 1 / (order + 1)  # E|X − 1|^p
    assert residual == pytest.approx(regret_from_pulls(uniforms, [0.0, 1.0], 100.0, order, known).residual)


def test_the_optimality_gap_that_is_known():
    assert regret_from_pulls(COINS, [0.0, 1.0], 100.0, 4.0).optimality_gap == 1.0  # r*·M_X
    problem = Problem([Exponential(1.0, 2.0), Exponential(2.0, 1.0)])
    found = regret_from_pulls(problem, [0.0, 1.0], 100.0, 4.0, central_moment=9 * 16)
    assert found.optimality_gap == pytest.approx(2.0 * (optimality(problem, 100.0).gap_constant or 0.0))


def test_numbers_beyond_floating_point():
    too_large = r"^the value of \w+ is too large for a floating-point number$"
    with pytest.raises(NotCovered, match=too_large):
        late_passage(100, 1, 1000, 1)
    with pytest.raises(NotCovered, match=too_large):
        late_passage(100, 1e-200, 4, 1)
    with pytest.raises(NotCovered, match=too_large):
        horizon(COINS, 1e308)
    with pytest.raises(NotCovered, match=too_large):
        regret_from_pulls(COINS, [0.0, 1.0], 1.0, order=400.0)
    with pytest.raises(NotCovered, match=too_large):
        regret_from_pulls(COINS, [0.0, 1e308], 1e6, order=4.0, optimality_gap=1.7e308)
    with pytest.raises(NotCovered, match=too_large):
        pull_bound(COINS, UCBB2(1e100, 1.0), 1, 1000)
    assert late_passage(10**6, 1.0, 400.0, 1e-100) < 1  # the factors are too large, their product is not
    assert late_passage(100, 1.0, 4.0, 0.0) == 0.0
