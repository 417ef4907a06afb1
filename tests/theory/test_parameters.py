"""What the functions of the theory ask of their numbers: one sentence at the limit, and nothing to say beside it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from outlay.arms import Constant, Discrete, Gaussian, Problem
from outlay.errors import BadParameter, NotCovered
from outlay.theory import (
    Edge,
    Points,
    divergence,
    exponential_family,
    fluid,
    horizon,
    kl_inf,
    late_passage,
    lower_bound,
    median_rate_radius,
    optimal_policy,
    optimality,
    rate_deviation,
    rates,
    regret_from_pulls,
    residual_variance_radius,
    slope_radius,
    stable,
    upper_bound,
    variance_radius,
    worst_case_bound,
)

TINY, BELOW_1, OVER_1, OVER_2 = 5e-324, math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0), math.nextafter(2.0, 3.0)
PAIR = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
REFUNDS = Problem([Discrete([-1.0, 3.0], [1.0, 3.0], [0.5, 0.5]), Constant(1.0, 0.5)])
COIN = Points(np.array([1.0, 1.0]), np.array([0.0, 1.0]), np.array([0.75, 0.25]))
POISSON = {"natural": [0.0, -1.0], "log_partition": lambda eta: np.exp(eta).sum(), "means": np.exp, "rate": 0.5}
SLOPE = {"samples": 10**6, "chance": 0.01, "var_cost": 0.25, "cost_bound": 1.0, "residual_bound": 1.9}
MEDIAN = {"samples": 10**6, "chance": 0.01, "mean_cost": 1.0, "var_cost": 0.25, "rate_variance": 0.04, "stretch": 1.3}
BOX = {"cost": 1.0, "reward": 1.0, "cost_radius": 0.0, "reward_radius": 0.1, "stretch": 1.3}
PASSAGE = {"pulls": 10.0, "mean_cost": 1.0, "order": 4.0, "central_moment": 0.5}
REGRET = {"problem": PAIR, "pulls": [0.0, 9.0], "budget": 10.0, "order": 4.0, "central_moment": 9.0}

Row = tuple[Callable[..., object], dict[str, Any], str, float, str, float]  # …, what is refused, how, and what is not
TABLE: list[Row] = [
    (variance_radius, {"samples": 9, "chance": 0.1, "bound": 1.0}, "chance", 1.0, "> 0 and < 1", BELOW_1),
    (slope_radius, SLOPE, "samples", 0, "a whole number ≥ 1", 1),
    (residual_variance_radius, SLOPE, "residual_bound", 0.0, "> 0", TINY),
    (median_rate_radius, MEDIAN, "rate_variance", -TINY, "≥ 0", 0.0),
    (median_rate_radius, MEDIAN, "stretch", 1.0, "> 1", OVER_1),
    (stable, {"cost": 1.0, "cost_radius": 0.1, "stretch": 1.3}, "cost_radius", -TINY, "≥ 0", 0.0),
    (rate_deviation, BOX, "cost", 0.0, "> 0", TINY),
    (rate_deviation, BOX, "reward", math.nan, "a finite number", -1e308),
    (optimality, {"problem": PAIR, "budget": 10.0}, "budget", 0.0, "> 0", TINY),
    (optimal_policy, {"problem": REFUNDS, "budget": 10.0, "headroom": 9.0}, "headroom", -TINY, "≥ 0", 0.0),
    (worst_case_bound, {"problem": PAIR, "budget": 10.0}, "budget", 0.0, "> 0", 1e-100),
    (horizon, {"problem": PAIR, "budget": 10.0}, "budget", 0.0, "> 0", TINY),
    (late_passage, PASSAGE, "order", 2.0, "> 2", OVER_2),
    (late_passage, PASSAGE, "central_moment", -TINY, "≥ 0", 0.0),
    (regret_from_pulls, REGRET, "order", 2.0, "> 2", OVER_2),
    (regret_from_pulls, REGRET, "optimality_gap", -TINY, "≥ 0", 0.0),
    (divergence, {"law": PAIR.arms[1], "rate": 1.0}, "rate", 1.1e100, "≥ -1e+100 and ≤ 1e+100", 1e100),
    (divergence, {"law": PAIR.arms[1], "rate": 1.0}, "worth", -TINY, "≥ 0 and ≤ 1e+100", 0.0),
    (exponential_family, POISSON, "worth", -TINY, "≥ 0", 0.0),
    (kl_inf, {"points": COIN, "shortfall": 0.25, "rate": 0.5, "edge": Edge(*COIN[:2])}, "shortfall", 0.0, "> 0", TINY),
]


@pytest.mark.parametrize(
    ("function", "given", "name", "bad", "words", "good"), TABLE, ids=[f"{row[0].__name__}-{row[2]}" for row in TABLE]
)
def test_limits(function, given, name, bad, words, good):
    """What is refused is named with its function, what is next to it is not refused (or needs more samples)."""
    with pytest.raises(BadParameter) as caught:
        function(**{**given, name: bad})
    assert str(caught.value) == f"{name} of {function.__name__} must be {words}; got {bad!r}"
    try:
        function(**{**given, name: good})
    except BadParameter as error:  # a variance that other parameters do not allow
        assert not str(error).endswith(f"must be {words}; got {good!r}")  # noqa: PT017
    except NotCovered:
        pass


@pytest.mark.parametrize("function", [rates, optimality, lower_bound, horizon, regret_from_pulls, fluid, upper_bound])
def test_what_is_no_problem(function):
    others = {"regret_from_pulls": ([1.0], 1.0, 4.0), "fluid": (1.0, 1), "upper_bound": (None, 1.0)}
    with pytest.raises(BadParameter, match=rf"^problem of {function.__name__} must be "):
        function(None, *others.get(function.__name__, () if function in (rates, lower_bound) else (1.0,)))
