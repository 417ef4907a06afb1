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
    expected_reward,
    exponential_family,
    fluid,
    gap_constant,
    horizon,
    kl_inf,
    late_passage,
    lower_bound,
    median_rate_radius,
    optimal_policy,
    optimality,
    rate_box,
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
from outlay.theory.arm_rates import blocks

TINY, BELOW_1, OVER_1, OVER_2 = 5e-324, math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0), math.nextafter(2.0, 3.0)
PAIR = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
REFUNDS = Problem([Discrete([-1.0, 3.0], [1.0, 3.0], [0.5, 0.5]), Constant(1.0, 0.5)])
COIN = Points(np.array([1.0, 1.0]), np.array([0.0, 1.0]), np.array([0.75, 0.25]))
POISSON = {"natural": [0.0, -1.0], "log_partition": lambda eta: np.exp(eta).sum(), "means": np.exp, "rate": 0.5}

SLOPE = {"samples": 10**6, "chance": 0.01, "var_cost": 0.25, "cost_bound": 1.0, "residual_bound": 1.9}
CHANCE = [("chance", 0.0, "> 0 and < 1", 1e-300), ("chance", 1.0, "> 0 and < 1", BELOW_1)]
SAMPLES = ("samples", 0, "a whole number ≥ 1", 1)
SLOPES = [
    *CHANCE,
    SAMPLES,
    ("var_cost", 0.0, "> 0", TINY),
    ("cost_bound", 0.0, "> 0", TINY),
    ("residual_bound", 0.0, "> 0", TINY),
]
BUDGET = ("budget", 0.0, "> 0", TINY)
PASSAGE = {"pulls": 10.0, "mean_cost": 1.0, "order": 4.0, "central_moment": 0.5}
MEDIAN = {"samples": 10**6, "chance": 0.01, "mean_cost": 1.0, "var_cost": 0.25, "rate_variance": 0.04, "stretch": 1.3}
FINITE = "a finite number"
BOX = {"cost": 1.0, "reward": 1.0, "cost_radius": 0.0, "reward_radius": 0.1, "stretch": 1.3}
BOXED = [("cost", 0.0, "> 0", TINY), ("cost_radius", -TINY, "≥ 0", 0.0), ("stretch", 1.0, "> 1", OVER_1)]
RADIUS = [("reward", math.nan, FINITE, -1e308), ("reward_radius", -TINY, "≥ 0", 0.0)]
KL = {"points": COIN, "shortfall": 0.25, "rate": 0.5, "edge": Edge(*COIN[:2]), "worth": 0.0}

Limit = tuple[str, float, str, float]  # parameter, what is refused, in which words, and what is not
TABLE: list[tuple[Callable[..., object], dict[str, Any], list[Limit]]] = [
    (blocks, {"chance": 0.1}, CHANCE),
    (variance_radius, {"samples": 9, "chance": 0.1, "bound": 1.0}, [*CHANCE, SAMPLES, ("bound", 0.0, "> 0", TINY)]),
    (slope_radius, SLOPE, SLOPES),
    (residual_variance_radius, SLOPE, SLOPES),
    (
        median_rate_radius,
        MEDIAN,
        [
            *CHANCE,
            SAMPLES,
            ("mean_cost", 0.0, "> 0", TINY),
            ("var_cost", -TINY, "≥ 0", 0.0),
            ("rate_variance", -TINY, "≥ 0", 0.0),
            ("stretch", 1.0, "> 1", OVER_1),
        ],
    ),
    (stable, {"cost": 1.0, "cost_radius": 0.1, "stretch": 1.3}, BOXED),
    (rate_deviation, BOX, [*BOXED, *RADIUS]),
    (optimality, {"problem": PAIR, "budget": 10.0}, [BUDGET]),
    (optimal_policy, {"problem": REFUNDS, "budget": 10.0, "headroom": 9.0}, [("headroom", -TINY, "≥ 0", 0.0)]),
    (worst_case_bound, {"problem": PAIR, "budget": 10.0}, [("budget", 0.0, "> 0", 1e-100)]),
    (horizon, {"problem": PAIR, "budget": 10.0}, [BUDGET]),
    (
        late_passage,
        PASSAGE,
        [
            ("pulls", 0.0, "> 0", TINY),
            ("mean_cost", 0.0, "> 0", TINY),
            ("order", 2.0, "> 2", OVER_2),
            ("central_moment", -TINY, "≥ 0", 0.0),
        ],
    ),
    (
        regret_from_pulls,
        {"problem": PAIR, "pulls": [0.0, 9.0], "budget": 10.0, "order": 4.0, "central_moment": 9.0},
        [
            BUDGET,
            ("order", 2.0, "> 2", OVER_2),
            ("central_moment", -TINY, "≥ 0", 9.0),
            ("optimality_gap", -TINY, "≥ 0", 0.0),
        ],
    ),
    (
        divergence,
        {"law": PAIR.arms[1], "rate": 1.0, "worth": 0.0},
        [
            ("rate", 1.1e100, "≥ -1e+100 and ≤ 1e+100", 1e100),
            ("rate", -1.1e100, "≥ -1e+100 and ≤ 1e+100", -1e100),
            ("worth", 1.1e100, "≥ 0 and ≤ 1e+100", 1e100),
            ("worth", -TINY, "≥ 0 and ≤ 1e+100", 0.0),
        ],
    ),
    (
        exponential_family,
        POISSON,
        [("worth", -TINY, "≥ 0", 0.0), ("rate", 1.1e100, "≥ -1e+100 and ≤ 1e+100", 0.5)],
    ),
    (
        kl_inf,
        KL,
        [("shortfall", 0.0, "> 0", TINY), ("rate", math.nan, FINITE, 0.5), ("worth", math.nan, FINITE, 0.0)],
    ),
]
ROWS = [(function, given, limit) for function, given, limits in TABLE for limit in limits]


@pytest.mark.parametrize(
    ("function", "given", "limit"), ROWS, ids=[f"{row[0].__name__}-{row[2][0]}-{row[2][1]:g}" for row in ROWS]
)
def test_limits(function, given, limit):
    """What is refused is named with its function, what is next to it is not refused (or needs more samples)."""
    name, bad, words, good = limit
    with pytest.raises(BadParameter) as caught:
        function(**{**given, name: bad})
    assert str(caught.value) == f"{name} of {function.__name__} must be {words}; got {bad!r}"
    try:
        function(**{**given, name: good})
    except BadParameter as error:  # a variance that other parameters do not allow
        assert not str(error).endswith(f"must be {words}; got {good!r}")  # noqa: PT017
    except NotCovered:
        pass


@pytest.mark.parametrize(
    ("owner", "call"),
    [
        ("rates", rates),
        ("gap_constant", gap_constant),
        ("optimality", lambda problem: optimality(problem, 1.0)),
        ("optimal_policy", lambda problem: optimal_policy(problem, 1.0)),
        ("worst_case_bound", lambda problem: worst_case_bound(problem, 1.0)),
        ("lower_bound", lower_bound),
        ("horizon", lambda problem: horizon(problem, 1.0)),
        ("regret_from_pulls", lambda problem: regret_from_pulls(problem, [1.0], 1.0, 4.0)),
        ("fluid", lambda problem: fluid(problem, 1.0, 1)),
        ("upper_bound", lambda problem: upper_bound(problem, None, 1.0)),
    ],
)
def test_what_is_no_problem(owner, call):
    with pytest.raises(BadParameter, match=rf"^problem of {owner} must be "):
        call(None)


def test_a_box_is_checked_as_its_deviation_is():
    with pytest.raises(BadParameter, match=r"^reward of rate_deviation must be a finite number; got inf$"):
        rate_box(**{**BOX, "reward": math.inf})


def test_what_pays_nothing_needs_a_mean_cost_all_the_same():
    with pytest.raises(BadParameter, match=r"^budget of expected_pulls must be > 0; got 0\.0$"):
        expected_reward(Constant(1.0, 0.0), 0.0)
