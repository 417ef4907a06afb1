"""The call that makes a result again."""

import math
import shlex
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import outlay
from outlay import load, simulate
from outlay.arms import Bernoulli, Empirical, Gaussian, Problem, catalogue
from outlay.cli import commands
from outlay.policies import UCBM1, Fixed, Policy, RoundRobin
from outlay.report.page import python_call, shell_call

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
    coins = Problem([Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.7)])
    limited: list[dict[str, Any]] = [{"budgets": 9.0, "mode": "hard"}, {"budgets": math.inf, "requests": [20, 90]}]
    for limits in (*limited, {"budgets": [25.0, 50.0], "requests": 200}):
        assert same_again(simulate(coins, contenders, runs=2, **limits))


def test_the_call_of_what_cannot_be_written_down(three, make):
    long = make({"mine": "Mine(bonus=2.5)"}, [1.0])
    samples = np.linspace(1.0, 2.0, 2000)
    object.__setattr__(long, "problem", Problem([Empirical(samples, samples), Gaussian(1.0, 0.5, 0.5, 0.5)]))
    text = python_call(long)
    assert 'Problem.load("problem.toml")' in text
    assert "'mine': Mine(bonus=2.5)," in text
    assert len(text) < 3000


def test_the_command_makes_the_result_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("outlay.report.page.write_report", lambda result, out: [out / "report.html"])
    result = simulate(
        catalogue.load("G"), RoundRobin(), budget=20.0, runs=2, seed=7, requests=30, mode="until_exceeded"
    )
    command = shell_call(result)
    assert command.startswith("outlay compare G --budget 20 --runs 2 --seed 7 --requests 30")
    _, *words = shlex.split(command.replace("\\\n", ""))
    done = CliRunner().invoke(commands, [*words, "--save", "x.parquet", "--quiet"])
    assert done.exit_code == 0, done.output
    assert load("x.parquet") == result


def test_there_is_no_command_for_what_it_cannot_say():
    problem = catalogue.load("G")
    for changed in (
        simulate(problem, {"mine": RoundRobin()}, budget=20.0, runs=1),
        simulate(problem, Fixed(2), budget=20.0, runs=1),
        simulate(problem, RoundRobin(), budgets=[10.0, 20.0], runs=1),
        simulate(Problem(problem.arms[::-1]), RoundRobin(), budget=20.0, runs=1),
    ):
        assert shell_call(changed) == ""
