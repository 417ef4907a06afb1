"""The lower bound: Gaussian closed form, the corner of the cone, mixed problems, and what is not covered."""

import doctest
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from outlay.arms import Bernoulli, Exponential, Gamma, Gaussian, Linear, Pareto, Problem, StudentT, catalogue
from outlay.errors import BadParameter, NotCovered
from outlay.theory import divergence, lower_bound


def searched(law: Gaussian, rate: float) -> float:
    """D* by minimising over the cone {cost ≥ 0, reward ≥ rate·cost}: points s·(1, rate) + t·(0, 1), s, t ≥ 0."""
    cov = law.correlation * law.cost_sd * law.reward_sd
    root = np.linalg.cholesky(np.linalg.inv([[law.cost_sd**2, cov], [cov, law.reward_sd**2]])).T
    edges = np.array([[1.0, 0.0], [rate, 1.0]])
    _, distance = optimize.nnls(root @ edges, root @ [law.cost, law.reward])
    return distance**2 / 2


def test_closed_form():
    law = Gaussian(1.2, 0.6, 0.5, 0.4, 0.3)
    variance = 0.4**2 - 2 * 0.9 * 0.3 * 0.5 * 0.4 + 0.9**2 * 0.5**2
    assert divergence(law, 0.9) == pytest.approx((1.2 * (0.9 - 0.5)) ** 2 / (2 * variance), rel=1e-14)
    assert divergence(law, 0.9) == pytest.approx(searched(law, 0.9), rel=1e-9)


def test_corner_of_the_cone():
    """The example of a closed form (.804) that would leave the model: the minimum is .921."""
    law = Gaussian(1.0, 0.5, 1.0, 1.0, 0.9)
    closed_form = (1.0 * 1.5) ** 2 / (2 * 1.4)
    assert closed_form == pytest.approx(0.804, abs=5e-4)
    assert divergence(law, 2.0) == pytest.approx(0.921, abs=5e-4)
    assert divergence(law, 2.0) == pytest.approx(searched(law, 2.0), rel=1e-9)
    problem = Problem([Gaussian(1.0, 2.0, 1.0, 1.0), law])
    assert lower_bound(problem) == pytest.approx(1.5 / (0.35 / 0.38))


@settings(max_examples=300)
@given(
    cost=st.floats(0.1, 5),
    reward=st.floats(-3, 5),
    cost_sd=st.floats(0.05, 3),
    reward_sd=st.floats(0.05, 3),
    correlation=st.floats(-0.95, 0.95),
    more=st.floats(0.01, 4),
)
def test_agrees_with_search(cost, reward, cost_sd, reward_sd, correlation, more):
    law = Gaussian(cost, reward, cost_sd, reward_sd, correlation)
    rate = reward / cost + more
    assert divergence(law, rate) == pytest.approx(searched(law, rate), rel=1e-6)


@pytest.mark.parametrize("correlation", [0.9, 0.0])
def test_general_minimiser_agrees(correlation):
    """The same by scipy's constrained minimiser, which shares nothing with `searched`."""
    precision = np.linalg.inv([[1.0, correlation], [correlation, 1.0]])

    def distance(at):
        return (at - [1.0, 0.5]) @ precision @ (at - [1.0, 0.5]) / 2

    cone = optimize.LinearConstraint([[1.0, 0.0], [-2.0, 1.0]], 0.0, np.inf)
    found = optimize.minimize(distance, x0=[1.0, 3.0], constraints=[cone], method="SLSQP")
    assert divergence(Gaussian(1.0, 0.5, 1.0, 1.0, correlation), 2.0) == pytest.approx(found.fun, rel=1e-5)


def test_gaussian_corollary_and_the_printed_half():
    arms = [Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.2, 0.96, 0.6, 0.5), Gaussian(0.8, 0.56, 0.4, 0.5)]
    problem = Problem(arms)
    sigma2 = [0.25 + (1.0 * sd) ** 2 for sd in (0.6, 0.4)]
    wanted = 2 * sigma2[0] / (1.2 * 0.2) + 2 * sigma2[1] / (0.8 * 0.3)
    assert lower_bound(problem) == pytest.approx(wanted)
    assert lower_bound(problem, sharp=False) == pytest.approx(wanted / 2)
    assert isinstance(lower_bound(problem), float)


def test_arms_that_need_no_exploring_add_nothing():
    best = Gaussian(1.0, 2.0, 0.5, 0.5)
    assert lower_bound(Problem([best])) == 0.0
    assert lower_bound(Problem([best, best])) == 0.0
    # reward − r*·cost is a constant: no law of the model with this covariance is harder to tell apart
    assert divergence(Gaussian(1.0, 1.0, 0.5, 1.0, 1.0), 2.0) == math.inf
    assert lower_bound(Problem([best, Gaussian(1.0, 1.0, 0.5, 1.0, 1.0)])) == 0.0
    assert lower_bound(Problem([best, Gaussian(1.0, 1.0, 0.0, 0.0)])) == 0.0


def test_degenerate_covariance():
    # constant cost: the closed form
    assert divergence(Gaussian(1.0, 1.0, 0.0, 0.5), 2.0) == pytest.approx(1 / (2 * 0.25))
    # constant reward: the cost must come down to reward / rate, impossible for a negative reward
    assert divergence(Gaussian(1.0, 1.0, 0.5, 0.0), 2.0) == pytest.approx(0.5**2 / (2 * 0.25))
    assert divergence(Gaussian(1.0, -1.0, 0.5, 0.0), 2.0) == math.inf
    # perfect correlation: the means move along a line, which may miss the cone or meet it in the origin
    assert divergence(Gaussian(1.0, 0.5, 1.0, 1.0, 1.0), 2.0) == math.inf
    assert divergence(Gaussian(1.0, 0.5, 1.0, 0.5, 1.0), 2.0) == math.inf
    # a line with the intercept ½ meets the cone at the cost 1/3, whatever the sign of its direction
    for law in (Gaussian(1.0, 1.0, 1.0, 0.5, 1.0), Linear(Gaussian(1.0, 0.0, 1.0, 0.0), slope=0.5, noise=0.5)):
        assert divergence(law, 2.0) == pytest.approx((2 / 3) ** 2 / 2)
    assert divergence(Gaussian(1.0, 1.0, 0.5, 0.5, -1.0), 2.0) == pytest.approx((1 / 3) ** 2 / (2 * 0.25))


LINES = [Linear(Gaussian(1, 0, sd, 0), slope=slope) for sd in (0.5, 0.3) for slope in (0.5, 0.7, -0.7)]


@pytest.mark.parametrize(
    "law", [Gaussian(1, 0, 1, 0), Gaussian(1, 0.5, 1, 0.5, 1.0), StudentT(1, 0.5, 1, 0.5, 3.0, 1.0), *LINES]
)
def test_the_corner_alone_is_no_better_law(law):
    """Singular covariance, and a line of means through the origin: no mean cost above 0 has the rate."""
    assert divergence(law, 1.0) == math.inf
    if not isinstance(law, StudentT):
        assert divergence(law, 1.0, "unknown covariance") == math.inf
    best = Linear(Gaussian(1.0, 0.0, 0.5, 0.0), slope=1.0)
    assert lower_bound(Problem([best, law])) == 0.0


def test_zero_when_the_rate_is_reached():
    assert divergence(Gaussian(1.0, 2.0, 0.5, 0.5), 2.0) == 0.0


def test_rounding_gaps_are_ties():
    tied = Problem([Gaussian(3.0, 0.9, 0.5, 0.5), Gaussian(0.1, 0.03, 0.5, 0.5), Gaussian(1.0, 0.1 + 0.2, 0.5, 0.5)])
    assert lower_bound(tied) == 0.0


def test_arms_of_different_laws_add_up():
    best, coin, positive = Gaussian(1.0, 2.0, 0.5, 0.5), Bernoulli(0.5, 0.5), Exponential(1.0, 1.0)
    wanted = 0.5 / divergence(coin, 2.0) + 1.0 / divergence(positive, 2.0)
    assert lower_bound(Problem([best, coin, positive])) == pytest.approx(wanted)
    assert lower_bound(Problem([best, coin, positive]), sharp=False) == pytest.approx(wanted / 2)


def test_another_model():
    problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5), Exponential(1.0, 0.5)])
    positive = 0.5 / divergence(problem.arms[2], 1.0)
    assert lower_bound(problem) == pytest.approx(2.0 + positive)
    unknown = 0.5 / (0.5 * math.log(1 + 0.5))
    assert lower_bound(problem, model="unknown covariance") == pytest.approx(unknown + positive)
    with pytest.raises(BadParameter, match=r"^model of lower_bound must be one that an arm has; got 'bounded'$"):
        lower_bound(problem, model="bounded")


@pytest.mark.parametrize("name", [name for name in catalogue.names() if name != "thousand-arms"])
def test_the_whole_catalogue_is_covered(name):
    problem = catalogue.load(name)
    assert 0 < lower_bound(problem) < math.inf
    assert lower_bound(problem, sharp=False) == lower_bound(problem) / 2


def test_laws_without_a_formula():
    narrow = Gamma(0.5, 0.5, 0.001, 0.001, 0.5)
    problem = Problem([Gaussian(1.0, 2.0, 0.5, 0.5), narrow], names=["g", "tied"])
    with pytest.raises(NotCovered, match=r"^no lower bound for arm 'tied': its law is a correlated Gamma of shape "):
        lower_bound(problem)
    # the best arm needs none
    assert lower_bound(Problem([Gaussian(1.0, 0.2, 0.5, 0.5), narrow])) > 0


def test_without_a_variance_there_is_no_bound():
    problem = Problem([Pareto(1.0, 1.0, 1.5, 3.0), Gaussian(1.0, 0.5, 0.5, 0.5)], names=["wild", "tame"])
    with pytest.raises(
        NotCovered, match=r"^no lower bound: it is for arms of finite variances, and arm 'wild' has none$"
    ):
        lower_bound(problem)


def test_bad_use_is_one_sentence():
    with pytest.raises(BadParameter, match=r"^problem of lower_bound must be an outlay.Problem; got None$"):
        lower_bound(None)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match=r"^sharp of lower_bound must be True or False; got 'no'$"):
        lower_bound(Problem([Gaussian(1.0, 1.0, 0.5, 0.5)]), sharp="no")  # type: ignore[arg-type]


def test_the_guide_prints_what_it_says():
    found = doctest.testfile(
        str(Path(__file__).parents[2] / "docs" / "lower-bounds.md"), module_relative=False, encoding="utf-8"
    )
    assert found.attempted > 3
    assert found.failed == 0
