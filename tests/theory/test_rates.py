"""Rates, slopes and variances: the identity σ² = Var(R − r*X), and moments that do not exist."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.arms import Bernoulli, Constant, Discrete, Gaussian, Linear, Pareto, Problem, catalogue
from outlay.errors import BadParameter
from outlay.theory.arm_rates import rates


@pytest.mark.parametrize("name", catalogue.names())
def test_sigma2_is_the_variance_of_the_reward_less_its_price(name):
    problem = catalogue.load(name)
    found, moments = rates(problem), problem.second_moments()
    direct = moments["var_reward"] - 2 * problem.rate * moments["cov"] + problem.rate**2 * moments["var_cost"]
    assert found.sigma2 == pytest.approx(direct, rel=1e-9)
    assert (found.residual_variance <= moments["var_reward"]).all()
    assert np.array_equal(found.gap, found.best_rate - found.rate)
    assert found.rate[found.best] == found.best_rate == found.rate.max()
    assert found.min_mean_cost == problem.mean_costs.min()


@settings(max_examples=100)
@given(
    outcomes=st.lists(st.tuples(st.integers(1, 9), st.integers(-9, 9), st.integers(1, 9)), min_size=1, max_size=5),
    other=st.floats(-3, 3),
)
def test_identity_by_enumeration(outcomes, other):
    """Var(R − r*X) summed over the outcomes, with r* from the arm itself or from another."""
    costs, rewards, weights = (np.array(column, dtype=float) for column in zip(*outcomes, strict=True))
    p = weights / weights.sum()
    found = rates(Problem([Discrete(costs, rewards, p), Constant(1.0, other)]))
    left = rewards - found.best_rate * costs
    assert found.sigma2[0] == pytest.approx(p @ (left - p @ left) ** 2, abs=1e-9)
    tries = [p @ (rewards - w * costs - p @ (rewards - w * costs)) ** 2 for w in found.slope[0] + np.array([0, -1, 1])]
    assert found.residual_variance[0] == pytest.approx(min(tries), abs=1e-9)


def test_costs_without_variance_have_slope_zero():
    found = rates(Problem([Gaussian(1.0, 1.0, 0.0, 0.5), Bernoulli(1.0, 0.5)]))
    assert found.slope.tolist() == [0.0, 0.0]
    assert found.sigma2.tolist() == [0.25, 0.25]


def test_infinite_variances_give_infinity_and_never_nan():
    wild = Pareto(1.0, 1.0, cost_tail=1.5)
    problem = Problem([wild, Linear(wild, slope=0.5), Linear(wild, slope=0.0, noise=1.0), Pareto(1.0, 1.0, 3.0, 1.5)])
    found = rates(problem)
    assert not any(np.isnan(column).any() for column in found[:6])
    assert found.slope.tolist() == [0.0] * 4
    assert found.sigma2.tolist() == [math.inf] * 4
    assert found.residual_variance.tolist() == [3.0, math.inf, 0.0, math.inf]
    assert rates(Problem([Linear(wild, slope=0.0)])).sigma2.tolist() == [0.0]


def test_a_problem_is_needed():
    with pytest.raises(BadParameter, match=r"^problem of rates must be an outlay.Problem; got None$"):
        rates(None)  # type: ignore[arg-type]


def test_rounding_leaves_no_residual_variance_below_0():
    """Rewards on a line in the cost have none; of these, more than a hundred would be at −4e-16."""
    for cost_sd in np.linspace(0.1, 2.9, 29).tolist():
        laws = [Gaussian(1.0, 1.0, cost_sd, sd, sign) for sd in np.linspace(0.1, 2.9, 29) for sign in (1.0, -1.0)]
        left = rates(Problem(laws)).residual_variance
        assert (left >= 0).all()
        assert left == pytest.approx(0.0, abs=1e-14)
