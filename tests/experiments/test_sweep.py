"""Sweeps change what they say they change, and players are told what the problem knows."""

from typing import Any

import numpy as np
import pytest
from tests.arms import conftest

from outlay.arms import Bernoulli, Gaussian, Linear, Pareto, Problem, Uniform, catalogue
from outlay.arms.problem_file import LAWS
from outlay.errors import BadParameter, NotCovered
from outlay.experiments.file import PolicyEntry, Setup, moved
from outlay.policies import BY_NAME, UCBB1, UCBM1, CatoniRate, Frugal
from outlay.problem_policies import policy_for

# The first of each law: of some others the mean reward cannot be moved alone.
EXAMPLES = list({type(law): law for law in reversed(conftest.LAWS)}.values())
FRUGAL = PolicyEntry("Frugal", "v2.0 Frugal", {})


def moved_problem(problem: Problem, target: str, value: float) -> Any:
    return moved(Setup(problem, (FRUGAL,)), target, value).problem


def test_a_field_of_all_arms_that_have_it():
    problem = Problem([Gaussian(1, 1, 1, 1), Pareto(1, 1), Gaussian(1, 2, 1, 1)], names=["a", "b", "c"])
    found = moved_problem(problem, "arms.correlation", 0.5)
    assert [getattr(law, "correlation", None) for law in found.arms] == [0.5, None, 0.5]
    assert found.names == problem.names
    assert found.arms[1] == problem.arms[1]
    assert moved_problem(problem, "arms.correlation", 0.0) == problem


def test_a_field_of_one_arm_and_of_a_law_in_a_law():
    problem = Problem([Linear(Pareto(1, 1), 0.5), Gaussian(1, 1, 1, 1)], names=["a.b", "a"])
    assert moved_problem(problem, "arms.a.b.slope", 2).arms[0].slope == 2.0
    assert moved_problem(problem, "arms.a.b.cost.cost_tail", 2.5).arms[0].cost.cost_tail == 2.5
    assert moved_problem(problem, "arms.a.reward", 3).arms[1].reward == 3.0
    with pytest.raises(BadParameter, match=r"a field of the arms \(cost, reward, cost_sd, "):
        moved_problem(problem, "arms.a.slope", 2)


@pytest.mark.parametrize("law", EXAMPLES, ids=repr)
def test_the_gap_of_every_law(law):
    best = Gaussian(1.0, 1.0 + law.moments().mean_reward / law.moments().mean_cost, 0.1, 0.1)
    problem = Problem([law, best], names=["law", "best"])
    wanted = problem.gaps[0] - 1e-3  # for laws whose rewards can only be in a range
    found = moved_problem(problem, "arms.gap", wanted)
    assert found.gaps == pytest.approx([wanted, 0.0])
    assert found.mean_costs.tolist() == problem.mean_costs.tolist()
    assert moved_problem(problem, "arms.law.gap", wanted) == found


def test_the_examples_have_every_law():
    assert {type(law).__name__ for law in EXAMPLES} >= set(LAWS)


def test_the_number_of_arms():
    problem = Problem([Bernoulli(0.5, 0.1), Uniform(0, 1, 0, 1), Bernoulli(0.5, 0.2)], names=["a", "best", "c"])
    assert moved_problem(problem, "K", 3) == problem
    assert moved_problem(problem, "K", 1).names == ("best",)
    assert moved_problem(problem, "K", 2).names == ("a", "best")
    assert moved_problem(problem, "K", 6).names == ("a", "best", "c", "a (2)", "c (2)", "a (3)")
    many = moved_problem(problem, "K", 50)
    assert len(many) == 50
    assert np.count_nonzero(many.gaps == 0) == 1
    with pytest.raises(BadParameter, match="the problem of a sweep over K must be of two arms or more"):
        moved_problem(Problem([Bernoulli(0.5, 0.5)]), "K", 2)


def test_a_parameter_of_policies():
    players = (FRUGAL, PolicyEntry("Frugal", "b", {"slope": 1.0, "delay": 2.0}), PolicyEntry("RoundRobin", "c", {}))
    setup = Setup(catalogue.load("G"), players)
    assert [one.parameters.get("slope") for one in moved(setup, "policies.slope", 0.5).players] == [0.5, 0.5, None]
    one = moved(setup, "policies.v2.0 Frugal.slope", 0.5)
    assert [one.parameters.get("slope") for one in one.players] == [0.5, 1.0, None]
    assert one.players[1].parameters == {"slope": 1.0, "delay": 2.0}
    with pytest.raises(BadParameter, match="must be a parameter, and they have none"):
        moved(setup, "policies.c.slope", 1)


@pytest.mark.parametrize("name", BY_NAME)
def test_players_without_parameters_are_those_of_the_command(name):
    problem = catalogue.load("bounded")
    assert PolicyEntry(name, name, {}).on(problem) == policy_for(problem, name)


def test_what_a_file_gives_replaces_what_is_known():
    problem = catalogue.load("G")
    known = UCBB1(**problem.second_moments(), min_cost=0.4)
    assert PolicyEntry("UCBB1", "a", {"alpha": 3, "cov": "known"}).on(problem) == known._replace(alpha=3)
    assert PolicyEntry("UCBB1", "a", {"cov": 0.0}).on(problem) == known._replace(cov=[0.0])
    bounded = PolicyEntry("UCBB1", "a", {"cost_bound": 1.0, "reward_bound": 1.0}).on(problem)
    assert isinstance(bounded, UCBB1)
    assert bounded.chosen_factor == 2.0, "it follows from the bounds that were given"


def test_known_gives_what_no_policy_is_told_unasked():
    problem = catalogue.load("bounded")
    assert PolicyEntry("Frugal", "a", {"reward_bound": "known"}).on(problem) == Frugal(reward_bound=1.0)
    moments = dict.fromkeys(("var_cost", "var_reward", "cov"), "known")
    assert PolicyEntry("CatoniRate", "a", moments).on(problem) == CatoniRate(**problem.second_moments())


def test_a_file_that_says_everything_needs_no_problem_that_knows():
    wild = Problem([Pareto(1, 1, 1.5, 1.5), Pareto(1, 0.5)])
    given = {"var_cost": 1.0, "var_reward": 1.0, "cov": 0.0}
    assert PolicyEntry("UCBM1", "a", given).on(wild) == UCBM1(1.0, 1.0, 0.0, min_cost=1e-12)
    for parameters in ({**given, "cov": "known"}, {"var_cost": 1.0}, {}):
        with pytest.raises(NotCovered, match="UCBM1 needs finite second moments"):
            PolicyEntry("UCBM1", "a", parameters).on(wild)
