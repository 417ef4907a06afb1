"""The numbers behind the figure."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlay.arms import Gamma, Problem
from outlay.errors import BadParameter
from outlay.policies import Fixed, RoundRobin
from outlay.report.numbers.curves import Axis, bound_lines, ceiling_lines, floor_of, regret_chart, regret_curves, spread
from outlay.text import shortened
from outlay.theory import lower_bound, upper_bound


def test_curves_are_the_regret_frame(three):
    curves = regret_curves(three)
    frame = three.regret()
    assert [curve.label for curve in curves] == three.labels
    for curve in curves:
        rows = frame[frame["policy"] == curve.label]
        for name in ("mean", "low", "high"):
            np.testing.assert_array_equal(getattr(curve, name), rows[name])
        np.testing.assert_array_equal(curve.budgets, three.budgets)


def test_lower_bound_curve(three):
    sharp, printed = bound_lines(three)
    assert [sharp.label, printed.label] == ["lower bound as B grows", "the same, as printed"]
    np.testing.assert_allclose(sharp.values, lower_bound(three.problem) * np.log(three.budgets))
    np.testing.assert_allclose(printed.values, lower_bound(three.problem, sharp=False) * np.log(three.budgets))
    floor = floor_of(three.problem)
    assert floor.sharp is not None
    assert floor.at(100.0) == pytest.approx(floor.sharp * math.log(100.0))
    assert floor.printed == floor.sharp / 2
    assert floor.at(1.0) is None


def test_no_bound_where_the_theory_has_none(three):
    tied = dataclasses.replace(
        three, problem=Problem([Gamma(1.0, 0.5, 0.01, 0.005, 0.5), Gamma(1.0, 0.2, 0.009, 0.0018, 0.5)])
    )
    assert bound_lines(tied) == []
    assert floor_of(tied.problem).at(100.0) is None
    assert "arm 1" in floor_of(tied.problem).reason
    assert regret_chart(tied).bounds == []


def test_no_bound_below_budget_one(three):
    assert bound_lines(dataclasses.replace(three, budgets=np.geomspace(0.01, 0.9, 25))) == []


def test_ceilings_are_the_theorems(three):
    """UCBB1 and UCBM1 are covered; the value at every budget is the theorem's there."""
    lines = ceiling_lines(three)
    assert [(line.label, line.policy) for line in lines] == [("Theorem 1 for UCBB1", 0), ("Theorem 2 for UCBM1", 1)]
    for line, policy in zip(lines, three.policies.values(), strict=False):
        for at in (0, -1):
            bound = upper_bound(three.problem, policy, float(line.budgets[at]))
            assert line.values[at] == pytest.approx(bound.value)


def test_a_ceiling_that_would_flatten_the_rest_is_left_out(three, apart):
    drawn = [line.label for line in regret_chart(apart).bounds]
    assert drawn == ["lower bound as B grows", "the same, as printed", "Theorem 1 for UCBB1"]
    assert [line.policy for line in regret_chart(three).bounds] == [None, None]
    assert [line.policy for line in regret_chart(three, scale="log").bounds] == [None, None, 0]


def test_a_saved_policy_from_elsewhere_has_no_ceiling(make):
    assert ceiling_lines(make({"mine": "Mine(x=1)"}, [6.0])) == []


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_scale_can_be_chosen(three, apart, scale):
    for result in (three, apart):
        assert regret_chart(result, scale=scale).axis.scale == scale
    with pytest.raises(BadParameter, match="scale of regret_figure must be one of linear, log; got 'loglog'"):
        regret_chart(three, scale="loglog")  # type: ignore[arg-type]


def test_no_logarithm_of_nothing(make):
    assert regret_chart(make({"a": Fixed(0)}, [0.0]), scale="log").axis.scale == "linear"


def test_axis(three, apart):
    linear, log = regret_chart(three).axis, regret_chart(apart).axis
    assert linear.scale == "linear"
    assert linear.bottom == 0.0
    assert log.scale == "log"
    assert log.bottom > 0
    assert Axis("log", 1.0, 100.0).height(10.0) == pytest.approx(0.5)
    assert Axis("log", 1.0, 100.0).height(0.0) == 0.0
    assert Axis("linear", -10.0, 10.0).height(0.0) == 0.5


def test_chart(three):
    chart = regret_chart(three)
    assert chart.title == "Pseudo-regret, mean of 20 runs, 95 % bands"
    assert len(chart.heights) == len(chart.curves) + len(chart.bounds)
    assert regret_chart(three, bounds=False).bounds == []
    assert regret_chart(three, kind="realised").title.startswith("Realised regret")
    with pytest.raises(BadParameter):
        regret_chart(three, kind="nosuch")  # type: ignore[arg-type]


@given(st.lists(st.floats(0, 1), max_size=15))
def test_spread_labels_stay_apart_and_inside(heights):
    moved = spread(heights, 0.055)
    assert all(-1e-9 <= height <= 1 + 1e-9 for height in moved)
    ordered = sorted(moved)
    assert all(above - below > 0.055 - 1e-9 for below, above in pairwise(ordered))
    assert sorted(range(len(heights)), key=lambda i: heights[i]) == sorted(range(len(moved)), key=lambda i: moved[i])


def test_labels_are_short_and_on_one_line():
    assert shortened("a\nb") == "a b"
    assert len(shortened("x" * 100)) == 28


def test_a_floor_far_above_everything_is_left_out(make):
    """It is for large budgets: at this one, less than a fifth of it can be lost."""
    barely = make({"a": Fixed(0), "b": RoundRobin()}, [0.0, 0.05])
    assert len(bound_lines(barely)) == 2
    assert regret_chart(barely).bounds == []
