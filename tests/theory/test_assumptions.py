"""What the theorems ask of a problem: bounds of costs and of rewards apart, and how far a residual reaches."""

import itertools

import numpy as np
import pytest

from outlay.arms import AnyLaw, Bernoulli, Discrete, Problem, Uniform
from outlay.errors import NotCovered
from outlay.policies import UCBB1, UCBB2C
from outlay.theory import rates, upper_bound
from outlay.theory.assumptions import _residual_reach


def told(problem: Problem, cost_bound: float, reward_bound: float) -> UCBB1:
    """UCB-B1 with the problem's second moments."""
    true = problem.second_moments()
    return UCBB1(
        var_cost=true["var_cost"], var_reward=true["var_reward"], cov=true["cov"],
        cost_bound=cost_bound, reward_bound=reward_bound, min_cost=0.1,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cost_bound", "reward_bound", "sentence"),
    [
        (2.0, 0.5, None),
        (2.0, 0.499, "needs rewards in [-0.499, 0.499] by its reward_bound; those of 'arm 0' are in [0, 0.5]"),
        (1.999, 0.5, "needs costs in [-1.999, 1.999] by its cost_bound; those of 'arm 0' are in [-1.5, 2]"),
    ],
)
def test_costs_and_rewards_have_bounds_of_their_own(cost_bound, reward_bound, sentence):
    """Costs down to −1.5 are within a cost_bound of 2, whatever the reward_bound."""
    problem = Problem([Uniform(-1.5, 2.0, 0.0, 0.5), Uniform(1.0, 2.0, 0.0, 0.2)])
    policy = told(problem, cost_bound, reward_bound)
    if sentence is None:
        assert upper_bound(problem, policy, 1e4).value > 0
        return
    with pytest.raises(NotCovered) as refused:
        upper_bound(problem, policy, 1e4)
    assert sentence in str(refused.value)


def test_refunds_and_losses_below_the_bounds():
    low_cost = Problem([Uniform(-2.5, 3.0, 0.0, 0.5)])
    with pytest.raises(NotCovered, match=r"needs costs in \[-2, 2\] .* are in \[-2.5, 3\]"):
        upper_bound(low_cost, told(low_cost, 2.0, 0.5), 1e4)
    low_reward = Problem([Uniform(1.0, 2.0, -0.4, 0.5)])
    assert upper_bound(low_reward, told(low_reward, 2.0, 0.5), 1e4).value >= 0


def test_residuals_reach_the_corners_of_their_box():
    """|Z − E[Z]|, Z = R − ωX, is largest at one of four corners: slopes of both signs, costs of both signs."""
    laws: list[AnyLaw] = [
        Uniform(0.5, 2.0, 0.0, 1.0, 0.8),
        Uniform(0.5, 2.0, 0.0, 1.0, -0.8),
        Uniform(-1.0, 2.0, -0.5, 2.0, 0.5),
        Uniform(-1.0, 3.0, 0.0, 0.3, -0.9),
        Uniform(1.0, 3.0, 0.0, 0.3, 0.0),
    ]
    problem = Problem(laws)
    slopes, wanted = rates(problem).slope, []
    for law, slope in zip(laws, slopes, strict=True):
        x_low, x_high, r_low, r_high = law.support()  # type: ignore[attr-defined]
        mean = (r_low + r_high) / 2 - slope * (x_low + x_high) / 2
        wanted.append(max(abs(r - slope * x - mean) for x, r in itertools.product((x_low, x_high), (r_low, r_high))))
    assert _residual_reach(problem) == pytest.approx(np.array(wanted))


@pytest.mark.parametrize("flip", [1.0, -1.0])
@pytest.mark.parametrize("rising", [1.0, -1.0])
def test_residuals_of_skewed_laws_reach_one_side_farther(rising, flip):
    """Three outcomes, of which one is rare; rewards that rise or fall with costs, and either side the longer one."""
    costs, rewards, chances = np.array([0.5, 1.0, 4.0]), np.array([0.2, 0.3, 2.0]), [0.6, 0.35, 0.05]
    law = Discrete(costs, 3.0 + flip * (rising * costs + rewards), chances)
    problem = Problem([law])
    slope, (mean_cost, mean_reward, *_) = float(rates(problem).slope[0]), law.moments()
    x_low, x_high, r_low, r_high = law.support()
    corners = itertools.product((x_low, x_high), (r_low, r_high))
    wanted = max(abs(r - slope * x - (mean_reward - slope * mean_cost)) for x, r in corners)
    assert _residual_reach(problem) == pytest.approx([wanted])


def test_a_slope_bound_may_be_the_slope():
    problem = Problem([Bernoulli(0.5, 0.5, 0.3), Bernoulli(0.6, 0.4, 0.2)])
    steepest = float(np.abs(rates(problem).slope).max())
    policy = UCBB2C(cost_bound=1.0, reward_bound=1.0, slope_bound=steepest, min_cost=0.1)
    assert upper_bound(problem, policy, 1e4).value > 0
    with pytest.raises(NotCovered, match=r"^Theorem 5 needs slope_bound ≥ \|ω_k\|; it is "):
        upper_bound(problem, policy._replace(slope_bound=steepest * (1 - 1e-6)), 1e4)
