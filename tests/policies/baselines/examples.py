"""A policy or two of every class, and what numba must know to compile them."""

from typing import Any

import pytest

from outlay.policies import baselines as b

SCORED: list[Any] = [
    b.Greedy(),
    b.FractionalKUBE(),
    b.FractionalKUBE(reward_bound=3.0),
    b.UCBBV1(0.25),
    b.UCBBV1(0.5, cost_bound=2.0, reward_bound=3.0),
    b.BudgetUCB(0.25),
    b.BudgetUCB(1e-3, cost_bound=2.0, reward_bound=3.0),
    b.IUCB(),
    b.CUCB(),
    b.MUCB(),
    b.MUCB(alpha=1.0, cost_bound=2.0, reward_bound=3.0),
    b.UCBSCPlus(),
    b.UCBSCPlus(cost_bound=2.0, reward_bound=3.0),
    b.OmegaUCB(),
    b.OmegaUCB(rho=1.0, cost_bound=2.0, reward_bound=3.0),
    b.OmegaStarUCB(),
    b.OmegaStarUCB(rho=1.0, wait=0, cost_bound=2.0, reward_bound=3.0),
    b.RootGreedy(),
    b.UCBAIR(),
    b.UCBAIR(beta=0.5, explore=0.25, bound=3.0),
    b.BKLUCB(0.5),
    b.BKLUCB([0.5, 1.0, 2.0], reward_bound=3.0, loglog=0.0),
    b.KLUCBSC(),
    b.KLUCBSC(cost_bound=2.0, reward_bound=3.0, loglog=0.0),
]
WITH_MEMORY: list[Any] = [b.RobustUCBMedian(1e-3, 1e-3), b.RobustUCBTruncated(1.0, 1.0)]
SAMPLED: list[Any] = [b.GaussianThompson()]
CHOOSING: list[Any] = [
    b.EpsilonFirst(),
    b.EpsilonFirst(0.2, budget=50.0),
    b.KUBE(),
    b.KUBE(reward_bound=2.0, budget=50.0),
    b.UCBBV2(),
    b.UCBBV2(2.0, 3.0),
    b.BTS(),
    b.BTS(2.0, 3.0),
    b.BGreedy(),
    b.BGreedy(explore=5.0),
    b.PDBwK(),
    b.PDBwK(2.0, 3.0, factor=0.5, budget=500.0),
]
ALL = [*SCORED, *WITH_MEMORY, *SAMPLED, *CHOOSING]


def some(policies: list[Any]) -> list[Any]:
    """Every third of them, and the rest in `make soak`: for tests that compile each."""
    return [pytest.param(policy, marks=() if i % 3 == 0 else pytest.mark.soak) for i, policy in enumerate(policies)]
