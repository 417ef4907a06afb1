"""The numbers behind the figures and the verdict, from pulls that can be counted by hand."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlay.arms import Constant, Gamma, Gaussian, Problem
from outlay.errors import BadParameter
from outlay.policies import Fixed, RoundRobin
from outlay.report.curves import bound_lines, ceiling_lines, floor_of, regret_chart, regret_curves, spread
from outlay.report.page import ranking, verdict
from outlay.report.runs import earnings, grouping, shares
from outlay.report.style import PALETTE, looks
from outlay.results import Result
from outlay.theory import lower_bound, upper_bound

pytestmark = pytest.mark.interpreted


def by_hand(pulls, policies=None, names=("good", "bad"), rewards=(2.0, 1.0)) -> Result:
    """A result of two budgets, 10 and 100, from pulls [policy][run][budget][arm] that cost 1 each."""
    pulls = np.array(pulls, np.int64)
    arms = Problem([Constant(1.0, reward) for reward in rewards], names=list(names))
    cost, reward = pulls.sum(axis=-1).astype(float), pulls @ np.array(rewards)
    chosen = policies or {f"p{i}": RoundRobin() for i in range(len(pulls))}
    best = np.tile([10.0, 100.0], (pulls.shape[1], 1)) * max(rewards)
    return Result(arms, chosen, np.array([10.0, 100.0]), 0, pulls, cost, reward, best, "0.1.0")


@pytest.fixture
def two() -> Result:
    """Regret at the end: 10 and 30 of the first policy, 50 and 50 of the second."""
    first = [[[8, 2], [90, 10]], [[6, 4], [70, 30]]]
    second = [[[5, 5], [50, 50]], [[5, 5], [50, 50]]]
    return by_hand([first, second])


def test_shares_and_earnings_are_pulls(two):
    found = shares(two)
    assert found.arms.labels == ["good", "bad"]
    np.testing.assert_allclose(found.share[0], [[0.7, 0.3], [0.8, 0.2]])
    np.testing.assert_allclose(found.share[1], 0.5)
    earned = earnings(two)
    np.testing.assert_allclose(earned.expected, [[160, 20], [100, 50]])


def test_many_arms_are_gathered():
    pulls = np.zeros((1, 1, 2, 9), np.int64)
    pulls[..., :] = [5, 0, 1, 9, 2, 3, 4, 8, 7]
    result = by_hand(pulls, names=[f"arm {k}" for k in range(9)], rewards=[1.0] * 8 + [3.0])
    found = grouping(result)
    assert found.labels == ["arm 8", "arm 0", "arm 3", "arm 5", "arm 6", "arm 7", "3 more arms"]
    np.testing.assert_array_equal(found.gathered(pulls[0, 0, 0].astype(float)), [7, 5, 9, 3, 4, 8, 3])


def test_curves_are_the_regret_frame_and_bounds_the_theory(three):
    frame = three.regret()
    for curve in regret_curves(three):
        rows = frame[frame["policy"] == curve.label]
        for name in ("mean", "low", "high"):
            np.testing.assert_array_equal(getattr(curve, name), rows[name])
    sharp, printed = bound_lines(three)
    np.testing.assert_allclose(sharp.values, lower_bound(three.problem) * np.log(three.budgets))
    np.testing.assert_allclose(printed.values, lower_bound(three.problem, sharp=False) * np.log(three.budgets))
    for line, policy in zip(ceiling_lines(three), three.policies.values(), strict=False):
        for at in (0, -1):
            assert line.values[at] == pytest.approx(upper_bound(three.problem, policy, float(line.budgets[at])).value)


def test_bounds_that_say_nothing_are_left_out(three, apart, make):
    assert [line.policy for line in regret_chart(three).bounds] == [None, None]
    assert [line.policy for line in regret_chart(apart).bounds] == [None, None, 0]
    barely = make({"a": Fixed(0), "b": RoundRobin()}, [0.0, 0.05])  # less than a fifth of the floor can be lost
    assert len(bound_lines(barely)) == 2
    assert regret_chart(barely).bounds == []
    uncovered = Problem([Gamma(1.0, 0.5, 0.01, 0.005, 0.5), Gamma(1.0, 0.2, 0.009, 0.0018, 0.5)])
    assert floor_of(uncovered).at(100.0) is None
    assert "arm 1" in floor_of(uncovered).reason
    with pytest.raises(BadParameter, match="scale of regret_figure must be one of linear, log; got 'loglog'"):
        regret_chart(three, scale="loglog")  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="centre of regret_figure must be"):
        regret_chart(three, centre="mode")  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 1), max_size=15))
def test_labels_stay_apart_and_inside(heights):
    moved = spread(heights, 0.055)
    assert all(-1e-9 <= height <= 1 + 1e-9 for height in moved)
    assert all(above - below > 0.055 - 1e-9 for below, above in pairwise(sorted(moved)))
    assert sorted(range(len(heights)), key=lambda i: heights[i]) == sorted(range(len(moved)), key=lambda i: moved[i])


@pytest.mark.parametrize("count", [1, 7, 24])
def test_a_policy_has_its_colour_and_no_two_look_alike(count):
    labels = [f"policy {i}" for i in range(count)]
    assert len(set(looks(labels))) == count
    assert {colour for colour, _ in looks(labels)} == set(PALETTE[:count])
    assert looks([*labels, "Thrifty"])[-1][0] == looks(["Thrifty"])[0][0]


def test_the_verdict_admits_ties_and_means_that_few_runs_carry(three, make):
    tied = by_hand([[[[5, 5], [90, 10]], [[5, 5], [50, 50]]], [[[5, 5], [60, 40]], [[5, 5], [70, 30]]]])
    assert verdict(ranking(tied), tied)[0].startswith("p0 and p1 lost least, and 2 runs do not tell them apart")
    runs = [[[9, 1], [90, 10]]] * 19 + [[[5, 5], [0, 1000]]]
    carried = by_hand([runs, [[[0, 10], [0, 100]]] * 20])
    assert "A few long runs carry the mean of p0 (median 10.0)." in verdict(ranking(carried), carried)
    assert "It was told var_cost and var_reward of the arms" in verdict(ranking(three), three)[-1]
    equal = make({"a": RoundRobin()}, [6.0])
    object.__setattr__(equal, "problem", Problem([Gaussian(1.0, 1.0, 0.5, 0.5)] * 2))
    assert verdict(ranking(equal), equal) == ["All arms are equally good: whatever is pulled, nothing is lost."]
