"""What constructors accept and refuse, and policies as values."""

import copy
import inspect
import pickle
from array import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from outlay.errors import BadParameter
from outlay.policies import (
    UCBB1,
    UCBB2,
    UCBB2C,
    UCBM1,
    BernsteinRate,
    CatoniRate,
    Fieller,
    FiellerKnown,
    Fixed,
    MedianRate,
    RoundRobin,
)

EXAMPLES = [
    UCBB1(0.04, 0.09, 0.05),
    UCBB1([0.04, 0.1], [0.09, 0.2], -0.05, alpha=3, cost_bound=1, variance_factor=1.5),
    UCBM1([0.04, 0.1], 0.09, [0.0, 0.01]),
    UCBB2(1, 2.5, alpha=2.5),
    UCBB2C(1.0, 2.0, 0.5, factor=1.78),
    Fixed(3),
    RoundRobin(),
    FiellerKnown([0.04, 0.1], 0.09, [0.0, 0.01], alpha=0.25),
    Fieller(),
    Fieller(0.25, form="plugin"),
    BernsteinRate(1, 2.5, alpha=0.5),
    MedianRate(2, tail=1.5),
    CatoniRate(0.25),
    CatoniRate(1, [0.04, 0.1], 0.09, 0.0),
]
ANYTHING: dict[str, Any] = {
    "text": "2.5",
    "nothing": None,
    "half": 1.5,
    "Student": "Student",
}  # what types forbid and users pass
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: UCBB1(0.04, 0.09, 0.05, alpha=2), "alpha of UCBB1 must be > 2; got 2"),
    (lambda: UCBB1(0.04, 0.09, 0.05, min_cost=0), "min_cost of UCBB1 must be > 0; got 0"),
    (lambda: UCBB1(0.04, 0.09, 0.05, cost_bound=-1), "cost_bound of UCBB1 must be ≥ 0; got -1"),
    (lambda: UCBB1(0.04, 0.09, 0.05, reward_bound=float("nan")),
     "reward_bound of UCBB1 must be a finite number ≥ 0; got nan"),
    (lambda: UCBB1(0.04, 0.09, 0.05, variance_factor=0), "variance_factor of UCBB1 must be > 0; got 0"),
    (lambda: UCBB1(0.04, 0.09, 0.05, factor=-1.4), "factor of UCBB1 must be > 0; got -1.4"),
    (lambda: UCBB1(-0.04, 0.09, 0.05), "var_cost of UCBB1 must be a finite number ≥ 0; got -0.04"),
    (lambda: UCBB1([1, np.inf], 0.09, 0.05), "var_cost at position 1 of UCBB1 must be a finite number ≥ 0; got inf"),
    (lambda: UCBB1(0.04, "a", 0.05),
     "var_reward of UCBB1 must be a number or a sequence of finite numbers ≥ 0; got 'a'"),
    (lambda: UCBB1(0.04, 0.09, float("inf")), "cov of UCBB1 must be a finite number; got inf"),
    (lambda: UCBB1(0.04, 0.09, 0.07), "cov of UCBB1 must be within ±√(var_cost·var_reward) = ±0.06; got 0.07"),
    (lambda: UCBM1([1, 1], 1, [0, -2]),
     "cov at position 1 of UCBM1 must be within ±√(var_cost·var_reward) = ±1; got -2.0"),
    (lambda: UCBM1([1, 1], [1, 1, 1], 0),
     "var_cost of UCBM1 must be one number or 3 numbers, one per arm; got 2 numbers"),
    (lambda: UCBM1(1, 1, 0, alpha=1.5), "alpha of UCBM1 must be > 2; got 1.5"),
    (lambda: UCBM1(1, 1, 0, min_cost=-1e-3), "min_cost of UCBM1 must be > 0; got -0.001"),
    (lambda: UCBB2(float("inf"), 1), "cost_bound of UCBB2 must be a finite number > 0; got inf"),
    (lambda: UCBB2(1, 0), "reward_bound of UCBB2 must be > 0; got 0"),
    (lambda: UCBB2(1, 1, alpha=ANYTHING["text"]), "alpha of UCBB2 must be a finite number > 2; got '2.5'"),
    (lambda: UCBB2(1, 1, factor=0), "factor of UCBB2 must be > 0; got 0"),
    (lambda: UCBB2C(1, 1, -0.5), "slope_bound of UCBB2C must be ≥ 0; got -0.5"),
    (lambda: UCBB2C(0, 1, 0.5), "cost_bound of UCBB2C must be > 0; got 0"),
    (lambda: UCBB2C(1, 1, 0.5, min_cost=ANYTHING["nothing"]),
     "min_cost of UCBB2C must be a finite number > 0; got None"),
    (lambda: FiellerKnown(0.04, 0.09, 0.05, alpha=0), "alpha of FiellerKnown must be > 0; got 0"),
    (lambda: FiellerKnown(1, 1, 1.5), "cov of FiellerKnown must be within ±√(var_cost·var_reward) = ±1; got 1.5"),
    (lambda: FiellerKnown([1, 1], 1, 0).check(3),
     "var_cost of FiellerKnown must be one number or 3 numbers, one per arm; got 2 numbers"),
    (lambda: Fieller(alpha=-1), "alpha of Fieller must be > 0; got -1"),
    (lambda: Fieller(form=ANYTHING["Student"]), "form of Fieller must be one of student, plugin; got 'Student'"),
    (lambda: Fieller(form=ANYTHING["half"]), "form of Fieller must be one of student, plugin; got 1.5"),
    (lambda: BernsteinRate(-1, 1), "cost_bound of BernsteinRate must be ≥ 0; got -1"),
    (lambda: BernsteinRate(1, float("inf")), "reward_bound of BernsteinRate must be a finite number ≥ 0; got inf"),
    (lambda: BernsteinRate(1, 1, 0), "alpha of BernsteinRate must be > 0; got 0"),
    (lambda: MedianRate(0), "alpha of MedianRate must be > 0; got 0"),
    (lambda: MedianRate(tail=1), "tail of MedianRate must be > 1 and ≤ 2; got 1"),
    (lambda: MedianRate(tail=2.5), "tail of MedianRate must be > 1 and ≤ 2; got 2.5"),
    (lambda: CatoniRate(0), "alpha of CatoniRate must be > 0; got 0"),
    (lambda: CatoniRate(1, 0.04, 0.09), "cov of CatoniRate must be given where other second moments are; got None"),
    (lambda: CatoniRate(1, [1, 1], 1, 0).check(3),
     "var_cost of CatoniRate must be one number or 3 numbers, one per arm; got 2 numbers"),
    (lambda: Fixed(-1), "arm of Fixed must be a whole number ≥ 0; got -1"),
    (lambda: Fixed(ANYTHING["half"]), "arm of Fixed must be a whole number ≥ 0; got 1.5"),
    (lambda: UCBB1([1, 1], 1, 0).check(3),
     "var_cost of UCBB1 must be one number or 3 numbers, one per arm; got 2 numbers"),
    (lambda: UCBM1([1, 1], 1, 0).check(1),
     "var_cost of UCBM1 must be one number or 1 number, one per arm; got 2 numbers"),
    (lambda: Fixed(3).check(3), "arm of Fixed must be < 3, the number of arms; got 3"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_one_sentence_for_a_bad_parameter(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        make()
    assert str(caught.value) == message


def test_number_of_arms_accepted() -> None:
    UCBB1(1, 1, 0).check(7)
    UCBB1([1, 1], 1, 0).check(2)
    UCBM1([1, 1], 1, 0).check(2)
    Fixed(2).check(3)
    FiellerKnown([1, 1], 1, 0).check(2)
    CatoniRate().check(7)
    CatoniRate(1, [1, 1], 1, 0).check(2)


def test_rounding_may_push_the_covariance_to_its_limit() -> None:
    assert UCBB1(0.1, 0.1, 0.1 + 1e-16).cov[0] > 0.1
    assert UCBB1(0.01, 0.09, 0.1 * 0.3).cov[0] == 0.1 * 0.3
    assert UCBB1(1e-300, 1e-300, 1e-300).cov[0] == 1e-300  # the products would underflow


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_policies_are_values(policy: Any) -> None:
    for twin in (eval(repr(policy)), pickle.loads(pickle.dumps(policy)), copy.copy(policy), copy.deepcopy(policy)):
        assert twin == policy
        assert hash(twin) == hash(policy)
        assert repr(twin) == repr(policy)
        for value in twin:
            assert not isinstance(value, np.ndarray) or not value.flags.writeable
    assert type(policy)(**policy.arguments()) == policy
    assert [p for p in EXAMPLES if p == policy] == [policy]


@pytest.mark.parametrize("policy", EXAMPLES, ids=repr)
def test_fields_are_numbers(policy: Any) -> None:
    arguments = tuple(inspect.signature(type(policy)).parameters)
    assert tuple(policy.arguments()) == arguments
    for value in policy:
        assert type(value) in (float, int, bool) or value.dtype == np.float64
    assert sum(hasattr(policy, name) for name in ("score", "sample", "choose")) == 1


def test_a_variance_factor_left_open_is_chosen_anew() -> None:
    policy = UCBB1(0.04, 0.09, 0.05)
    assert policy.chosen_factor == 0.5
    assert policy.variance_factor is None
    assert "variance_factor=None" in repr(policy)
    bounded = policy._replace(cost_bound=1.0, reward_bound=1.0)
    assert bounded == UCBB1(0.04, 0.09, 0.05, cost_bound=1.0, reward_bound=1.0)
    assert bounded.chosen_factor == 2.0
    assert bounded.variance_factor is None
    given = UCBB1(0.04, 0.09, 0.05, variance_factor=0.5)
    assert given._replace(cost_bound=1.0).variance_factor == given._replace(cost_bound=1.0).chosen_factor == 0.5
    assert "variance_factor=0.5" in repr(given)


def test_a_form_is_spoken_of_by_its_name() -> None:
    assert Fieller().form == "student"
    assert repr(Fieller()) == "Fieller(alpha=1.0, form='student')"
    assert Fieller()._replace(form="plugin") == Fieller(form="plugin") != Fieller()
    assert Fieller(form="plugin")._replace(alpha=2.0).arguments() == {"alpha": 2.0, "form": "plugin"}


def test_second_moments_of_catoni_may_be_left_open() -> None:
    assert CatoniRate().var_cost is CatoniRate().var_reward is CatoniRate().cov is None
    assert repr(CatoniRate()) == "CatoniRate(alpha=1.0, var_cost=None, var_reward=None, cov=None)"
    assert CatoniRate()._replace(var_cost=1, var_reward=2, cov=0) == CatoniRate(1.0, 1, 2, 0) != CatoniRate()


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


def test_long_arrays_are_shown_by_their_first_numbers() -> None:
    policy = UCBM1([1.0] * 65, 1, 0)
    assert repr(policy).startswith("UCBM1(var_cost=[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, <59 more>], var_reward=[1.0, ")
    assert len(repr(policy)) < 250
    assert eval(policy.call()) == policy


def test_one_number_stands_for_every_arm() -> None:
    assert UCBB1(0.04, [0.09, 0.09], 0.05) == UCBB1([0.04] * 2, [0.09] * 2, [0.05] * 2)
    assert UCBB1(0.04, 0.09, 0.05) != UCBB1([0.04] * 2, 0.09, 0.05)
    assert UCBB1(0.04, 0.09, 0.05) != UCBM1(0.04, 0.09, 0.05)


def test_given_arrays_are_copied() -> None:
    given = np.array([0.04, 0.05])
    policy = UCBB1(given, 0.09, 0.01)
    given[0] = 9.0
    assert policy.var_cost.tolist() == [0.04, 0.05]
