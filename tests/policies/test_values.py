"""Policies as values: every parameter of every policy reads back as it was given, and nothing changes it."""

import copy
import inspect
import math
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

from outlay import Problem, arms, policies, simulate
from outlay.beliefs import Belief
from outlay.errors import BadParameter
from outlay.parameters import Parameters, equal
from outlay.policies.protocol import as_data, method_of, wants_budget

MOMENTS: dict[str, Any] = {"var_cost": [0.04, 0.1], "var_reward": [0.09, 0.2], "cov": [0.0, -0.05]}
BOUNDS: dict[str, Any] = {"cost_bound": 2.0, "reward_bound": 3.0}
PAPER: dict[str, Any] = {"alpha": 2.5, "min_cost": 0.1}
# For every policy, all of its parameters in the order of its constructor, none of them at its default.
GIVEN: dict[str, dict[str, Any]] = {
    "UCBB1": {**MOMENTS, **PAPER, **BOUNDS, "variance_factor": 1.5, "factor": 1.78},
    "UCBM1": {**MOMENTS, **PAPER},
    "UCBB2": {**BOUNDS, **PAPER, "factor": 1.78},
    "UCBB2C": {**BOUNDS, "slope_bound": 0.5, **PAPER, "factor": 1.78},
    "Fixed": {"arm": 3},
    "RoundRobin": {},
    "FiellerKnown": {**MOMENTS, "alpha": 0.25},
    "Fieller": {"alpha": 0.25, "form": "plugin"},
    "BernsteinRate": {**BOUNDS, "alpha": 0.25},
    "MedianRate": {"alpha": 0.25, "tail": 1.5},
    "CatoniRate": {"alpha": 0.25, **MOMENTS},
    "KLRate": {"schedule": "half", "evidence": "sample", "reward_bound": 3.0},
    "Frugal": {"slope": 0.5, "delay": 3.0, "reward_bound": 3.0},
    "Thrifty": {"slope": 0.5, "horizon": "unknown", "budget": 50.0},
    "Wary": {"slope": 0.5, "horizon": "unknown", "budget": 50.0},
    "BKLUCB": {"costs": [0.5, 1.0], "reward_bound": 3.0, "loglog": 0.0},
    "BTS": BOUNDS,
    "CUCB": {"alpha": 1.0, **BOUNDS},
    "IUCB": {"alpha": 1.0, **BOUNDS},
    "Ration": {"costs": [1.0, 2.0], "reward_bound": 3.0, "slope": 0.7, "budget": 50.0, "requests": 100.0},
    "LPGreedy": {"budget": 50.0, "requests": 100.0},
    "LPEpsilonFirst": {"budget": 50.0, "requests": 100.0, "epsilon": 0.2},
    "LPUCB": {"budget": 50.0, "requests": 100.0, "alpha": 0.5},
    "LPThompson": {"budget": 50.0, "requests": 100.0, "scale": 0.5},
    "PDBwKRequests": {"budget": 50.0, "requests": 100.0, **BOUNDS},
    "KLUCBSC": {**BOUNDS, "loglog": 0.0},
    "KUBE": {"reward_bound": 3.0, "budget": 50.0},
    "MUCB": {"alpha": 1.0, **BOUNDS},
    "UCBAIR": {"beta": 0.5, "explore": 0.25, "bound": 3.0},
    "UCBBV1": {"min_cost": 0.5, **BOUNDS},
    "UCBBV2": BOUNDS,
    "BGreedy": {"explore": 5.0},
    "BudgetUCB": {"min_cost": 0.5, **BOUNDS},
    "EpsilonFirst": {"epsilon": 0.2, "budget": 50.0},
    "FractionalKUBE": {"reward_bound": 3.0},
    "GaussianThompson": {},
    "Greedy": {},
    "OmegaStarUCB": {"rho": 1.0, "wait": 0, **BOUNDS},
    "OmegaUCB": {"rho": 1.0, **BOUNDS},
    "PDBwK": {**BOUNDS, "factor": 0.5, "budget": 50.0},
    "RobustUCBMedian": {"var_cost": 0.04, "var_reward": 0.09},
    "RobustUCBTruncated": {"cost_moment": 0.04, "reward_moment": 0.09},
    "RootGreedy": {},
    "UCBSCPlus": BOUNDS,
}
of_each = pytest.mark.parametrize("name", GIVEN)
NAMES = {**vars(policies), **vars(policies.baselines)}


def made(name: str) -> Any:
    return policies.BY_NAME[name](**GIVEN[name])


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_the_table_has_every_policy() -> None:
    assert GIVEN.keys() == policies.BY_NAME.keys()


@of_each
def test_parameters_read_back_as_they_were_given(name: str) -> None:
    policy, given = made(name), GIVEN[name]
    assert policies.BY_NAME[name](*given.values()) == policy, "by position"
    assert {key: plain(getattr(policy, key)) for key in given} == given
    assert {key: plain(value) for key, value in policy.arguments().items()} == given
    assert as_data(policy) == {"name": name, "parameters": given}
    assert policy.call() == f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"


@of_each
def test_defaults_read_back(name: str) -> None:
    signature = inspect.signature(policies.BY_NAME[name]).parameters
    required = {key: GIVEN[name][key] for key, p in signature.items() if p.default is p.empty}
    policy = policies.BY_NAME[name](**required)
    for key, parameter in signature.items():
        if key not in required:
            assert getattr(policy, key) == parameter.default != GIVEN[name][key]
            assert type(getattr(policy, key)) is type(parameter.default)


@of_each
def test_the_signature_has_names_defaults_and_annotations(name: str) -> None:
    signature = inspect.signature(policies.BY_NAME[name])
    assert list(signature.parameters) == list(GIVEN[name])
    for parameter in signature.parameters.values():
        assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        assert parameter.annotation is not parameter.empty
        assert parameter.default is not None or "None" in str(parameter.annotation)
    doc = inspect.getdoc(policies.BY_NAME[name]) or ""
    assert ("Args:" in doc) == bool(GIVEN[name])
    assert all(key in doc for key in GIVEN[name])


@of_each
def test_twins_are_equal_and_hash_alike(name: str) -> None:
    policy = made(name)
    remade = eval(policy.call(), NAMES)
    for twin in (remade, pickle.loads(pickle.dumps(policy)), copy.copy(policy), copy.deepcopy(policy), made(name)):
        assert type(twin) is type(policy)
        assert twin == policy
        assert hash(twin) == hash(policy)
        assert repr(twin) == repr(policy)
        assert equal(list(twin), list(policy)), "derived fields too"


@of_each
def test_a_change_of_any_parameter_makes_another_policy(name: str) -> None:
    policy = made(name)
    signature = inspect.signature(type(policy)).parameters
    assert policy._replace() == policy
    for key, parameter in signature.items():
        if parameter.default is not parameter.empty and not (name == "CatoniRate" and key in MOMENTS):
            other = policy._replace(**{key: parameter.default})
            assert getattr(other, key) == parameter.default
            assert other != policy
            assert other._replace(**{key: GIVEN[name][key]}) == policy
    with pytest.raises(TypeError, match="nonsense"):
        policy._replace(nonsense=1)


@of_each
def test_nothing_can_be_changed(name: str) -> None:
    policy = made(name)
    for key in [*GIVEN[name], "nonsense"]:
        with pytest.raises(AttributeError):
            setattr(policy, key, 1.0)
    for value in [*policy, *policy.arguments().values()]:
        assert not isinstance(value, np.ndarray) or not value.flags.writeable
    assert policy == made(name)


@of_each
def test_the_tuple_holds_what_can_be_compiled(name: str) -> None:
    policy = made(name)
    assert isinstance(policy, Parameters)
    assert len(policy) == len(policy._fields) > 0
    fields: list[Any] = list(policy)
    for value in fields:
        assert type(value) in (float, int, bool) or value.dtype == np.float64
    assert method_of(policy) is not None


def test_what_stands_beside_the_tuple_has_a_field_that_formulas_read() -> None:
    assert policies.UCBB1(**MOMENTS).chosen_factor == 0.5
    assert policies.Fieller().plugin is False
    assert policies.Fieller(form="plugin").plugin is True
    assert policies.CatoniRate().known_var_cost.tolist() == [math.inf]
    assert policies.CatoniRate(1.0, **MOMENTS).known_var_cost.tolist() == MOMENTS["var_cost"]
    for kind in (policies.baselines.EpsilonFirst, policies.baselines.KUBE, policies.baselines.PDBwK):
        assert kind().known_budget == math.inf
        assert kind(budget=7).known_budget == 7.0


class Mine(NamedTuple):
    """The ten lines that a user writes."""

    width: float = 1.0
    budget: float = math.inf

    def score(self, belief: Belief, log_n: float) -> float:
        if belief.pulls == 0 or belief.mean_cost <= 0.0:
            return math.inf
        return (belief.mean_reward + self.width * math.sqrt(log_n / belief.pulls)) / belief.mean_cost


class Bare(NamedTuple):
    """A user's policy without parameters."""

    def score(self, belief: Belief, log_n: float) -> float:
        return -float(belief.pulls) - 0.0 * log_n


@pytest.mark.interpreted
def test_a_named_tuple_of_a_user_is_a_policy() -> None:
    problem = Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 0.5)])
    assert wants_budget(Mine())
    assert not wants_budget(Bare())
    result = simulate(problem, {"mine": Mine(0.5), "bare": Bare()}, budgets=[10.0, 20.0], runs=1)
    assert (result.pulls[0, 0, :, 0] > result.pulls[0, 0, :, 1]).all()
    assert result.pulls[1, 0].tolist() == [[6, 5], [11, 10]]
    assert as_data(Mine())["parameters"] == {"width": 1.0, "budget": math.inf}


def test_a_budget_is_asked_for_by_name() -> None:
    asking = {name for name in policies.BY_NAME if wants_budget(made(name))}
    two = {"Ration", "LPGreedy", "LPEpsilonFirst", "LPUCB", "LPThompson", "PDBwKRequests"}
    assert asking == {"EpsilonFirst", "KUBE", "PDBwK"} | two
    for name in asking:
        told = made(name)._replace(budget=9).arguments()
        assert {key: plain(value) for key, value in told.items()} == {**GIVEN[name], "budget": 9.0}
        with pytest.raises(BadParameter, match=f"^budget of {name} must be > 0; got 0"):
            made(name)._replace(budget=0)
