"""The call that makes a result again."""

import numpy as np
import pytest

import outlay
from outlay.arms import Empirical, Gaussian, Problem
from outlay.policies import UCBM1, Fixed, Policy, RoundRobin
from outlay.report.reproduce import python_call

pytestmark = pytest.mark.interpreted


def test_the_call_lists_every_number(make):
    told = UCBM1([0.25] * 65, 0.25, 0.0)
    assert f"policies.{told.call()}," in python_call(make({"told": told}, [1.0]))


def same_again(result: outlay.Result) -> bool:
    scope: dict[str, object] = {}
    exec(python_call(result), scope)
    return scope["result"] == result


def test_the_call_makes_the_result_again():
    contenders: dict[str, Policy] = {"it's": RoundRobin(), "best": Fixed(0)}
    own = Problem([Gaussian(1.0, 0.1 + 0.2, 0.5, 0.5), Gaussian(2.0, 1 / 3, 0.5, 0.5)], names=["\\'''", "b"])
    for problem in (outlay.arms.catalogue.load("gaussian5"), own):
        assert same_again(outlay.simulate(problem, contenders, budgets=[7.0, 20 / 3 * 3], runs=2, seed=5))


def test_the_call_of_what_cannot_be_written_down(three, make):
    long = make({"mine": "Mine(bonus=2.5)"}, [1.0])
    samples = np.linspace(1.0, 2.0, 2000)
    object.__setattr__(long, "problem", Problem([Empirical(samples, samples), Gaussian(1.0, 0.5, 0.5, 0.5)]))
    text = python_call(long)
    assert 'Problem.load("problem.toml")' in text
    assert "'mine': Mine(bonus=2.5)," in text
    assert len(text) < 3000
