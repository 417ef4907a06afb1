"""The theorems: values worked out by hand, which theorem covers what, and one sentence for each failing assumption."""

import math
from typing import Any, NamedTuple

import pytest

from outlay.arms import Bernoulli, Constant, Discrete, Gaussian, Linear, Pareto, Problem, Uniform, catalogue
from outlay.errors import BadParameter, NotCovered
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1, Fixed
from outlay.theory.arm_rates import rates
from outlay.theory.pull_bounds import pull_bound
from outlay.theory.upper_bounds import upper_bound

# As in test_pull_bounds: Δ = μ = ½, σ² = 7/16, M_k = 1.5, Var(X) = ¼.
COINS = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)], names=["good", "bad"])
LOG = 2.5 * math.log(4000)  # α·ln(2B/μ_*) at B = 1000
THEOREM_1 = 42 * (7 / 16) / 0.25 + 42 * 1.5 + 21 * 0.5
THEOREM_4 = THEOREM_1 + 21 * (16 * 0.25 + 0.25)
EXACT: list[tuple[Any, str, float]] = [
    (UCBB1(**COINS.second_moments(), cost_bound=1, reward_bound=1, alpha=2.5), "Theorem 1 (bounded)", THEOREM_1),
    (
        UCBM1(**COINS.second_moments(), alpha=2.5),
        "Theorem 2",
        0.25 * (484 * 1.28**2 * 7 + 135 * (1.28 / 0.28) ** 2),
    ),
    (UCBB2(1.0, 1.0, alpha=2.5), "Theorem 4", THEOREM_4),
    (UCBB2C(1.0, 1.0, 0.5, alpha=2.5), "Theorem 5", THEOREM_4 + 42 * (1.5 / 0.5 + 16 * 0.25)),
]


@pytest.mark.parametrize(("policy", "theorem", "coefficient"), EXACT, ids=lambda value: type(value).__name__)
def test_exact_values(policy, theorem, coefficient):
    bound = upper_bound(COINS, policy, 1000.0)
    assert bound.theorem == theorem
    assert bound.value == pytest.approx(coefficient * LOG, rel=1e-12)
    assert bound.terms == {"bad": pytest.approx(bound.value)}


@pytest.mark.parametrize("constants", ["printed", "proved"])
@pytest.mark.parametrize("kind", ["UCBB1", "UCBM1", "UCBB2", "UCBB2C"])
def test_units_change_nothing(kind, constants):
    """Costs counted in cents and rewards in dozens: the same pulls, and regret in the new unit."""
    found = []
    for c, d in ((1.0, 1.0), (100.0, 1 / 12), (0.01, 5.0)):
        tied = Problem(
            [
                Discrete([0, 0, c, c], [0, d, 0, d], p)
                for p in ([0.25] * 4, [0.35, 0.15, 0.35, 0.15], [0.675, 0.075, 0.225, 0.025])
            ]
        )
        told, bounds = tied.second_moments(), {"cost_bound": 1.5 * c, "reward_bound": 1.25 * d}
        policy: Any = {
            "UCBB1": UCBB1(**told, **bounds, alpha=2.5, min_cost=0.1 * c),
            "UCBM1": UCBM1(**told, alpha=2.5, min_cost=0.1 * c),
            "UCBB2": UCBB2(**bounds, alpha=2.5, min_cost=0.1 * c),
            "UCBB2C": UCBB2C(**bounds, slope_bound=1.3 * d / c, alpha=2.5, min_cost=0.1 * c),
        }[kind]
        bound = upper_bound(tied, policy, 1e4 * c, constants)
        pulls = [pull_bound(tied, policy, arm, 1000, constants) for arm in (1, 2)]
        found.append([bound.value / d, *pulls])
    assert found[1] == pytest.approx(found[0])
    assert found[2] == pytest.approx(found[0])


def test_gaussian_and_its_terms():
    problem = catalogue.load("gaussian5")
    bound = upper_bound(problem, UCBB1(**problem.second_moments(), alpha=2.5), 1e5)
    assert bound.theorem == "Theorem 1 (Gaussian)"
    level = 2.5 * math.log(2e5 / 0.8)
    for arm, (cost, gap) in enumerate([(1.2, 0.2), (0.8, 0.3), (1.0, 0.4), (1.5, 0.6)], start=1):
        wanted = level * 11 * (0.25 + cost**2 / 4) / (gap * cost)
        assert bound.terms[f"arm {arm}"] == pytest.approx(wanted)
    assert bound.value == pytest.approx(sum(bound.terms.values()))
    assert "arm 0" not in bound.terms


def test_ties_add_nothing():
    problem = Problem([Gaussian(3.0, 0.9, 0.5, 0.5), Gaussian(0.1, 0.03, 0.5, 0.5)])
    assert upper_bound(problem, UCBB1(**problem.second_moments(), min_cost=0.05), 10.0).value == 0.0


def test_proved_constants():
    """Regret coefficient = Δμ × the proved pulls; slopes above the rate are covered, the printed L = ½ is not."""
    problem = catalogue.load("strong-correlation")
    told = problem.second_moments()
    bound = upper_bound(problem, UCBB1(**told, variance_factor=2.0), 1e5, constants="proved")
    assert bound.theorem == "Theorem 1 (Gaussian)"
    assert math.isfinite(bound.value)
    assert upper_bound(problem, UCBB1(**told, alpha=3.5), 1e5, constants="proved").value > 0
    for alpha in (2.1, 3.48):
        with pytest.raises(NotCovered, match=rf"^the proof needs tails .* α·L > 1\.741; α = {alpha}, L = 0\.5$"):
            upper_bound(problem, UCBB1(**told, alpha=alpha), 1e5, constants="proved")
    coins = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)])
    bounded = UCBB1(**coins.second_moments(), cost_bound=1.0, reward_bound=1.0, variance_factor=1.5)
    with pytest.raises(NotCovered, match=r"α·L > 4; α = 2\.1, L = 1\.5$"):
        upper_bound(coins, bounded, 1e5, constants="proved")
    correlated = Problem([Bernoulli(0.5, 0.5, 0.3), Bernoulli(0.5, 0.25, 0.3)])
    assert upper_bound(correlated, UCBB2(1.0, 1.0), 1e4, constants="proved").theorem == "Theorem 4"
    steep = Problem([Uniform(0.0, 10.0, 0.0, 1.0), Uniform(0.0, 10.0, -1.0, 1.0, -0.999)])
    policy = UCBB1(**steep.second_moments(), cost_bound=10.0, reward_bound=1.0)
    assert upper_bound(steep, policy, 1e4, constants="proved").value > 0


class Unknown(NamedTuple):
    """A policy the paper does not have."""


class Greedy(UCBB1):
    """A subclass of a policy of the paper, which may have another score."""

    __slots__ = ()


def told(problem: Problem, **more: Any) -> UCBB1:
    return UCBB1(**problem.second_moments(), **more)


GAUSSIANS = catalogue.load("G")
STEEP = catalogue.load("strong-correlation")
NEGATIVE = Problem([Gaussian(1.0, 0.5, 0.1, 0.1), Gaussian(1.0, -0.5, 0.1, 0.1)])
TIED = Problem([Bernoulli(0.5, 0.5, 0.2), Bernoulli(0.5, 0.25, 0.2)])
RANGED = Problem([Uniform(0.0, 1.0, 0.0, 1.0), Uniform(-0.5, 2.0, 0.0, 1.0)])
FLAT = Problem([Uniform(0.2, 1.0, 0.0, 1.0), Uniform(1.0, 1.0, 0.0, 0.2)])
TAILED = Problem([Pareto(1.0, 1.0, 3.0), Pareto(1.0, 0.5, 2.0)])
NOT_COVERED: list[tuple[Problem, Any, str]] = [
    (COINS, Fixed(0), "no theorem of the paper covers Fixed"),
    (COINS, Unknown(), "no theorem of the paper covers Unknown"),
    (GAUSSIANS, Greedy(**GAUSSIANS.second_moments()), "no theorem of the paper covers Greedy"),
    (COINS, told(COINS), "with both bounds 0 Theorem 1 needs jointly Gaussian pairs; the law of 'good' is not"),
    (
        GAUSSIANS,
        told(GAUSSIANS, cost_bound=9, reward_bound=9),
        "Theorem 1 (bounded) needs costs in [-9, 9] by its cost_bound; those of 'arm 0' are in [-inf, inf]",
    ),
    (
        COINS,
        told(COINS, cost_bound=1, reward_bound=0.5),
        "Theorem 1 (bounded) needs rewards in [-0.5, 0.5] by its reward_bound; those of 'good' are in [0, 1]",
    ),
    (RANGED, UCBB2(2, 1), "Theorem 4 needs costs in [0, 2] by its cost_bound; those of 'arm 1' are in [-0.5, 2]"),
    (
        GAUSSIANS,
        UCBB1(0.25, [0.25, 0.25, 0.36], [0.15, 0.1, 0.2]),
        "Theorem 1 (Gaussian) needs the true second moments; var_cost of 'arm 1' is 0.16 and the policy was told 0.25",
    ),
    (
        COINS,
        UCBM1(0.25, [0.25, 0.1875], 0.01),
        "Theorem 2 needs the true second moments; cov of 'good' is 0 and the policy was told 0.01",
    ),
    (GAUSSIANS, told(GAUSSIANS, variance_factor=2.0), "Theorem 1 (Gaussian) needs variance_factor = 0.5; got 2"),
    (GAUSSIANS, told(GAUSSIANS, factor=1.3),
     "Theorem 1 (Gaussian) needs a factor from 1.4 (the paper's text) to 1.78 (its appendix); got 1.3"),
    (GAUSSIANS, told(GAUSSIANS, factor=1.79),
     "Theorem 1 (Gaussian) needs a factor from 1.4 (the paper's text) to 1.78 (its appendix); got 1.79"),
    (GAUSSIANS, told(GAUSSIANS, min_cost=0.45),
     "Theorem 1 (Gaussian) needs min_cost ≤ half of every mean cost; it is 0.45, and 'arm 1' has mean cost 0.8"),
    (NEGATIVE, told(NEGATIVE), "Theorem 1 (Gaussian) needs mean rewards ≥ 0; that of 'arm 1' is -0.5"),
    (STEEP, told(STEEP), "Theorem 1 (Gaussian) needs slopes ω_k ≤ r_k; the slope of 'arm 2' is 1.125 and its rate 0.7"),
    (TAILED, UCBM1(1.0, 1.0, 0.0),
     "Theorem 2 needs costs with a moment of order above 2; 'arm 1' has moments of order below 2.0 only"),
    (TIED, UCBB2(1, 1), "Theorem 4 needs uncorrelated pairs; those of 'arm 0' have covariance 0.05"),
    (FLAT, UCBB2(1, 1), "Theorem 4 needs Var(X) > 0; the cost of 'arm 1' is constant"),
    (TIED, UCBB2C(1, 1, 0.1), "Theorem 5 needs slope_bound ≥ |ω_k|; it is 0.1, and that of 'arm 0' is 0.2"),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "policy", "sentence"), NOT_COVERED, ids=[case[2][:45] for case in NOT_COVERED])
def test_not_covered(problem, policy, sentence):
    with pytest.raises(NotCovered) as raised:
        upper_bound(problem, policy, 1000.0)
    assert str(raised.value) == sentence


def test_infinite_variance_of_the_reward():
    problem = Problem([Pareto(1.0, 1.0, 3.0), Pareto(1.0, 0.5, 3.0, 2.0)])
    with pytest.raises(NotCovered, match=r"^Theorem 2 needs Var\(R\) < ∞; 'arm 1' has ∞$"):
        upper_bound(problem, UCBM1(3.0, 3.0, 0.0), 1000.0)


def test_residuals_beyond_the_declared_bound():
    """The printed radius has M_R where the range of R − ωX counts: fine as printed, refused as proved."""
    rare = Discrete([1.0, 2.0, 10.0], [0.0, 1.0, 1.0], [0.4995, 0.4995, 0.001])
    problem = Problem([Bernoulli(0.5, 0.5), rare])
    policy = told(problem, cost_bound=10, reward_bound=1)
    with pytest.raises(
        NotCovered, match=r"needs \|R − ωX − E\[R − ωX\]\| ≤ 2·reward_bound; for 'arm 1' it can be more"
    ):
        upper_bound(problem, policy, 1e4, constants="proved")
    assert upper_bound(problem, told(problem, cost_bound=10, reward_bound=5), 1e4, constants="proved").value > 0
    slope = rates(problem).slope[1]
    reach = max(abs(r - slope * x - (rare.moments()[1] - slope * rare.moments()[0])) for x in (1, 10) for r in (0, 1))
    for share, refused in ((0.49, True), (0.51, False)):
        policy = told(problem, cost_bound=10, reward_bound=max(1.0, share * reach))
        assert _refused(problem, policy) == refused


def _refused(problem: Problem, policy: UCBB1) -> bool:
    try:
        upper_bound(problem, policy, 1e4, constants="proved")
    except NotCovered:
        return True
    return False


def test_degenerate_gaussians_are_covered():
    problem = Problem([Gaussian(1.0, 1.0, 0.1, 0.1), Constant(1.0, 0.5)])
    assert upper_bound(problem, told(problem), 1e4).value == 0.0


def test_budget():
    with pytest.raises(
        NotCovered, match=r"^the theorems need a budget above half of the smallest mean cost, 0\.25; got"
    ):
        upper_bound(COINS, EXACT[0][0], 0.25)
    with pytest.raises(BadParameter, match=r"^budget of upper_bound must be > 0; got -1$"):
        upper_bound(COINS, EXACT[0][0], -1)


def test_lines_in_a_gaussian_cost_are_gaussian():
    """The same pairs, written as Linear and as Gaussian."""
    cost = Gaussian(1.0, 0.0, 0.5, 0.0)
    lines = Problem([Linear(cost, 0.5, 0.5, 0.3), Linear(Linear(cost, 1.0), 0.5, 0.0, 0.3)])
    wanted = upper_bound(lines, told(lines), 1e4)
    assert wanted.theorem == "Theorem 1 (Gaussian)"
    sd = math.sqrt(0.25 * 0.25 + 0.09)
    pairs = Problem([Gaussian(1.0, reward, 0.5, sd, 0.125 / (0.5 * sd)) for reward in (1.0, 0.5)])
    assert upper_bound(pairs, told(pairs), 1e4).value == pytest.approx(wanted.value)


def test_bad_input_and_numbers_beyond_floating_point():
    with pytest.raises(BadParameter, match=r"^problem of upper_bound must be .*Problem.*; got None$"):
        upper_bound(None, None, 10)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match=r"^constants of upper_bound must be 'printed' or 'proved'; got 'best'$"):
        upper_bound(COINS, EXACT[0][0], 10, "best")
    wanted = THEOREM_1 * 2.5 * (math.log(4.0) + 308 * math.log(10.0))
    assert upper_bound(COINS, EXACT[0][0], 1e308).value == pytest.approx(wanted)
    with pytest.raises(NotCovered, match=r"^the value of upper_bound is too large for a floating-point number$"):
        upper_bound(COINS, UCBB2(1e100, 1.0), 1000.0)
