"""The lemmas: values worked out by hand, and Proposition 4."""

import math

import pytest

from outlay.arms import Bernoulli, Constant, Exponential, Gaussian, Pareto, Problem, Uniform
from outlay.errors import BadParameter, NotCovered
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.theory.optimum import optimality
from outlay.theory.pull_bounds import pull_bound
from outlay.theory.upper_bounds import horizon, late_passage, regret_from_pulls

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


def test_appendix_f_and_g():
    known_range = UCBB2(1.0, 1.0, alpha=3.0)
    assert pull_bound(COINS, known_range, 1, 1000) == pytest.approx(
        (21 * (16 + 2 * 2 + 3 * 1) + 42 * (7 + 6)) * LOG + 144
    )
    learned = UCBB2C(1.0, 1.0, 0.5, alpha=3.0)  # M_Z = 1.5, M_X·M_Z/√Var = 3, over Δμ = 12
    assert pull_bound(COINS, learned, 1, 1000) == pytest.approx(
        (21 * (3 * 16 + 2 * 2 + 3 * 1) + 42 * (7 + 6 + 12)) * LOG + 192
    )


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


def test_proposition_4_without_noise():
    """Costs that never vary leave no residual, bounded or Gaussian, at any best rate ≥ 0."""
    for law in (Constant, lambda cost, reward: Gaussian(cost, reward, 0.0, 1.0)):
        found = regret_from_pulls(Problem([law(1.0, 0.5), law(1.0, 0.2)]), [0.0, 10.0], 100.0, 4.0, optimality_gap=0.0)
        assert (found.pulls, found.residual) == (3.0, 0.0)


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


def test_the_moment_that_need_not_be_given():
    """Var(X)·width^(p − 2) of bounded costs, wherever they lie, and 3σ⁴ of Gaussian ones; the largest of the arms'."""
    narrow, wide = Uniform(2.0, 3.0, 0.0, 1.0), Uniform(1.0, 3.0, 0.0, 0.5)
    for problem, moment in (
        (Problem([narrow, wide]), 4.0 / 12.0 * 2.0**2),
        (Problem([narrow, Gaussian(2.0, 0.1, 0.7, 0.1)]), 3.0 * 0.7**4),
        (Problem([narrow, Constant(2.0, 0.1)]), 1.0 / 12.0),
    ):
        given = regret_from_pulls(problem, [3.0, 4.0], 100.0, 4.0, moment, 1.0)
        assert regret_from_pulls(problem, [3.0, 4.0], 100.0, 4.0, optimality_gap=1.0) == pytest.approx(given)
        assert regret_from_pulls(problem, [3.0, 4.0], 100.0, 4.0, 2 * moment, 1.0).value > given.value
