"""Every law keeps to the contract, and laws that break it are told what is wrong.

About 25 laws with five numbers each at 5 standard errors: a right set of laws would fail for 1 seed in 14 000.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from tests.arms.conftest import LAWS, label

from outlay.arms import Constant, Pareto
from outlay.testing import LawContract


class TestEveryLaw(LawContract):
    @pytest.fixture(autouse=True, params=LAWS, ids=label)
    def _choose(self, request):
        self.law = request.param


class TestFewMoments(LawContract):
    law = Pareto(1.0, 2.0, cost_tail=1.5, reward_tail=3.0)


class Shifted(NamedTuple):
    """A uniform cost that is drawn this far from where its moments and its support say."""

    mean: float = 0.0
    width: float = 0.0

    def draw(self, rng):
        return self.mean + (1.0 + self.width) * rng.random(), 1.0

    def moments(self):
        return 0.5, 1.0, 1.0 / 12.0, 0.0, 0.0

    def support(self):
        return 0.0, 1.0, 1.0, 1.0


class TestAUsersLaw(LawContract):
    law = Shifted()


class Undefined(Shifted):
    def draw(self, rng):
        return rng.random(), math.inf - math.inf

    def moments(self):
        return 0.5, math.nan, 1.0 / 12.0, 0.0, 0.0


class Whole(Shifted):
    def draw(self, rng):
        return rng.random(), 1


class Text(Shifted):
    def draw(self, rng):
        return float(f"{rng.random():.3f}"), 1.0


class Counting(NamedTuple):
    """A law that remembers how often it was drawn."""

    drawn: np.ndarray

    def draw(self, rng):
        self.drawn[0] += 1.0
        return self.drawn[0], 1.0

    def moments(self):
        return 1.0, 1.0, 0.0, 0.0, 0.0


def local_law() -> Shifted:
    class Local(Shifted):
        pass

    return Local()


BROKEN = [
    (None, "test_it_is_a_value", r"law of LawContract must be a law: .*; got None"),
    (Undefined(), "test_a_draw_is_two_finite_floats", r"a draw of Undefined.* is .*nan\), not two finite floats"),
    (Whole(), "test_a_draw_is_two_finite_floats", r"a draw of Whole.* 1\), not two finite floats"),
    (Undefined(), "test_moments_are_those_of_the_draws", r"no law can have the moments of Undefined"),
    (Shifted(0.001), "test_moments_are_those_of_the_draws", r"the mean cost of .* is 0\.00[01]\d* above what moments"),
    (Shifted(-0.005, 0.01), "test_moments_are_those_of_the_draws", r"the variance of the cost of the draws of Shifted"),
    (
        Shifted(0.001),
        "test_every_draw_is_in_the_support",
        r"the cost of .* to 1\.0\d*, and its support says",
    ),
    (Shifted(-0.001), "test_every_draw_is_in_the_support", r"the cost of .* goes from -0\.000"),
    (Text(), "test_compiled_draws_are_the_interpreted_ones", r"Text\(.*\) cannot be compiled: numba"),
    (Counting(np.zeros(1)), "test_drawing_does_not_change_it", r"drawing changes Counting\(drawn=array\(\[0\.\]\)\)"),
    (local_law(), "test_it_is_a_value", r"Local\(.*\) cannot be pickled: "),
]


@pytest.mark.parametrize(("law", "test", "sentence"), BROKEN, ids=[f"{type(b[0]).__name__}-{b[1]}" for b in BROKEN])
def test_a_broken_law_is_told_what_is_wrong(law, test, sentence):
    contract = LawContract()
    contract.law = law
    with pytest.raises(AssertionError, match=sentence):
        getattr(contract, test)()


def test_draws_that_differ_when_compiled_are_found(monkeypatch):
    contract = LawContract()
    contract.law = Constant(1.0, 2.0)
    monkeypatch.setattr("outlay.testing.draws", lambda law, rng, count: np.full((count, 2), 1.0))
    with pytest.raises(AssertionError, match=r"draw 0 of .* is \(1\.0, 1\.0\) compiled, \(1\.0, 2\.0\) in Python"):
        contract.test_compiled_draws_are_the_interpreted_ones()
    monkeypatch.setattr("outlay.testing.draws", lambda law, rng, count: rng.random((count, 2)) * 0 + [1.0, 2.0])
    with pytest.raises(AssertionError, match="takes other random numbers when it is compiled"):
        contract.test_compiled_draws_are_the_interpreted_ones()
