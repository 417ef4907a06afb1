"""Parameters of policies: what constructors accept and refuse, and policies as values that nothing changes."""

import copy
import inspect
import math
import pickle
import re
from array import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from outlay import parameters, policies
from outlay.errors import BadParameter
from outlay.parameters import Parameters, choice, equal, number
from outlay.policies import UCBB1, UCBB2, UCBM1, CatoniRate, Fixed, baselines
from outlay.policies.protocol import as_data, has, memory_of, wants_budget

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
    "Thrifty": {"slope": 0.5, "horizon": "unknown", "budget": 50.0, "changes": "ignored", "free_pulls": 40},
    "Wary": {"slope": 0.5, "horizon": "unknown", "budget": 50.0, "changes": "ignored", "free_pulls": 40},
    "BKLUCB": {"costs": [0.5, 1.0], "reward_bound": 3.0, "loglog": 0.0},
    "BTS": BOUNDS,
    "CUCB": {"alpha": 1.0, **BOUNDS},
    "IUCB": {"alpha": 1.0, **BOUNDS},
    "LinearRation": {
        "features": 2,
        "costs": [1.0, 2.0],
        "reward_bound": 3.0,
        "alpha": 0.5,
        "budget": 50.0,
        "requests": 100.0,
    },
    "LinUCB": {
        "features": 2,
        "alpha": 1.0,
        "reward_bound": 3.0,
        "pace": 2.0,
        "budget": 50.0,
        "requests": 100.0,
    },
    "LinTS": {"features": 2, "alpha": 1.0, "reward_bound": 3.0, "pace": 2.0, "budget": 50.0, "requests": 100.0},
    "Forgetful": {"changes_every": 400.0, "slope": 0.5, "budget": 50.0},
    "SWUCB": {"window": 30, "xi": 1.5, "reward_bound": 3.0},
    "DiscountedThompson": {"discount": 0.5, "reward_bound": 3.0},
    "CUSUMUCB": {"first": 5, "drift": 0.25, "threshold": 3.0, "explore": 0.5, "xi": 0.75, "reward_bound": 3.0},
    "GLRKLUCB": {"error": 0.25, "explore": 0.5, "reward_bound": 3.0},
    "Ration": {
        "costs": [1.0, 2.0],
        "reward_bound": 3.0,
        "slope": 0.7,
        "budget": 50.0,
        "requests": 100.0,
        "changes": "ignored",
    },
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
        with pytest.raises(AttributeError):
            delattr(policy, key)
    for value in [*policy, *policy.arguments().values()]:
        assert not isinstance(value, np.ndarray) or not value.flags.writeable
    assert policy == made(name)


SENTENCES: list[tuple[Callable[[], Any], str]] = [
    (lambda: UCBB1(0.04, 0.09, 0.05, alpha=2), "alpha of UCBB1 must be > 2; got 2"),
    (lambda: UCBB1([1, np.inf], 0.09, 0.05), "var_cost at position 1 of UCBB1 must be a finite number ≥ 0; got inf"),
    (lambda: UCBB1(0.04, 0.09, 0.07), "cov of UCBB1 must be within ±√(var_cost·var_reward) = ±0.06; got 0.07"),
    (lambda: UCBM1([1, 1], 1, [0, -2]),
     "cov at position 1 of UCBM1 must be within ±√(var_cost·var_reward) = ±1; got -2.0"),
    (lambda: UCBM1([1, 1], [1, 1, 1], 0),
     "var_cost of UCBM1 must be one number or 3 numbers, one per arm; got 2 numbers"),
    (lambda: UCBM1([1, 1], 1, 0).check(1),
     "var_cost of UCBM1 must be one number or 1 number, one per arm; got 2 numbers"),
    (lambda: CatoniRate(1, 0.04, 0.09), "cov of CatoniRate must be given where other second moments are; got None"),
    (lambda: CatoniRate(1, [1, 1], 1, 0).check(3),
     "var_cost of CatoniRate must be one number or 3 numbers, one per arm; got 2 numbers"),
    (lambda: baselines.BKLUCB([0.5, 0.5]).check(3),
     "costs of BKLUCB must be one number or 3 numbers, one per arm; got 2 numbers"),
    (lambda: baselines.UCBBV1(3.0, cost_bound=2.0), "min_cost of UCBBV1 must be > 0 and ≤ 2; got 3.0"),
    (lambda: Fixed(3).check(3), "arm of Fixed must be < 3, the number of arms; got 3"),
    (lambda: policies.Ration(costs={"small": 1.0}),  # type: ignore[arg-type]
     "costs of Ration must be a sequence of numbers, in the order of the arms (only a campaign takes names: "
     "Campaign(…, costs={…})); got {'small': 1.0}"),
    (lambda: policies.Ration(costs=[1.0, 2.0]).check(3),
     "costs of Ration must be one for each of 3 arms; got array([1., 2.])"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), SENTENCES, ids=[message for _, message in SENTENCES])
def test_one_sentence_for_a_bad_parameter(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        make()
    assert str(caught.value) == message


@of_each
def test_every_parameter_is_checked(name: str) -> None:
    for key in GIVEN[name]:
        for value in (math.nan, "much", 1j, -1e300):
            if value != -1e300 or key not in ("cov", "costs"):
                with pytest.raises(BadParameter, match=rf"^{key}( at position 0)? of {name} must be .*; got "):
                    policies.BY_NAME[name](**{**GIVEN[name], key: value})


def test_rounding_may_push_the_covariance_to_its_limit() -> None:
    assert UCBB1(0.1, 0.1, 0.1 + 1e-16).cov[0] > 0.1
    assert UCBB1(0.01, 0.09, 0.1 * 0.3).cov[0] == 0.1 * 0.3
    assert UCBB1(1e-300, 1e-300, 1e-300).cov[0] == 1e-300  # the products would underflow


NO_NUMBERS: list[Any] = [
    *(np.True_, np.array(True), "3", b"3", bytearray(b"3"), memoryview(b"3"), array("b", b"3"), 1j, None, [1.0], float),
    *(np.ma.masked, np.ma.array(3.0), np.array("3"), np.datetime64("2020-01-01"), 10**400),
]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: type(value).__name__)
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter, match=r"^alpha of UCBB2 must be a finite number > 2; got "):
        UCBB2(1, 1, alpha=value)


def test_numbers_of_every_kind_are_accepted() -> None:
    for value in (3, 3.0, np.float32(3), np.int8(3), np.array(3), Fraction(3), Decimal(3)):
        assert UCBB2(1, 1, alpha=value) == UCBB2(1, 1, alpha=3.0)  # type: ignore[arg-type]
    assert UCBB1([10**30, 2], 1, 0).var_cost.tolist() == [1e30, 2.0]
    assert UCBB1(10**30, Fraction(1, 2), 0).var_reward.tolist() == [0.5]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values", [np.ma.array([1.0, 2.0], mask=[False, True]), [10**400], [None, 1], [10**30, True], [10**30, "1"], None]
)
def test_what_is_no_sequence_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(BadParameter, match=r"^var_cost of UCBB1 must be a number or a sequence of finite numbers "):
        UCBB1(values, 1, 0)


def test_one_number_stands_for_every_arm() -> None:
    assert UCBB1(0.04, [0.09, 0.09], 0.05) == UCBB1([0.04] * 2, [0.09] * 2, [0.05] * 2)
    assert UCBB1(0.04, 0.09, 0.05) != UCBB1([0.04] * 2, 0.09, 0.05)
    assert UCBB1(0.04, 0.09, 0.05) != UCBM1(0.04, 0.09, 0.05)


MISTAKES = {
    "class Shadowed(CUCB): alpha = 0.5": "alpha of Shadowed is a parameter: declare it anew",
    "class Method(CUCB): alpha = lambda self: 0.5": "alpha of Method is a parameter: declare it anew",
    "class Late(Fieller): needed: float = number()": "needed of Late needs a default, since alpha, which is before it",
    "class Bare(Parameters): width: float": "width of Bare is not declared: write width",
    "class Taken(Parameters): arguments: float = number()": "arguments cannot be the name of a parameter of Taken",
    "number(over=1)": "a limit of a parameter is one of above, at_least, below, at_most; got over",
    "class Unset(Parameters): size: float = derived()\nUnset()": "complete of Unset must set size, which it declares",
}


@pytest.mark.parametrize("source", MISTAKES)
def test_a_mistake_in_a_declaration_is_a_sentence(source: str) -> None:
    with pytest.raises(TypeError, match=f"^{MISTAKES[source]}"):
        exec(source, {**vars(parameters), **NAMES})


def test_a_variance_factor_left_open_is_chosen_anew() -> None:
    policy = UCBB1(0.04, 0.09, 0.05)
    bounded = policy._replace(cost_bound=1.0, reward_bound=1.0)
    assert bounded == UCBB1(0.04, 0.09, 0.05, cost_bound=1.0, reward_bound=1.0)
    assert (policy.variance_factor, bounded.variance_factor) == (None, None)
    assert (policy.chosen_factor, bounded.chosen_factor) == (0.5, 2.0)
    assert policy._replace(variance_factor=0.7, cost_bound=1.0).chosen_factor == 0.7


def test_constants_of_a_class_are_no_parameters() -> None:
    class Constants(Parameters):
        LIMIT: ClassVar[int] = 3
        width: float = number(default=1.0)
        form = "plain"
        kind: str = choice("a", "b", default="a")

    assert Constants().arguments() == {"width": 1.0, "kind": "a"}


def test_a_budget_is_asked_for_by_name() -> None:
    asking = {name for name in policies.BY_NAME if wants_budget(made(name))}
    two = {"Ration", "LPGreedy", "LPEpsilonFirst", "LPUCB", "LPThompson", "PDBwKRequests"}
    two |= {"LinearRation", "LinUCB", "LinTS"}
    assert asking == {"EpsilonFirst", "Forgetful", "KUBE", "PDBwK"} | two
    for name in asking:
        told = made(name)._replace(budget=9).arguments()
        assert {key: plain(value) for key, value in told.items()} == {**GIVEN[name], "budget": 9.0}
        with pytest.raises(BadParameter, match=f"^budget of {name} must be > 0; got 0"):
            made(name)._replace(budget=0)


def test_the_guide_names_the_policies_that_learn_no_correction() -> None:
    some = {"Ration": policies.Ration()}
    deaf = {name for name in GIVEN if not has(memory_of(some.get(name) or made(name), 2), "revise")}
    page = (Path(__file__).parents[2] / "docs" / "campaigns.md").read_text(encoding="utf-8")
    sentence = re.search(r"all can but those of (.*?) and the policies that look at features", page, re.S)
    assert sentence
    assert set(re.findall(r"`(\w+)`", sentence[1])) == deaf - {"LinearRation", "LinUCB", "LinTS"}
