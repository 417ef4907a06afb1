"""What every policy must keep to."""

from typing import Any

import pytest
from tests.policies.baselines.examples import some

from outlay import simulate
from outlay.arms import catalogue
from outlay.policies import baselines as b
from outlay.testing import PolicyContract

H = catalogue.load("H")
BOUNDS: dict[str, float] = {"cost_bound": 2.0, "reward_bound": 3.0}
LAZY: list[Any] = [
    *(b.Greedy(), b.FractionalKUBE(3.0), b.UCBBV1(0.5, **BOUNDS), b.BudgetUCB(1e-3, **BOUNDS)),
    *(b.IUCB(**BOUNDS), b.CUCB(**BOUNDS), b.MUCB(1.0, **BOUNDS), b.UCBSCPlus(**BOUNDS), b.OmegaUCB(1.0, **BOUNDS)),
    *(b.OmegaStarUCB(0.25, 30, **BOUNDS), b.OmegaStarUCB(1.0, 0, **BOUNDS), b.BKLUCB(0.5, reward_bound=3.0)),
    b.KLUCBSC(**BOUNDS),
    *(b.RobustUCBMedian(1e-5, 1e-5), b.RobustUCBTruncated(3e-3, 3e-3)),
    *(b.RootGreedy(), b.UCBAIR(), b.UCBAIR(2.0, 0.25, bound=3.0)),
]


def contract_of(policy: Any) -> PolicyContract:
    contract = PolicyContract()
    contract.policy = policy
    return contract


@pytest.mark.parametrize("policy", some(LAZY), ids=repr)
def test_a_score_never_falls_within_a_phase(policy: Any) -> None:
    contract_of(policy).test_a_score_never_falls_within_a_phase()
    contract_of(policy).test_a_phase_never_falls()


@pytest.mark.parametrize("policy", some(LAZY), ids=repr)
def test_lazy_choices_are_those_of_a_full_scan(policy: Any) -> None:
    contract_of(policy).test_pulling_one_arm_leaves_the_beliefs_of_the_others()
    contract_of(policy).test_lazy_choices_are_those_of_a_full_scan()


def test_a_policy_that_looks_at_the_budget_is_told_each() -> None:
    """ε-first explores with half of each budget, so the best arm gets about half of the pulls at each."""
    result = simulate(H, b.EpsilonFirst(0.5), [100.0, 400.0], runs=40)
    least = result.pulls[0].min(axis=-1).mean(axis=0)
    assert least == pytest.approx([100 * 0.5 / H.mean_costs.sum(), 400 * 0.5 / H.mean_costs.sum()], rel=0.1)
