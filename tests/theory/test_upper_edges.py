"""Upper bounds at the edges: what each theorem asks of each policy, in any unit, and the constants beside the usual."""

import math
from typing import Any

import pytest

from outlay.arms import Bernoulli, Constant, Gaussian, Problem, Uniform
from outlay.errors import BadParameter, NotCovered
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.theory import horizon, outlasting, pull_bound, regret_from_pulls, upper_bound
from outlay.theory.assumptions import covering_theorem, least_level
from outlay.theory.pull_bounds import pull_constants

COINS = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)])
STANDARD = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])


def policies(problem: Problem, **more: Any) -> list[Any]:
    """Every policy that a theorem covers, told the truth."""
    told, bounds = problem.second_moments(), {"cost_bound": 1.0, "reward_bound": 1.0}
    return [
        UCBB1(**told, **bounds, **more),
        UCBM1(**told, **{name: value for name, value in more.items() if name != "factor"}),
        UCBB2(**bounds, **more),
        UCBB2C(**bounds, slope_bound=2.5, **more),
    ]


NAMES = ["UCBB1", "UCBM1", "UCBB2", "UCBB2C"]
THEOREMS = ["Theorem 1 (bounded)", "Theorem 2", "Theorem 4", "Theorem 5"]


@pytest.mark.parametrize("which", range(4), ids=NAMES)
@pytest.mark.parametrize("constants", ["printed", "proved"])
def test_what_every_theorem_needs(which, constants):
    assert covering_theorem(COINS, policies(COINS)[which], constants) == THEOREMS[which]
    losing = Problem([Uniform(0.0, 1.0, 0.0, 1.0), Uniform(0.0, 1.0, -1.0, 0.5)])
    hasty = policies(COINS, min_cost=0.26)[which]
    with pytest.raises(NotCovered, match=rf"^{THEOREMS[which][:9]}.* needs min_cost ≤ half of every mean cost"):
        covering_theorem(COINS, hasty, constants)
    if which < 2:  # those for unknown variances refuse rewards below 0 altogether
        with pytest.raises(NotCovered, match=r" needs mean rewards ≥ 0; that of 'arm 1' is -0\.25$"):
            covering_theorem(losing, policies(losing)[which], constants)
    if which != 1:
        with pytest.raises(NotCovered, match=r" needs a factor from 1\.4 \(the paper's text\) to 1\.78"):
            covering_theorem(COINS, policies(COINS, factor=1.3)[which], constants)


@pytest.mark.parametrize("constants", ["printed", "proved"])
@pytest.mark.parametrize("which", [0, 2, 3], ids=["UCBB1", "UCBB2", "UCBB2C"])
def test_costs_beyond_the_bound(which, constants):
    wide = Problem([Bernoulli(0.5, 0.5), Constant(1.5, 0.1)])
    with pytest.raises(
        NotCovered, match=r" needs costs in .* by its cost_bound; those of 'arm 1' are in \[1\.5, 1\.5\]"
    ):
        covering_theorem(wide, policies(wide)[which], constants)


def test_constant_costs_where_the_constants_divide_by_their_variance():
    plain = Problem([Bernoulli(0.5, 0.5), Constant(0.5, 0.1)])
    for which in (2, 3):
        with pytest.raises(NotCovered, match=r" needs Var\(X\) > 0; the cost of 'arm 1' is constant$"):
            covering_theorem(plain, policies(plain)[which], "printed")


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("correlation", [1e-6, -1e-6])
def test_uncorrelated_in_any_unit(unit, correlation):
    """A correlation of a millionth is one, whatever costs and rewards are counted in."""
    bounds = {"cost_bound": unit, "reward_bound": unit, "min_cost": 0.1 * unit}
    laws = [Uniform(0.0, unit, 0.0, unit), Uniform(0.0, unit, 0.0, 0.5 * unit)]
    assert covering_theorem(Problem(laws), UCBB2(**bounds), "printed") == "Theorem 4"
    hardly = Problem([laws[0], Uniform(0.0, unit, 0.0, 0.5 * unit, correlation)])
    with pytest.raises(NotCovered, match=r"^Theorem 4 needs uncorrelated pairs; those of 'arm 1' have covariance"):
        covering_theorem(hardly, UCBB2(**bounds), "printed")


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("off", [1e-6, -1e-6])
@pytest.mark.parametrize("name", ["var_cost", "var_reward", "cov"])
def test_the_truth_in_any_unit(unit, off, name):
    problem = Problem([Gaussian(unit, unit, 0.5 * unit, 0.5 * unit), Gaussian(unit, 0.5 * unit, 0.5 * unit, unit)])
    told: dict[str, Any] = {**problem.second_moments()}
    near, wrong = ({**told, name: told[name] + size * unit * unit} for size in (1e-3 * off**2, off))
    small = {"min_cost": 0.1 * unit}
    assert covering_theorem(problem, UCBB1(**near, **small), "printed") == "Theorem 1 (Gaussian)"
    with pytest.raises(NotCovered, match=rf"^Theorem 1 \(Gaussian\) needs the true second moments; {name} of 'arm 0'"):
        covering_theorem(problem, UCBB1(**wrong, **small), "printed")


def test_moments_of_other_arms_are_refused():
    with pytest.raises(BadParameter, match=r"^var_cost of UCBB1 must"):
        covering_theorem(STANDARD, UCBB1([0.25] * 3, 0.25, 0.0), "printed")


def test_slopes_have_a_size():
    """ω = ρ·√(3/16)/½ = −0.3 needs a slope_bound of 0.3."""
    falling = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25, -0.15 / math.sqrt(3 / 16))])
    policy = UCBB2C(cost_bound=1.0, reward_bound=1.0, slope_bound=0.3, min_cost=0.1)
    assert covering_theorem(falling, policy, "printed") == "Theorem 5"
    with pytest.raises(NotCovered, match=r"^Theorem 5 needs slope_bound ≥ \|ω_k\|; it is 0\.29, and that of 'arm 1'"):
        covering_theorem(falling, policy._replace(slope_bound=0.29), "printed")


@pytest.mark.parametrize(("alpha", "factor", "tails"), [(4.0, 2.0, 3 / 2), (4.0, 8.0, 3 / 2), (10.0, 0.5, 3.0)])
def test_the_tails_that_a_pull_is_charged_with(alpha, factor, tails):
    """1 + 8·(e − 1)/(e − 2) for bounded pairs, where e is α, or α·L/2 for factors L below 2."""
    policy = UCBB1(**COINS.second_moments(), cost_bound=1.0, reward_bound=1.0, alpha=alpha, variance_factor=factor)
    assert pull_constants(COINS, policy, 1, "proved").constant == pytest.approx(1 + 8 * tails)
    assert pull_bound(COINS, policy, 1, 1, "proved") == pull_constants(COINS, policy, 1, "proved").constant


@pytest.mark.parametrize(("problem", "bounds", "theorem", "least"), [
    (COINS, {"cost_bound": 1.0, "reward_bound": 1.0}, "Theorem 1 (bounded)", 4.0),
    (STANDARD, {}, "Theorem 1 (Gaussian)", 2 * (1.30625 / 1.4) ** 2),  # 1 + fκ = 1 + 1.4·0.28/1.28
])  # fmt: skip
def test_tails_that_cannot_be_summed(problem, bounds, theorem, least):
    """α·L must be above 4 for bounded pairs, and above 2/c_f² for Gaussian ones; L above 2 does not help the former."""
    edge = UCBB1(**problem.second_moments(), **bounds, alpha=2 * least * (1 - 1e-12), variance_factor=0.5)
    with pytest.raises(NotCovered, match=rf"tails that can be summed, α·L > {least:.4g}; α = {2 * least:g}, L = 0\.5$"):
        covering_theorem(problem, edge, "proved")
    assert covering_theorem(problem, edge._replace(alpha=2 * least * (1 + 1e-12)), "proved") == theorem
    assert covering_theorem(problem, edge._replace(alpha=2.001, variance_factor=8.0), "proved") == theorem


def test_just_enough_is_not_enough():
    """At α·L = 2/c_f² the sum over times grows like ln ln n."""
    edge = UCBB1(**STANDARD.second_moments(), alpha=2 * least_level(1.4), variance_factor=0.5)
    with pytest.raises(NotCovered, match=r"α·L > 1\.741"):
        covering_theorem(STANDARD, edge, "proved")


def test_arms_that_outlast_although_their_slopes_are_above_their_rates():
    """V = Var(X) = 1, ω = r + 1 and Δ = 1: 968·2² = 3872 pulls against 793 + 2821."""
    steep = Gaussian(1.0, 0.5, 1.0, math.sqrt(1.0 + 1.5**2), 1.5 / math.sqrt(1.0 + 1.5**2))
    problem = Problem([Gaussian(1.0, 1.5, 0.5, 0.5), steep])
    assert outlasting(problem, UCBM1(**problem.second_moments())) == ["arm 1"]
    assert outlasting(problem, UCBB1(**problem.second_moments())) == []


@pytest.mark.parametrize(("variance", "kept"), [(9.6e-4, ["arm 1"]), (9.75e-4, [])])
def test_blocks_must_be_full(variance, kept):
    """R = rX exactly: Lemma 3 has (484λ² + 135(λ/(λ − 1))²)·Var(X)/μ² = 3614·Var(X) pulls, and blocks take 3.5."""
    assert ((484 * 1.28**2 + 135 * (1.28 / 0.28) ** 2) * variance < 3.5) == bool(kept)
    line = Gaussian(1.0, 0.5, math.sqrt(variance), 0.5 * math.sqrt(variance), 1.0)
    problem = Problem([Constant(1.0, 1.0), line])
    assert outlasting(problem, UCBM1(**problem.second_moments())) == kept


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_slopes_and_rates_in_any_unit(unit):
    """ω = 1.125 and r = 0.7 in units of the reward; and a slope that is the rate."""
    for slope, covered in ((0.7, True), (1.125, False)):
        law = Gaussian(1.0, 0.7 * unit, 0.5, unit, 0.5 * slope)
        problem = Problem([Gaussian(1.0, unit, 0.5, 0.5 * unit), law])
        policy = UCBB1(**problem.second_moments())
        if covered:
            assert covering_theorem(problem, policy, "printed") == "Theorem 1 (Gaussian)"
        else:
            with pytest.raises(NotCovered, match=r" needs slopes ω_k ≤ r_k; the slope of 'arm 1' is "):
                covering_theorem(problem, policy, "printed")


@pytest.mark.parametrize("which", [0, 2, 3], ids=["UCBB1", "UCBB2", "UCBB2C"])
def test_the_factor_of_the_appendix(which):
    """λ/(2 − λ) with λ = 1.28, to the last digit."""
    assert covering_theorem(COINS, policies(COINS, factor=1.28 / 0.72)[which], "printed") == THEOREMS[which]


def test_residuals_may_reach_twice_the_bound():
    """Rewards in [0, 3] and a slope of 0 are at most 2 from their mean of 1 or 2, within 6 and not within 2/3."""
    problem = Problem([Uniform(0.5, 1.0, 0.0, 3.0), Uniform(0.5, 1.0, 0.0, 2.0)])
    policy = UCBB1(**problem.second_moments(), cost_bound=1.0, reward_bound=3.0, min_cost=0.1)
    assert covering_theorem(problem, policy, "proved") == "Theorem 1 (bounded)"


def test_small_budgets_and_few_pulls():
    """Half of the smallest mean cost is the least, and not enough; one pull is the least."""
    policy = UCBB1(**STANDARD.second_moments(), alpha=3.0)
    assert upper_bound(STANDARD, policy, 0.75).value == pytest.approx(3 * math.log(1.5) * 11)
    with pytest.raises(NotCovered, match=r"above half of the smallest mean cost, 0\.5; got 0\.5$"):
        upper_bound(STANDARD, policy, 0.5)
    with pytest.raises(BadParameter, match=r"^pulls of pull_bound must be a whole number ≥ 1; got 0$"):
        pull_bound(STANDARD, policy, 1, 0)
    assert pull_bound(STANDARD, policy, 1, 1) == 36.0


def test_from_pulls_to_regret_at_the_edges():
    for budget in (0.48, 0.5):
        with pytest.raises(
            NotCovered, match=r"^Proposition 4 needs a budget above half of the smallest mean cost, 0\.5"
        ):
            regret_from_pulls(STANDARD, [0.0, 1.0], budget, 4.0)
    assert horizon(Problem([Constant(0.7, 1.0)]), 1.0) == 3  # 2/0.7 = 2.86
    with pytest.raises(
        BadParameter, match=r"^constants of regret_from_pulls must be 'printed' or 'proved'; got 'best'"
    ):
        regret_from_pulls(STANDARD, [0.0, 1.0], 10.0, 4.0, constants="best")
    with pytest.raises(BadParameter, match=r"^pulls at position 1 of regret_from_pulls must be a finite number ≥ 0"):
        regret_from_pulls(STANDARD, [0.0, -1.0], 10.0, 4.0)
    spread = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 2.0, 0.5)])
    with pytest.raises(BadParameter, match=r"^central_moment of regret_from_pulls must be ≥ 2\^4: E\|X"):
        regret_from_pulls(spread, [0.0, 1.0], 10.0, 4.0, central_moment=15.0)
    assert regret_from_pulls(spread, [0.0, 1.0], 10.0, 4.0, central_moment=16.0).value > 0


def test_no_gap_no_residual_and_no_rate_no_gap_to_the_optimum():
    """One arm loses nothing, however large its moments; a best rate of 0 leaves nothing to be gained."""
    alone = Problem([Gaussian(1.0, 1.0, 0.5, 0.5)])
    assert regret_from_pulls(alone, [0.0], 10.0, 500.0, central_moment=1.0).residual == 0.0
    nothing = Problem([Gaussian(1.0, 0.0, 0.5, 0.5), Gaussian(1.0, -1.0, 0.5, 0.5)])
    found = regret_from_pulls(nothing, [0.0, 3.0], 1e6, 4.0)
    assert (found.pulls, found.optimality_gap) == (3.0, 0.0)
