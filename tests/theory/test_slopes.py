"""The lower bound and a policy that meets it: regret grows by the sharp coefficient times ln B, twice the printed one.

The policy is Fieller's confidence limit of a ratio of means with known covariance, at the level ln n: the largest r
for which the mean of R − rX could still be 0. For Gaussian arms this is the index whose pulls the classical argument
counts as ln n/D*.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import bursar
from bursar.arms import Problem, catalogue
from bursar.theory import divergence, lower_bound
from bursar.theory.arm_rates import suboptimal


class FiellerLimit(NamedTuple):
    """The larger root in r of (R̄ − rX̄)² = g·Var(R − rX), g = 2 ln n/T; ∞ where there is none."""

    var_cost: NDArray[np.float64]
    var_reward: NDArray[np.float64]
    cov: NDArray[np.float64]

    def score(self, belief: bursar.Belief, log_n: float) -> float:
        if belief.pulls == 0 or belief.mean_cost <= 0.0:
            return math.inf
        x, r, g = belief.mean_cost, belief.mean_reward, 2.0 * log_n / belief.pulls
        v_x, v_r, c = self.var_cost[belief.arm], self.var_reward[belief.arm], self.cov[belief.arm]
        a = x * x - g * v_x
        if a <= 0.0:
            return math.inf
        w = x * x * v_r - 2.0 * x * r * c + r * r * v_x
        discriminant = g * (w - g * (v_x * v_r - c * c))
        return float((x * r - g * c + math.sqrt(max(0.0, discriminant))) / a)


def test_the_score_is_the_largest_rate_that_is_not_refuted():
    """At the score the squared mean of R − rX is g times its variance, and beyond it is more."""
    policy, log_n = FiellerLimit(np.array([0.3]), np.array([0.2]), np.array([0.1])), math.log(500.0)
    belief = bursar.Belief(0, 40, 1.1, 0.7, 0.0, 0.0, 0.0)

    def excess(rate: float) -> float:
        return (0.7 - rate * 1.1) ** 2 - 2.0 * log_n / 40 * (0.2 - 2 * rate * 0.1 + rate**2 * 0.3)

    score = policy.score(belief, log_n)
    assert score > 0.7 / 1.1
    assert excess(score) == pytest.approx(0.0, abs=1e-12)
    assert all(excess(score * more) > 0 for more in (1.001, 1.1, 10.0, 1000.0))
    assert policy.score(belief._replace(pulls=1), log_n) == math.inf


class Measured(NamedTuple):
    """Regret in units of the sharp bound: its slope in ln B between two budgets, and its size at the larger."""

    slope: float
    stderr: float
    level: float


def measured(problem: Problem, runs: int, low: float, high: float) -> Measured:
    policy = FiellerLimit(**problem.second_moments())
    pulls = bursar.simulate(problem, policy, budgets=[low, high], runs=runs, seed=0).pulls[0]
    regret = pulls @ (problem.mean_costs * problem.gaps) / lower_bound(problem)
    slopes = (regret[:, 1] - regret[:, 0]) / math.log(high / low)
    return Measured(
        float(slopes.mean()),
        float(slopes.std(ddof=1)) / math.sqrt(runs),
        float(regret[:, 1].mean()) / math.log(high),
    )


def test_a_policy_at_the_sharp_bound():
    """False alarms: 3e-5 at the lower end if the slope were the bound itself, 1e-5 at the upper end.

    Measured with 200 runs, in units of the sharp bound: the slope is 1.34 ± 0.04 from 10⁴ to 10⁵ and 1.13 ± 0.04 from
    10⁵ to 10⁶, falling to 1, and regret at 10⁶ is 0.96 of the bound. The printed bound, 0.5 here, is not met.
    """
    found = measured(catalogue.load("gaussian5"), runs=40, low=1e5, high=1e6)
    assert found.stderr < 0.11
    assert found.slope > 1.0 - 4 * found.stderr
    assert found.slope > 0.5 + 4 * found.stderr
    assert found.slope < 1.5
    assert 0.8 < found.level < 1.15


def test_every_arm_is_pulled_as_often_as_lemma_5_asks():
    """E[T_k] grows by 1/D* per unit of ln B or more; false alarms below 2e-4 for the four arms together."""
    problem, runs = catalogue.load("strong-correlation"), 200
    policy = FiellerLimit(**problem.second_moments())
    pulls = bursar.simulate(problem, policy, budgets=[1e4, 1e5], runs=runs, seed=1).pulls[0]
    slopes = (pulls[:, 1] - pulls[:, 0]) / math.log(10.0)
    for k in suboptimal(problem):
        units = slopes[:, k] * divergence(problem.arms[k], problem.rate)
        stderr = units.std(ddof=1) / math.sqrt(runs)
        assert stderr < 0.15
        assert 1.0 - 4 * stderr < units.mean() < 2.2
