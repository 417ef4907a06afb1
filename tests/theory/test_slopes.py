"""The lower bound and a policy that meets it: regret grows by the sharp coefficient times ln B, twice the printed one.

The policy is `FiellerKnown`, Fieller's confidence limit of a ratio of means with known covariance at the level ln n:
the largest r for which the mean of R − rX could still be 0. For Gaussian arms this is the index whose pulls the
classical argument counts as ln n/D*.
"""

import math
from typing import Any, NamedTuple

import pytest

import outlay
from outlay.arms import Problem, catalogue
from outlay.policies import Fieller, FiellerKnown
from outlay.theory import divergence, lower_bound
from outlay.theory.arm_rates import suboptimal


def test_the_score_is_the_largest_rate_that_is_not_refuted():
    """At the score the squared mean of R − rX is g times its variance, and beyond it is more."""
    policy, log_n = FiellerKnown(0.3, 0.2, 0.1), math.log(500.0)
    belief = outlay.Belief(0, 40, 1.1, 0.7, 0.0, 0.0, 0.0)

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
    policy = FiellerKnown(**problem.second_moments())
    pulls = outlay.simulate(problem, policy, budgets=[low, high], runs=runs, seed=0).pulls[0]
    regret = pulls @ (problem.mean_costs * problem.gaps) / lower_bound(problem)
    slopes = (regret[:, 1] - regret[:, 0]) / math.log(high / low)
    return Measured(
        float(slopes.mean()),
        float(slopes.std(ddof=1)) / math.sqrt(runs),
        float(regret[:, 1].mean()) / math.log(high),
    )


@pytest.mark.soak  # thousands of long runs
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
    policy = FiellerKnown(**problem.second_moments())
    pulls = outlay.simulate(problem, policy, budgets=[1e4, 1e5], runs=runs, seed=1).pulls[0]
    slopes = (pulls[:, 1] - pulls[:, 0]) / math.log(10.0)
    for k in suboptimal(problem):
        units = slopes[:, k] * divergence(problem.arms[k], problem.rate)
        stderr = units.std(ddof=1) / math.sqrt(runs)
        assert stderr < 0.15
        assert 1.0 - 4 * stderr < units.mean() < 2.2


@pytest.mark.parametrize(("name", "policy", "low", "high"), [
    ("gaussian5", "known", 0.75, 1.1),
    ("gaussian5", "student", 0.85, 1.25),
    ("gaussian5", "plugin", 0.55, 1.05),
    ("strong-correlation", "known", 1.0, 1.35),
    ("strong-correlation", "student", 1.9, 2.5),
    ("strong-correlation", "plugin", 0.85, 1.25),
])  # fmt: skip
def test_regret_in_units_of_the_sharp_bound(name: str, policy: Any, low: float, high: float) -> None:
    """At B = 10⁵, where knowing nothing costs little without correlation and a factor with it.

    Measured with 48 runs of another seed: 0.90, 1.03, 0.79, then 1.19, 2.16, 1.03, all ± 0.04. False alarms: below 1e-4
    for the six together, the limits being 5 standard errors of 60 runs away or more.
    """
    problem = catalogue.load(name)
    player = FiellerKnown(**problem.second_moments()) if policy == "known" else Fieller(form=policy)
    pulls = outlay.simulate(problem, player, budgets=[1e5], runs=60, seed=3).pulls[0, :, 0]
    units = pulls @ (problem.mean_costs * problem.gaps) / (lower_bound(problem, sharp=True) * math.log(1e5))
    assert units.std(ddof=1) / math.sqrt(60) < 0.05
    assert low < units.mean() < high
