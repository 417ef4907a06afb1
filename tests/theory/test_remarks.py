"""What the paper remarks on its theorems, as statements about the bounds: Remarks 2, 3, 4, and after Theorem 5."""

import math
from typing import Any

import numpy as np
import pytest

from outlay.arms import Bernoulli, Gaussian, Problem, StudentT, catalogue
from outlay.errors import NotCovered
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.theory import lower_bound, upper_bound

LOG = 2.5 * math.log(4000)  # α·ln(2B/μ_*) at B = 1000, μ_* = ½
GAUSSIANS = catalogue.load("G")


def told(problem: Problem, **more: Any) -> UCBB1:
    return UCBB1(**problem.second_moments(), **more)


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
