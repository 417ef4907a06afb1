"""The numbers behind the figure."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bursar.arms import Exponential, Problem
from bursar.errors import BadParameter
from bursar.report.curves import Axis, bound_lines, floor_of, regret_chart, regret_curves, shortened, spread
from bursar.theory import lower_bound


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
    [line] = bound_lines(three)
    assert line.label == "lower bound as B grows"
    np.testing.assert_allclose(line.values, lower_bound(three.problem) * np.log(three.budgets))
    floor = floor_of(three.problem)
    assert floor.sharp is not None
    assert floor.at(100.0) == pytest.approx(floor.sharp * math.log(100.0))
    assert floor.printed == floor.sharp / 2
    assert floor.at(1.0) is None


def test_no_bound_where_the_theory_has_none(three):
    tied = dataclasses.replace(three, problem=Problem([Exponential(1.0, 0.5, 0.5), Exponential(1.0, 0.2, 0.5)]))
    assert bound_lines(tied) == []
    assert floor_of(tied.problem).at(100.0) is None
    assert "arm 1" in floor_of(tied.problem).reason
    assert regret_chart(tied).bounds == []


def test_no_bound_below_budget_one(three):
    assert bound_lines(dataclasses.replace(three, budgets=np.geomspace(0.01, 0.9, 25))) == []


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
    assert len(chart.heights) == 4
    assert regret_chart(three, bounds=False).bounds == []
    assert regret_chart(three, kind="realised").title.startswith("Realised regret")
    with pytest.raises(BadParameter):
        regret_chart(three, kind="nosuch")


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
