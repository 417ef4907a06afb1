"""What policies may be told about a problem, and which are left out because they would need more."""

import pytest

from outlay import policies, problem_policies
from outlay.arms import (
    Bernoulli,
    Constant,
    ContextualProblem,
    Exponential,
    Gaussian,
    Linear,
    Pareto,
    Problem,
    StudentT,
    Uniform,
    catalogue,
)
from outlay.errors import NotCovered
from outlay.policies import BY_NAME


def test_paper_policies_know_what_they_may():
    bounded = problem_policies.paper_policies(catalogue.load("H"))
    assert list(bounded) == ["UCBB1", "UCBM1", "UCBB2", "UCBB2C"]
    assert bounded["UCBB1"].chosen_factor == 2.0
    assert bounded["UCBB2"].cost_bound == 1.0
    assert bounded["UCBB2"].min_cost == pytest.approx(0.125)
    assert bounded["UCBB2C"].slope_bound == 0.0
    gaussian = problem_policies.paper_policies(catalogue.load("G"))
    assert list(gaussian) == ["UCBB1", "UCBM1"]
    assert gaussian["UCBB1"].chosen_factor == 0.5
    wild = Problem([Pareto(1.0, 1.0, 1.5, 1.5), Gaussian(1.0, 0.5, 0.1, 0.1)])
    assert problem_policies.paper_policies(wild) == {}
    assert problem_policies.usual_policies(wild) == {"Thrifty": policies.default(), "RoundRobin": policies.RoundRobin()}


def test_bounded_policies_are_for_what_is_never_negative():
    negative = Problem([Uniform(-0.5, 1.5, 0.0, 1.0), Bernoulli(0.5, 0.5)], names=["dips", "b"])
    assert list(problem_policies.paper_policies(negative)) == ["UCBB1", "UCBM1"]
    for name in ("UCBB2", "UCBB2C"):
        with pytest.raises(NotCovered) as refused:
            problem_policies.named_policies(negative, [name])
        assert str(refused.value) == f"{name} needs costs and rewards ≥ 0, and those of arm 'dips' can be negative"


LIGHT = [
    [Gaussian(1.0, 1.0, 0.5, 0.5), Constant(1.0, 0.5)],
    [Linear(Gaussian(1.0, 1.0, 0.5, 0.5), 2.0, 0.0, 1.0), Linear(Linear(Constant(1.0, 1.0), 1.0), 1.0, 0.0, 1.0)],
    [Uniform(-0.5, 1.5, 0.0, 1.0), Bernoulli(0.5, 0.5)],
]
HEAVY = [
    [Gaussian(1.0, 1.0, 0.5, 0.5), Exponential(1.0, 0.5)],
    [Gaussian(1.0, 1.0, 0.5, 0.5), Bernoulli(0.5, 0.5)],
    [Linear(StudentT(1.0, 1.0, 0.5, 0.5), 1.0)],
]


@pytest.mark.parametrize(("arms", "light"), [*((arms, True) for arms in LIGHT), *((arms, False) for arms in HEAVY)])
def test_ucb_b1_is_for_light_tails_and_says_so(arms, light):
    problem = Problem(arms)
    assert ("UCBB1" in problem_policies.paper_policies(problem)) == light
    asked = problem_policies.named_policies(problem, ["UCBB1", "UCBM1"])
    assert len(problem_policies.notes(problem, asked)) == (0 if light else 1)
    assert problem_policies.notes(problem, ["UCBM1"]) == []


def test_every_policy_can_be_named():
    by_features = {"LinearRation", "LinUCB", "LinTS"}
    plain = {name: kind for name, kind in BY_NAME.items() if name not in by_features | {"Forgetful"}}
    chosen = problem_policies.named_policies(catalogue.load("bounded"), plain)
    assert {name: type(policy) for name, policy in chosen.items()} == plain
    with pytest.raises(NotCovered, match="Forgetful needs to be told how much is spent between two changes of an arm"):
        problem_policies.named_policies(catalogue.load("bounded"), ["Forgetful"])
    assert chosen["Fixed"].arm == catalogue.load("bounded").best
    contextual = ContextualProblem([[0.0, 1.0]], [[1.0, 2.0]], [[0.5, 0.7]])
    assert {policy.features for policy in problem_policies.named_policies(contextual, by_features).values()} == {2}
    with pytest.raises(NotCovered, match=r"^LinUCB needs requests with features, as a ContextualProblem has them$"):
        problem_policies.named_policies(catalogue.load("bounded"), ["LinUCB"])
    correlated = Problem([Gaussian(1.0, 1.0, 0.5, 0.5, 0.5)])
    assert list(problem_policies.named_policies(correlated, ["ucb_m1", "UCBM1"])) == ["UCBM1"]
