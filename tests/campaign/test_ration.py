"""Ration in a campaign's learner: with the fields filled in, pulls under way imagined, the choices of a plain run."""

import numpy as np
import pytest

from outlay.beliefs import HullMoments
from outlay.campaign.ledger.learner import EventRandom, Learner
from outlay.formulas.argmax import Now, log_of
from outlay.policies import Ration

ARMS = [(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)]


def test_the_choices_of_a_plain_run() -> None:
    """Costs are told, so that nothing is drawn; the learner keeps the books that the policy is asked with."""
    policy = Ration(costs=[cost for cost, _ in ARMS], requests=300)
    learner, stream = Learner(policy, 3, 75.0), EventRandom(0, 0)
    told, memory = policy._replace(budget=75.0), policy.memory(3)
    rng, spent = np.random.default_rng(0), 0.0
    for n in range(300):
        arm = learner.choose([0, 1, 2], {}, spent, stream, n)
        assert arm == told.choose(memory, Now(n, log_of(n), spent), np.random.default_rng(0)), n
        cost, reward = ARMS[arm][0], float(rng.random() < ARMS[arm][1])
        learner.observe(arm, cost, reward, stream)
        memory.observe(arm, cost, reward)
        spent += cost
    assert 70.0 < spent <= 76.0


def test_pulls_under_way_count_as_made() -> None:
    """A hundred asks at once are mixed as a hundred pulls would be, and nothing of that is learned."""
    learner, stream, under_way = Learner(Ration(requests=400), 3, 100.0), EventRandom(1, 0), dict[int, int]()
    for arm, (cost, reward) in enumerate(ARMS):
        for _ in range(20):
            learner.observe(arm, cost, reward, stream)
    spent = 20 * sum(cost for cost, _ in ARMS)
    before = learner.memory.costs.copy(), learner.memory.pulls.copy()
    for n in range(60, 160):
        arm = learner.choose([0, 1, 2], under_way, spent, stream, n)
        under_way[arm] = under_way.get(arm, 0) + 1
    assert isinstance(learner.memory, HullMoments)
    assert all(np.array_equal(one, other) for one, other in zip(before, learner.memory[2:0:-1], strict=True))
    assert under_way.get(0, 0) > 20
    assert under_way.get(1, 0) > 20


@pytest.mark.parametrize(("closed", "money", "expected"), [(2, 70.0, {1}), (1, 25.0, {0, 2}), (0, 25.0, {1})])
def test_what_is_left_is_shared_out_among_arms_that_are_open(closed: int, money: float, expected: set[int]) -> None:
    """Not what the best rate of them would do: with 0.7 for each request and the dearest arm closed, the middle one."""
    learner, stream = Learner(Ration(requests=400), 3, money + 60.0), EventRandom(1, 0)
    for arm, (cost, reward) in enumerate(ARMS):
        for _ in range(100):
            learner.observe(arm, cost, reward, stream)
    chosen, spent = set(), 60.0
    for n in range(300, 400):
        arm = learner.choose([arm for arm in range(3) if arm != closed], {}, spent, stream, n)
        learner.observe(arm, *ARMS[arm], stream)
        spent += ARMS[arm][0]
        chosen.add(arm)
    assert chosen == expected
