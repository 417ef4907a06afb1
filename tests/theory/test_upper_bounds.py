"""The theorems: values by hand, what the paper remarks, one sentence for each assumption that fails."""

import math
from typing import Any

import numpy as np
import pytest

from outlay.arms import Bernoulli, Discrete, Gaussian, Pareto, Problem, StudentT, Uniform, catalogue
from outlay.errors import NotCovered
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1, Fixed
from outlay.theory import lower_bound, pull_bound, upper_bound

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


def test_budgets_near_the_largest_number():
    wanted = THEOREM_1 * 2.5 * (math.log(4.0) + 308 * math.log(10.0))
    assert upper_bound(COINS, EXACT[0][0], 1e308).value == pytest.approx(wanted)


def per_log(problem: Problem, policy: Any, budget: float = 1e5) -> float:
    """The coefficient of α·ln(2B/μ_*)."""
    level = policy.alpha * math.log(2 * budget / problem.mean_costs.min())
    return float(upper_bound(problem, policy, budget).value / level)


def test_remark_2_constant_costs_give_the_classical_bandit():
    """As Var(X) → 0 at mean cost 1, Theorem 1 tends to the classical 11α·Var(R)/Δ·ln 2B."""
    values = []
    for spread in (0.1, 0.01, 0.0):
        problem = Problem([Gaussian(1.0, 1.0, spread, 0.5), Gaussian(1.0, 0.6, spread, 0.5)])
        values.append(upper_bound(problem, told(problem, alpha=2.5), 1000.0).value)
    classical = 11 * 2.5 * 0.25 / 0.4 * math.log(2000)
    assert values[2] == pytest.approx(classical)
    assert [value / classical - 1 for value in values[:2]] == pytest.approx([0.04, 0.0004])  # Var(X)/Var(R)


def test_remark_2_what_ignoring_the_correlation_costs():
    """σ² without the slope is larger by 2r*·Cov: a loss of 22r*·Cov/(Δμ), linear in the covariance of each arm."""
    for correlation in (0.1, 0.3, 0.6):
        tied = Problem([Gaussian(1.0, 1.0, 0.5, 0.5, correlation), Gaussian(1.2, 0.9, 0.4, 0.5, correlation)])
        free = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.2, 0.9, 0.4, 0.5)])
        loss = per_log(free, told(free)) - per_log(tied, told(tied))
        assert loss == pytest.approx(22 * 1.0 * correlation * 0.4 * 0.5 / (0.25 * 1.2))


def test_remark_2_ucb_m1_has_the_same_bound_up_to_a_constant():
    """Lemma 3 over Theorem 1: from 484λ²/11 = 72 to (484λ² + 135(λ/(λ−1))²)/11 = 329, as Δ²Var(X) ≤ σ²; and no less
    than a moment above the second is needed of the costs."""
    rng, ratios = np.random.default_rng(0), []
    for _ in range(50):
        costs, sds = rng.uniform(0.5, 2.0, 2), rng.uniform(0.0, 2.0, 4)
        problem = Problem(
            [Gaussian(costs[0], 1.5 * costs[0], *sds[:2]), Gaussian(costs[1], rng.uniform(0, 1.4) * costs[1], *sds[2:])]
        )
        heavy = UCBM1(**problem.second_moments())
        ratios.append(per_log(problem, heavy) / per_log(problem, told(problem)))
    least, most = 484 * 1.28**2 / 11, (484 * 1.28**2 + 135 * (1.28 / 0.28) ** 2) / 11
    assert least < min(ratios) < 1.3 * least
    assert 0.5 * most < max(ratios) <= most
    tailed = Problem([StudentT(1.0, 1.0, 0.5, 0.5, tail=2.1), StudentT(1.0, 0.5, 0.5, 0.5, tail=2.1)])
    assert per_log(tailed, UCBM1(**tailed.second_moments())) > 0
    with pytest.raises(NotCovered):
        upper_bound(tailed, told(tailed), 1e5)


def test_remark_2_random_costs_add_a_term_that_grows_with_the_gap():
    """Var(X) = 0: 11V/(Δμ), which falls. Else also 22(r−ω)Var(X)/μ + 11Var(X)Δ/μ; the lower bound has 2/11 of it."""
    gaps = np.array([0.1, 0.5, 1.0, 2.0, 4.0])
    for sd in (0.0, 0.6):
        wanted, upper, lower = [], [], []
        for gap in gaps:
            problem = Problem([Gaussian(1.0, 1.0 + gap, 0.1, 0.5), Gaussian(2.0, 2.0, sd, 0.5)])
            upper.append(per_log(problem, told(problem)))
            lower.append(lower_bound(problem))
            own = 0.25 + sd**2
            wanted.append(11 * (own / (2 * gap) + sd**2 + sd**2 * gap / 2))
        assert upper == pytest.approx(wanted)
        assert lower == pytest.approx(np.array(wanted) * 2 / 11)
        assert (np.diff(upper) < 0).all() == (sd == 0)
    assert upper[-1] > upper[-2]


@pytest.mark.parametrize("problem", [GAUSSIANS, catalogue.load("gaussian5"), Problem(GAUSSIANS.arms[:2])])
def test_remark_3_theorem_1_is_the_lower_bound_up_to_a_constant(problem):
    """Gaussian pairs: Theorem 1 is 11α/2 times the sharp lower bound, whatever the arms."""
    upper = upper_bound(problem, told(problem, alpha=3.0), 1e5).value / math.log(2e5 / problem.mean_costs.min())
    assert upper == pytest.approx(11 * 3.0 / 2 * lower_bound(problem))


def test_remark_4_unknown_variances_add_a_term_linear_in_the_gap():
    """Theorem 4 less Theorem 1, per unit of gap: 21(M⁴μ/Var² + Var/μ), the same for every gap."""
    for reward in (0.4, 0.25, 0.1):
        problem = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, reward)])
        known = upper_bound(problem, told(problem, cost_bound=1, reward_bound=1, alpha=2.5), 1000.0).value
        extra = upper_bound(problem, UCBB2(1.0, 1.0, alpha=2.5), 1000.0).value - known
        assert extra / LOG == pytest.approx(21 * (16 * 0.5 + 0.5) * problem.gaps[1])


def test_after_theorem_5_small_gaps():
    """As Δ → 0 all three bounds agree in ratio. Theorem 4's difference to Theorem 1 vanishes, and Theorem 5's to
    Theorem 4 tends to 42·M_ZM_X/√Var(X) instead: as differences they do not converge, as the paper's words suggest."""
    ratios, apart = [], []
    for gap in (1e-2, 1e-4, 1e-6):
        problem = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.5 - gap / 2)])
        known = per_log(problem, told(problem, cost_bound=1, reward_bound=1))
        variances, slopes = per_log(problem, UCBB2(1.0, 1.0)), per_log(problem, UCBB2C(1.0, 1.0, 0.5))
        ratios.append((variances / known, slopes / variances))
        apart.append((variances - known, slopes - variances))
    assert ratios[-1] == pytest.approx((1.0, 1.0), abs=1e-4)
    assert (np.diff(ratios, axis=0) < 0).all()
    assert apart[-1][0] == pytest.approx(0.0, abs=1e-3)
    assert apart[-1][1] == pytest.approx(42 * 1.5 / 0.5, rel=1e-3)
