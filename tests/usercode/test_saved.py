"""Laws and policies of the user's in saved files: they come back by name, or as they were; reading runs no code."""

from collections import namedtuple
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay.arms import Constant, Gaussian, LawMoments, Linear, Problem
from outlay.errors import BadFile, NotCovered, OutlayError


class Flat(NamedTuple):
    cost: float
    rewards: Any = 1.0

    def draw(self, rng):
        return self.cost, float(np.mean(self.rewards))

    def moments(self):
        return LawMoments(self.cost, float(np.mean(self.rewards)), 0.0, 0.0, 0.0)


class Dearer(Flat):
    """Has the name of `Flat` below, and other moments."""

    def moments(self):
        return LawMoments(2 * self.cost, 1.0, 0.0, 0.0, 0.0)


OWN = Problem([Flat(2.0, np.array([1.0, 2.0])), Linear(Flat(1.0), 1.0), Gaussian(1.0, 1.0, 0.1, 0.1)])


def test_a_users_law_comes_back_by_name_and_runs_no_code():
    text = OWN.to_toml()
    assert f'law = "{__name__}:Flat"' in text
    back = Problem.from_toml(text)
    assert repr(back[0]) == "Flat(cost=2.0, rewards=(1.0, 2.0))"
    assert back == Problem.from_toml(back.to_toml())
    assert back != OWN
    assert np.array_equal(back._moments, OWN._moments)
    with pytest.raises(NotCovered, match=r"the law Flat is known by name only: .*laws=\[Flat\]"):
        back[0].draw(np.random.default_rng(0))
    with pytest.raises(NotCovered, match="the law Flat is known by name only"):
        outlay.simulate(Problem([back[1]]), outlay.policies.Fixed(0), [1.0])


def test_a_users_law_comes_back_as_it_was_if_its_class_is_handed_over(tmp_path):
    assert Problem.from_toml(OWN.to_toml(), laws=[Flat]) == OWN
    OWN.save(tmp_path / "own.toml")
    assert Problem.load(tmp_path / "own.toml", laws=[Flat]) == OWN


def test_a_law_whose_code_has_changed_is_refused():
    Changed = type("Flat", (Dearer,), {})
    with pytest.raises(BadFile, match="the law Flat has other moments than when it was saved: its code has changed"):
        Problem.from_toml(OWN.to_toml(), laws=[Changed])


ARM = 'format = 1\n[[arms]]\nlaw = "mine:Flat"\ncost = 1.0\n'


@pytest.mark.parametrize(
    ("text", "laws", "sentence"),
    [
        (ARM, [], r"arm 0 \('arm 0'\) has the law 'mine:Flat', which is yours: hand its class over, laws=\[Flat\]"),
        (ARM + "[arms.known]\nmoments = [1]\nsupport = []\ntails = []", [], "what is known of its law Flat is damaged"),
        (ARM + "[arms.known]\nmoments = 1", [], "what is known of its law Flat is damaged"),
        (ARM + "price = 2", [Flat], "Flat has no argument price; it has cost, rewards"),
        (ARM.replace("cost", "rewards"), [Flat], "Flat lacks its argument cost"),
        (ARM, [namedtuple("Flat", ["cost"])], "must be a law: a NamedTuple with methods"),
    ],
)
def test_a_users_law_in_a_broken_file_is_answered_in_one_sentence(text, laws, sentence):
    with pytest.raises(OutlayError, match=sentence):
        Problem.from_toml(text, laws=laws)


def test_arguments_that_no_file_can_hold_are_refused():
    with pytest.raises(BadFile, match="arm 'arm 0' cannot be saved: rewards of Flat is neither a number, a string"):
        Problem([Flat(1.0, np.array([Fraction(1, 2)], dtype=object))]).to_toml()


class Mine(NamedTuple):
    width: float = 1.0
    weights: Any = 0.0

    def score(self, belief, log_n):
        return self.width - belief.arm


@pytest.fixture(scope="module")
def result() -> outlay.Result:
    problem = Problem([Flat(1.0), Constant(1.0, 0.5)])
    pulls = np.array([[[[2, 1]]], [[[3, 0]]]])
    cost = np.array([[[3.0]], [[3.0]]])
    policies = {"mine": Mine(0.5, np.array([1.0, 2.0])), "even": outlay.policies.RoundRobin()}
    return outlay.Result(problem, policies, np.array([2.5]), 0, pulls, cost, cost, np.array([[3.0]]), "0.2.0")


def test_a_result_with_a_law_of_ones_own_is_saved(result, tmp_path):
    result.save(tmp_path / "x.parquet")
    by_name = outlay.load(tmp_path / "x.parquet")
    assert repr(by_name.problem[0]) == "Flat(cost=1.0, rewards=1.0)"
    assert by_name.policies["mine"] == repr(result.policies["mine"])
    assert by_name.regret().equals(result.regret())
    by_name.save(tmp_path / "y.parquet")
    assert outlay.load(tmp_path / "y.parquet") == by_name
    assert outlay.load(tmp_path / "x.parquet", laws=[Flat], policies=[Mine]) == result
