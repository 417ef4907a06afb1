"""What KL-rate and Frugal choose: in other units, at the edges, with arms that are free or pay nothing."""

from typing import Any

import numpy as np
import pytest
from tests.policies.tapes import ALL, Run, Tape, coins, free, gaussian, heavy, losses, refunds, scaled, taped

from outlay.policies import Frugal


def in_units(policy: Any, reward: float) -> Any:
    given = policy.arguments().get("reward_bound")
    return policy if given is None else policy._replace(reward_bound=given * reward)


@pytest.mark.parametrize(
    "tape",
    [gaussian, refunds, *(pytest.param(tape, marks=pytest.mark.soak) for tape in (coins, losses, heavy, free))],
    ids=lambda tape: tape.__name__,
)
def test_units_change_no_choice(tape: Tape) -> None:
    """By powers of two none at all, from 1e-15 to 1e15."""
    for seed, policy in enumerate(ALL):
        samples = taped(tape, seed)
        path = Run(policy, scaled(samples, 1.0, 1.0), 4, 100).chosen
        assert len(set(path)) > 1
        for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**50, 2.0**-50), (2.0**-50, 2.0**50)):
            other = Run(in_units(policy, reward), scaled(samples, cost, reward), 4, 100)
            assert other.chosen == path, (policy, cost, reward)


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_edges(policy: Any) -> None:
    assert Run(policy, lambda arm, k: (1.0, 0.5), 1, 20).pulls.tolist() == [20]
    assert Run(policy, scaled(taped(gaussian, 0), 1.0, 1.0), 4, 4).chosen == [0, 1, 2, 3]
    alike = Run(policy, lambda arm, k: (2.0, 0.7), 4, 40)
    assert alike.pulls.tolist() == [10] * 4  # ties to the least spend, then index
    assert Run(policy, lambda arm, k: (0.5 + k % 2, k % 3), 3, 90).pulls.tolist() == [30] * 3
    assert Run(policy, lambda arm, k: (-1.0, 0.1 * k), 2, 60).pulls.tolist() == [30] * 2
    apart = Run(policy, lambda arm, k: (1.0, 1.0 + arm), 3, 400).pulls  # never varies: 1, 2 and 3 for the same cost
    assert apart[2] > 370
    assert min(Run(policy, lambda arm, k: (0.0, 0.0), 3, 90).pulls) == 30
    dead = Run(policy, lambda arm, k: (1.0, float(arm)) if arm else (1.0, 0.0), 2, 300).pulls
    assert dead[0] < 20


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_while_nothing_pays_spend_is_equalised(policy: Any) -> None:
    """Frugal counts a dearer arm's spend for less, by the power ¾ of its cost."""
    prices = np.array([1.0, 4.0, 16.0])
    spend = np.array(Run(policy, lambda arm, k: (prices[arm], 0.0), 3, 300).pulls) * prices
    if isinstance(policy, Frugal):
        spend /= prices**0.75
    assert spend.max() - spend.min() <= prices.max()


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_a_free_arm_that_pays_nothing_is_not_pulled_for_ever(policy: Any) -> None:
    pulls = Run(policy, lambda arm, k: (0.0, 0.0) if arm else (1.0, float(k % 2)), 2, 1000).pulls
    assert pulls[1] < 300
