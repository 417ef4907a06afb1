"""Laws as values: printed, compared, copied, checked, and their exact properties."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from outlay import arms
from outlay.arms import (
    Bernoulli,
    Empirical,
    Exponential,
    Gaussian,
    LawMoments,
    Linear,
    Lognormal,
    Pareto,
    StudentT,
    Support,
    Tails,
    Uniform,
    support_of,
    tails_of,
)
from outlay.errors import BadParameter
from outlay.parameters import number


def test_repr_is_the_call_that_makes_it(law):
    assert eval(repr(law), vars(arms)) == law


def test_equal_by_value_and_hash_alike(law):
    twin = type(law)(**law.arguments())
    assert twin is not law
    assert twin == law
    assert hash(twin) == hash(law)
    assert law != tuple(law)


def test_arrays_of_a_law_are_its_own_and_read_only():
    costs = np.array([1.0, 2.0])
    law = Empirical(costs, [1, 1])
    costs[0] = 7
    assert law.costs[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        law.costs[0] = 3


def test_a_side_that_is_certain():
    assert Uniform(1, 1, 0, 1, 0.5).moments() == pytest.approx((1, 0.5, 0, 1 / 12, 0))
    assert Lognormal(2, 1, 0, 1, 0.5).moments().cov == 0.0
    assert StudentT(1, 1, 0, 1).tails() == Tails(math.inf, 3.0)
    assert Bernoulli(0, 1).moments() == LawMoments(0, 1, 0, 0, 0)


def test_linear_over_a_cost_without_variance():
    cost = Pareto(1, 1, cost_tail=1.5)
    assert Linear(cost, 0, 2, 3).moments() == LawMoments(1, 2, math.inf, 9, 0)
    assert Linear(cost, 0, 2, 3).tails() == Tails(1.5, math.inf)
    assert Linear(cost, -2).moments() == LawMoments(1, -2, math.inf, math.inf, -math.inf)
    assert Linear(cost, -2).tails() == Tails(1.5, 1.5)


def test_support_of_a_line():
    cost = Uniform(1, 3, 0, 1)
    assert Linear(cost, -2, 1).support() == Support(1, 3, -5, -1)
    assert Linear(cost, 2, 1, 0.1).support() == Support(1, 3)
    assert Linear(Gaussian(1, 1, 1, 1), 0, 4).support() == Support(reward_low=4, reward_high=4)
    assert Linear(Exponential(1, 1), -1).support() == Support(0, math.inf, -math.inf, 0)


def test_a_long_law_is_printed_short_and_a_short_one_in_full():
    law = Empirical(np.arange(100_000.0), np.ones(100_000))
    assert repr(law) == (
        "Empirical(costs=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, <99994 more>], "
        "rewards=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, <99994 more>])"
    )
    assert len(repr(Linear(law, 1.0))) < 300
    assert eval(Linear(law, 1.0).call(), vars(arms)) == Linear(law, 1.0)
    assert eval(repr(Empirical(np.arange(64), np.arange(64))), vars(arms)) == Empirical(np.arange(64), np.arange(64))


class Plain(NamedTuple):
    """A user's law with the two methods it must have."""

    top: float

    def draw(self, rng):
        return self.top * rng.random(), 1.0

    def moments(self):
        return self.top / 2, 1.0, self.top * self.top / 12, 0.0, 0.0


class Boxed(Plain):
    def support(self):
        return 0.0, self.top, 1.0, 1.0


def test_what_a_users_law_does_not_say_is_unknown():
    assert support_of(Plain(1.0)) == Support()
    assert tails_of(Plain(1.0)) == Tails(2.0, 2.0)
    assert tails_of(Plain(math.inf)).cost == 1.0
    assert support_of(Boxed(2.0)) == Support(0, 2, 1, 1)
    assert tails_of(Boxed(2.0)) == Tails()


nan, inf = math.nan, math.inf
COLUMN = "a number or a sequence of finite numbers"
BAD = [
    ("Gaussian", (nan, 1, 1, 1), "cost", "a finite number; got nan"),
    ("Gaussian", ("1", 1, 1, 1), "cost", "a finite number; got '1'"),
    ("Gaussian", (1, 1, -1, 1), "cost_sd", "≥ 0; got -1"),
    ("Gaussian", (1, 1, 1, 1, 1.5), "correlation", "≥ -1 and ≤ 1; got 1.5"),
    ("Bernoulli", (0.5, 0.8, 0.75), "correlation", "between -0.5 and 0.5 for these parameters; got 0.75"),
    ("Beta", (1.5, 0.5, 0.1, 0.1), "cost", "< cost_bound = 1; got 1.5"),
    ("Beta", (0.5, 0.5, 0.1, 0.6), "reward_sd", "between 1e-05 and 0.495074 for this mean and bound; got 0.6"),
    ("Beta", (1e-12, 0.5, 1e-8, 0.1), "cost", "at least 1.02e-10 away from 0 and from cost_bound = 1; got 1e-12"),
    (
        "Beta",
        (0.5, 0.1, 0.1, 0.2, -0.99),
        "correlation",
        "between -0.752105 and 0.752105 for these parameters; got -0.99",
    ),
    ("Uniform", (1, 0, 0, 1), "cost_high", "≥ 1; got 0"),
    ("Discrete", ([1, 2], [1], [0.5, 0.5]), "rewards", "2 numbers, as many as costs; got 1"),
    ("Discrete", ([1, 2], [1, 2], [0.5, 0.4]), "the sum of probabilities", "1; got 0.9"),
    ("Discrete", ([1, 2], [1, 2], [1.5, -0.5]), "probabilities at position 1", "a finite number ≥ 0; got -0.5"),
    ("Constant", (1, True), "reward", "a finite number; got True"),
    ("Gamma", (1, 1, 1, 0.5, 0.6), "correlation", "between 0 and 0.5 for these parameters; got 0.6"),
    ("Lognormal", (1e-50, 1, 1e60, 1), "cost_sd", "≥ 0 and ≤ 1e+50; got 1e+60"),
    ("Pareto", (1, 1, 1), "cost_tail", "> 1; got 1"),
    ("StudentT", (1, 1, 1, 1, 2), "tail", "> 2; got 2"),
    ("Linear", (1.0, 1), "cost", "a law: a NamedTuple with methods draw(rng) and moments(); got 1.0"),
    ("Empirical", ([], []), "costs", f"{COLUMN}, in one dimension and not empty; got []"),
    ("Empirical", ([1, 2, 3], [1, 2]), "rewards", "3 numbers, as many as costs; got 2"),
]


@pytest.mark.parametrize(("name", "arguments", "parameter", "rest"), BAD)
def test_bad_parameters_are_refused_in_one_sentence(name, arguments, parameter, rest):
    with pytest.raises(BadParameter) as error:
        getattr(arms, name)(*arguments)
    assert str(error.value) == f"{parameter} of {name} must be {rest}"


def test_a_subclass_is_named_in_its_own_errors_and_keeps_the_parameters():
    class Priced(Gaussian):
        price: float = number(default=2.0, above=0)

    assert Priced(1, 1, 1, 1) == Priced(1, 1, 1, 1, price=2)
    assert Priced(1, 1, 1, 1) != Gaussian(1, 1, 1, 1)
    with pytest.raises(BadParameter, match=r"^price of Priced must be > 0; got 0$"):
        Priced(1, 1, 1, 1, price=0)
