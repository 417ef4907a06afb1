"""Proposition 2: never exceeded, attained in the limit, refused when unstable; and its picture."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.errors import BadParameter, NotCovered
from outlay.report.figures import rate_box_figure
from outlay.theory.arm_rates import rate_box, rate_deviation, stable

share = st.floats(-1, 1)


@settings(max_examples=500)
@given(
    cost=st.floats(1e-3, 1e3),
    reward=st.floats(-1e3, 1e3),
    eta=st.floats(0, 0.999),
    epsilon=st.floats(0, 1e3),
    stretch=st.floats(1.001, 50),
    x=share,
    y=share,
)
def test_no_estimate_in_the_box_is_farther_off(cost, reward, eta, epsilon, stretch, x, y):
    cost_radius = eta * cost * (stretch - 1) / stretch
    bound = rate_deviation(cost, reward, cost_radius, epsilon, stretch)
    off = (reward + y * epsilon) / (cost + x * cost_radius) - reward / cost
    rounding = 1e-12 * (abs(reward) + epsilon) * stretch / cost + 1e-300
    assert abs(off) <= bound + rounding
    box = rate_box(cost, reward, cost_radius, epsilon, stretch)
    assert abs(off) <= box.deviation + rounding
    assert box.deviation <= bound + rounding
    assert abs(box.worst[1] / box.worst[0] - box.rate) == pytest.approx(box.deviation, rel=1e-6, abs=rounding)


@settings(max_examples=500)
@given(
    mean=st.floats(0.01, 10),
    rate=st.floats(0, 10),
    slope=st.floats(-10, 10),
    eta=st.floats(0, 2),
    epsilon=st.floats(0, 10),
    x=share,
    y=share,
)
def test_factor_of_the_score(mean, rate, slope, eta, epsilon, x, y):
    """With stability tested on the estimate, λ = 1.28 already makes the score an upper bound, so 1.4 and 1.78 do.

    Cost known within η, R − ωX within ε, as in the proof of Theorem 1; the estimated rate is truncated at 0.
    """
    cost = mean + x * eta
    if cost <= 0 or not stable(cost, eta):
        return
    reward = (rate - slope) * mean + y * epsilon + slope * cost
    estimate = max(0.0, reward) / cost
    score = estimate + 1.28 * (epsilon + abs(estimate - slope) * eta) / cost
    assert score >= rate - 1e-9 * (1 + abs(slope) + epsilon / mean)


def test_attained_at_the_edge_of_stability():
    edge = 2.0 * 0.28 / 1.28
    box = rate_box(2.0, 1.0, math.nextafter(edge, 0), 0.1)
    assert box.deviation == pytest.approx(box.bound, rel=1e-12)
    assert not stable(2.0, edge * (1 + 1e-12))


def test_exact_values():
    assert rate_deviation(2.0, 1.0, 0.2, 0.15) == 1.28 * (0.15 + 0.5 * 0.2) / 2
    assert rate_deviation(2.0, -1.0, 0.2, 0.15, stretch=2.0) == 0.25
    assert rate_deviation(1.0, 3.0, 0.0, 0.0) == 0.0
    box = rate_box(2.0, -1.0, 0.4, 0.2)
    assert (box.low, box.worst) == ((1.6, -1.2), (1.6, -1.2))
    assert box.high == (2.4, -0.8)
    assert box.deviation == pytest.approx((0.2 + 0.5 * 0.4) / 1.6)
    gaining = rate_box(2.0, 1.0, 0.4, 0.2)
    assert (gaining.low, gaining.high) == ((2.4, 0.8), (1.6, 1.2))
    straddling = rate_box(2.0, 0.1, 0.4, 0.2)
    assert straddling.low == (1.6, -0.1)
    assert straddling.worst == pytest.approx((1.6, 0.3))
    assert rate_box(2.0, 0.1, 0.4, 0.9).worst == pytest.approx((1.6, 1.0))


def test_the_box_and_its_picture():
    box = rate_box(2.0, 1.0, 0.4, 0.2)
    assert box.corner == pytest.approx((1.6, 0.8))
    assert box.sides == pytest.approx((0.8, 0.4))
    assert [*box.view[0], *box.view[1]] == pytest.approx([0.0, 1.15 * 2.4, 0.0, 1.2 * 1.25])
    assert rate_box(2.0, -1.0, 0.4, 0.2).view[1] == pytest.approx((-1.2 * 1.25, 0.0))


def test_refusals():
    with pytest.raises(
        NotCovered, match=r"^Proposition 2 needs cost_radius < cost·\(λ−1\)/λ = 0\.21875 with λ = 1\.28; got 0\.3$"
    ):
        rate_deviation(1.0, 1.0, 0.3, 0.1)
    with pytest.raises(BadParameter, match=r"^cost of stable must be > 0; got 0\.0$"):
        stable(0.0, 0.1)
    with pytest.raises(BadParameter, match=r"^stretch of rate_deviation must be > 1; got 1$"):
        rate_deviation(1.0, 1.0, 0.1, 0.1, stretch=1)


@pytest.mark.parametrize("reward", [1.0, -1.0, 0.05])
def test_figure(reward):
    box = rate_box(2.0, reward, 0.4, 0.2)
    figure = rate_box_figure(box)
    figure.canvas.draw()
    (axes,) = figure.axes
    assert (axes.get_xlim(), axes.get_ylim()) == box.view
    assert {text.get_text() for text in axes.texts} >= {"(θ₁, θ₂)", "A(η, ε)"}


def test_stable_is_strict():
    """θ1(λ−1)/λ itself is too much: 2·½ = 1."""
    assert not stable(2.0, 1.0, 2.0)
    assert stable(2.0, math.nextafter(1.0, 0.0), 2.0)
