"""What the functions of the theory ask of their numbers: one sentence at the limit, and nothing to say beside it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from outlay.arms import Bernoulli, Constant, Discrete, Gaussian, Pareto, Problem, Uniform
from outlay.errors import BadParameter, NotCovered, OutlayError
from outlay.policies import UCBB1, UCBB2, UCBB2C
from outlay.theory import (
    Edge,
    Points,
    divergence,
    expected_pulls,
    exponential_family,
    fluid,
    fluid_loss,
    fluid_regret,
    horizon,
    kl_inf,
    late_passage,
    lower_bound,
    median_rate_radius,
    optimal_policy,
    optimality,
    pull_bound,
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


COINS = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)], names=["good", "bad"])
SMOOTH = Problem([Bernoulli(0.5, 0.5), Uniform(0.0, 1.0, 0.0, 0.5)])
NEGATIVE = Problem([Uniform(0.0, 2.0, -2.0, 0.0), Uniform(0.0, 1.0, -2.0, 0.0)])
WILD = Problem([Pareto(1.0, 1.0, 1.5, 3.0), Gaussian(1.0, 0.5, 0.5, 0.5)], names=["wild", "tame"])
STEPS = Problem([Constant(0.1, 0.3), Constant(0.4, 0.6), Constant(1.0, 0.9)])
FREE = Problem([Constant(0.0, 0.2), Constant(0.5, 0.8), Constant(-0.2, 0.1)])
BOUNDED = UCBB1(**COINS.second_moments(), cost_bound=1.0, reward_bound=1.0, alpha=2.5)


def least(points: Any, shortfall: float, edge: Any) -> float:
    return kl_inf(Points(*map(np.array, points)), shortfall, 1.5, Edge(*map(np.array, edge)))


def of_two_coins(rate: float, worth: float) -> float:
    natural, coin = [0.0, 0.0], lambda eta: np.exp(-np.logaddexp(0.0, -eta))
    return exponential_family(natural, lambda eta: float(np.logaddexp(0.0, eta).sum()), coin, rate, worth)


REFUSED: list[tuple[Callable[[], object], type[OutlayError], str]] = [
    (lambda: fluid(STEPS, math.inf, math.inf), BadParameter, "requests of fluid must be finite where the budget is"),
    (lambda: fluid(FREE, 1, math.inf), BadParameter, "requests of fluid must be finite where 'arm 2' refunds; got"),
    (lambda: fluid_loss(STEPS, 1e308, 1e-308), BadParameter, "budget of fluid must be small enough that"),
    (lambda: fluid_regret(STEPS, 1, 9, [1, -2, 3]), BadParameter, "pulls of fluid_regret must be finite numbers ≥"),
    (lambda: fluid_regret(STEPS, 1, 5, [1, 2, 3]), BadParameter, "pulls of fluid_regret must be no more in all than"),
    (lambda: fluid_regret(STEPS, 1, 6, [1, 2, 3], [1]), BadParameter, "cost of fluid_regret must be finite numbers,"),
    (lambda: lower_bound(COINS, requests=10), BadParameter, "budget of lower_bound must be a number where there are"),
    (lambda: lower_bound(COINS, budget=math.inf, requests=math.inf), BadParameter, "requests of lower_bound must be"),
    (lambda: lower_bound(COINS, budget=1.0, requests=10, sharp=False), BadParameter, "sharp of lower_bound must be"),
    (lambda: lower_bound(WILD), NotCovered, "no lower bound: it is for arms of finite variances, and arm 'wild' has"),
    (lambda: least(([1.0], [1.0], [0.5]), 0.1, ([1.0], [2.0])), BadParameter, "probabilities of kl_inf must be ≥ 0,"),
    (lambda: least(([1.0] * 2, [1.0, 0.0], [1.5, -0.5]), 0.1, ([1.0], [2.0])), BadParameter, "probabilities of"),
    (lambda: least(([1.0] * 2, [1.0], [1.0]), 0.1, ([1.0], [2.0])), BadParameter, "points and edge of kl_inf must"),
    (lambda: least(([1.0], [1.0], [1.0]), 0.1, ([1.0], [2.0, 3.0])), BadParameter, "points and edge of kl_inf must"),
    (lambda: upper_bound(COINS, BOUNDED, 0.25), NotCovered, "the theorems need a budget above half of the smallest"),
    (lambda: upper_bound(COINS, BOUNDED, 10, "best"), BadParameter, "constants of upper_bound must be 'printed' or"),
    (lambda: upper_bound(COINS, UCBB2(1e100, 1.0), 1e3), NotCovered, "the value of upper_bound is too large for a"),
    (lambda: pull_bound(COINS, BOUNDED, 0, 1000), NotCovered, "the lemmas bound the pulls of arms with a gap, and"),
    (lambda: pull_bound(COINS, UCBB2C(1, 1, 0), 1, 9, "proved"), NotCovered, "the proof for UCBB2C needs"),
    (lambda: pull_bound(SMOOTH, UCBB2C(1, 1, 1), 1, 9, "proved"), NotCovered, "the proof for UCBB2C needs costs of"),
    (lambda: regret_from_pulls(NEGATIVE, [0, 1], 100, 3, 0.25, 0), NotCovered, "Proposition 4 needs a best rate r*"),
    (lambda: regret_from_pulls(COINS, [0, 1], 0.2, 3, 0.25, 0), NotCovered, "Proposition 4 needs a budget above"),
    (lambda: regret_from_pulls(COINS, [1], 10, 3, 0.25, 0), BadParameter, "pulls of regret_from_pulls must be 2"),
    (lambda: of_two_coins(0.5, 2.0), NotCovered, "the search for the nearest better law of its exponential family"),
    (lambda: expected_pulls(Constant(1e-300, 0.5), 1e308), BadParameter, "budget of expected_pulls must be ≤ 1e+300"),
    (lambda: expected_pulls(Uniform(-2, 1, 0, 1), 10), BadParameter, "the mean cost of the law of expected_pulls"),
]


@pytest.mark.parametrize(("call", "error", "sentence"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_is_refused(call, error, sentence):
    with pytest.raises(error) as refused:
        call()
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("function", [rates, optimality, lower_bound, horizon, regret_from_pulls, fluid, upper_bound])
def test_what_is_no_problem(function):
    others = {"regret_from_pulls": ([1.0], 1.0, 4.0), "fluid": (1.0, 1), "upper_bound": (None, 1.0)}
    with pytest.raises(BadParameter, match=rf"^problem of {function.__name__} must be "):
        function(None, *others.get(function.__name__, () if function in (rates, lower_bound) else (1.0,)))
