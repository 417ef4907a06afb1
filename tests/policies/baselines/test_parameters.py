"""What constructors accept and refuse, and policies as values."""

import copy
import inspect
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.policies.baselines.examples import ALL

from outlay.errors import BadParameter
from outlay.policies import baselines as b

HALF: Any = 1.5
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: b.EpsilonFirst(0), "epsilon of EpsilonFirst must be > 0 and < 1; got 0"),
    (lambda: b.EpsilonFirst(1.0), "epsilon of EpsilonFirst must be > 0 and < 1; got 1.0"),
    (lambda: b.EpsilonFirst(0.1, budget=0), "budget of EpsilonFirst must be > 0; got 0"),
    (lambda: b.KUBE(budget=math.inf), "budget of KUBE must be a finite number > 0; got inf"),
    (lambda: b.KUBE(0), "reward_bound of KUBE must be > 0; got 0"),
    (lambda: b.FractionalKUBE(-1), "reward_bound of FractionalKUBE must be > 0; got -1"),
    (lambda: b.UCBBV1(0), "min_cost of UCBBV1 must be > 0 and ≤ 1; got 0"),
    (lambda: b.UCBBV1(math.nan), "min_cost of UCBBV1 must be a finite number > 0 and ≤ 1; got nan"),
    (lambda: b.UCBBV1(3.0, cost_bound=2.0), "min_cost of UCBBV1 must be > 0 and ≤ 2; got 3.0"),
    (lambda: b.UCBBV1(0.1, reward_bound=0), "reward_bound of UCBBV1 must be > 0; got 0"),
    (lambda: b.UCBBV2(0), "cost_bound of UCBBV2 must be > 0; got 0"),
    (lambda: b.BTS(1, math.nan), "reward_bound of BTS must be a finite number > 0; got nan"),
    (lambda: b.BudgetUCB(2), "min_cost of BudgetUCB must be > 0 and ≤ 1; got 2"),
    (lambda: b.IUCB(0), "alpha of IUCB must be > 0; got 0"),
    (lambda: b.CUCB(-1), "alpha of CUCB must be > 0; got -1"),
    (lambda: b.MUCB(cost_bound=0), "cost_bound of MUCB must be > 0; got 0"),
    (lambda: b.BGreedy(0), "explore of BGreedy must be > 0; got 0"),
    (lambda: b.UCBAIR(0), "beta of UCBAIR must be > 0; got 0"),
    (lambda: b.UCBAIR(explore=0), "explore of UCBAIR must be > 0; got 0"),
    (lambda: b.UCBAIR(bound=-1), "bound of UCBAIR must be ≥ 0; got -1"),
    (lambda: b.KLUCBSC(loglog=-1), "loglog of KLUCBSC must be ≥ 0; got -1"),
    (lambda: b.UCBSCPlus(cost_bound=-1), "cost_bound of UCBSCPlus must be > 0; got -1"),
    (lambda: b.OmegaUCB(0), "rho of OmegaUCB must be > 0; got 0"),
    (lambda: b.OmegaStarUCB(wait=-1), "wait of OmegaStarUCB must be a whole number ≥ 0; got -1"),
    (lambda: b.OmegaStarUCB(wait=HALF), "wait of OmegaStarUCB must be a whole number ≥ 0; got 1.5"),
    (lambda: b.PDBwK(factor=0), "factor of PDBwK must be > 0; got 0"),
    (lambda: b.RobustUCBMedian(0, 1), "var_cost of RobustUCBMedian must be > 0; got 0"),
    (lambda: b.RobustUCBTruncated(1, 0), "reward_moment of RobustUCBTruncated must be > 0; got 0"),
    (lambda: b.BKLUCB([0.5, 0.0]), "costs at position 1 of BKLUCB must be a finite number > 0; got 0.0"),
    (lambda: b.BKLUCB(0.5, loglog=-1), "loglog of BKLUCB must be ≥ 0; got -1"),
    (lambda: b.BKLUCB([0.5, 0.5]).check(3),
     "costs of BKLUCB must be one number or 3 numbers, one per arm; got 2 numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_one_sentence_for_a_bad_parameter(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_policies_are_values(policy: Any) -> None:
    for twin in (eval(repr(policy), vars(b).copy()), pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        assert twin == policy
        assert hash(twin) == hash(policy)
        assert repr(twin) == repr(policy)
    assert type(policy)(**policy.arguments()) == policy
    assert [p for p in ALL if p == policy] == [policy]
    assert tuple(policy.arguments()) == tuple(inspect.signature(type(policy)).parameters)
    assert all(type(value) in (float, int) or value.dtype == np.float64 for value in policy)
    assert sum(hasattr(policy, name) for name in ("score", "sample", "choose")) == 1


@pytest.mark.parametrize("policy", [b.EpsilonFirst(), b.KUBE(), b.PDBwK()], ids=repr)
def test_a_budget_is_left_open_until_it_is_told(policy: Any) -> None:
    assert policy.budget is None
    assert policy.known_budget == math.inf
    assert "budget=None" in repr(policy)
    assert policy._replace(budget=7.0).budget == policy._replace(budget=7.0).known_budget == 7.0
    assert "budget=7.0" in repr(policy._replace(budget=7.0))


def test_number_of_arms_accepted() -> None:
    b.BKLUCB(0.5).check(7)
    b.BKLUCB([0.5, 1.0]).check(2)
