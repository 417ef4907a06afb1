"""Hard mode: the budget is never passed, and near its end the simulator chooses as a campaign in hard mode does."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import Campaign, Problem, arms, policies
from outlay.engine.oracle import trace
from outlay.errors import BadParameter
from tests.campaign.test_simulator import DETERMINISTIC, NoChance, Tape, outcomes, requests_for, simulated, tape_of

STAIRS = Problem([arms.Constant(3.0, 1.0), arms.Constant(5.0, 2.0)])
COINS = Problem([arms.Bernoulli(0.3, 0.5), arms.Uniform(0.1, 0.4, 0.0, 0.4), arms.Constant(1.5, 1.9)])
BUDGETS = {"narrow": 60.0, "wide": 30.0, "refunds": 20.0}
REQUESTS = 70


def played(policy: Any, tape: Tape, budget: float, dearest: Any) -> None:
    """The same through a campaign."""
    most = {str(arm): float(cost) for arm, cost in enumerate(dearest)}
    campaign = Campaign(most, budget, policy, mode="hard", propensity_draws=0, requests=requests_for(policy, REQUESTS))
    while (pull := campaign.ask()) is not None:
        campaign.tell(pull, *tape.pull(int(pull.arm), None))


@pytest.mark.parametrize("policy", DETERMINISTIC, ids=repr)
@pytest.mark.parametrize("kind", BUDGETS)
def test_a_campaign_in_hard_mode_pulls_what_the_simulator_pulls(policy: Any, kind: str) -> None:
    """Arms fit no longer one by one: the dearest of arm k costs k times as much as declared elsewhere."""
    budget, log = BUDGETS[kind], outcomes(kind)
    dearest = np.maximum(log[:, :, 0].max(axis=1), 0) * np.array([1.0, 2.0, 4.0, 8.0])
    one, other = tape_of(kind, budget), tape_of(kind, budget)
    simulated(policy, one, budget, NoChance(), requests_for(policy, REQUESTS), dearest)
    assert log[one.pulled, one.rows[: len(one.pulled)], 0].sum() <= budget
    played(policy, other, budget, dearest)
    assert other.pulled == one.pulled
    assert len(set(one.pulled)) > 1 or type(policy).__name__ == "Fixed"


PLAYERS: list[Any] = [
    policies.UCBB1(0.01, 0.01, 0.0),
    policies.Thrifty(),
    policies.Frugal(),
    policies.RoundRobin(),
    policies.Ration(),
    policies.UCBM1(0.01, 0.01, 0.0),
    policies.baselines.BTS(),
]


EVERY_DAY = ("RoundRobin",)  # each is a compilation


@pytest.mark.parametrize(
    "policy",
    [pytest.param(p, marks=() if type(p).__name__ in EVERY_DAY else pytest.mark.soak) for p in PLAYERS],
    ids=repr,
)
def test_compiled_runs_are_those_of_the_interpreter_and_never_pass(policy: Any) -> None:
    budgets = [0.2, 1.0, 7.0, 20.0]
    result = outlay.simulate(COINS, policy, budgets, requests=50, runs=200, mode="hard", seed=3)
    assert (result.cost <= result.budgets).all()
    assert (result.pulls.sum(axis=-1) <= 50).all()
    assert result.mode == "hard"
    for run in range(3):
        for j, budget in enumerate(budgets):
            steps = list(trace(COINS, policy, budget, seed=3, run=run, requests=50, mode="hard"))
            pulls = np.bincount(np.array([step.arm for step in steps], np.int64), minlength=3)
            assert pulls.tolist() == result.pulls[0, run, j].tolist()


@pytest.mark.interpreted
def test_a_budget_is_spent_to_the_last_cent_that_fits() -> None:
    result = outlay.simulate(STAIRS, policies.RoundRobin(), [2.0, 4.0, 8.0, 9.0, 11.0], mode="hard", runs=2)
    assert result.pulls[0, 0].tolist() == [[0, 0], [1, 0], [1, 1], [1, 1], [2, 1]]
    tenths = Problem([arms.Constant(0.1, 1.0)])
    spent = outlay.simulate(tenths, policies.Fixed(0), [0.3, 1.0, 100.0], mode="hard", runs=1)
    assert (spent.cost <= spent.budgets).all()
    assert spent.pulls.ravel().tolist() == [2, 10, 1000], "0.1 + 0.1 + 0.1 > 0.3 in floats"


@pytest.mark.interpreted
def test_runs_that_end_without_a_pull_are_runs() -> None:
    """Also where each is played by itself, as interpreted ones are."""
    assert not outlay.simulate(STAIRS, policies.RoundRobin(), [1.0, 2.0], mode="hard", runs=3).pulls.any()


@pytest.mark.interpreted
def test_the_oracle_is_held_to_the_budget() -> None:
    result = outlay.simulate(STAIRS, policies.Fixed(0), [9.0, 14.0], mode="hard", runs=2)
    assert result.oracle_reward.tolist() == [[2.0, 4.0]] * 2


@pytest.mark.interpreted
def test_an_arm_that_is_none_is_named_near_the_end_too() -> None:
    class Astray(NamedTuple):
        x: float = 0.0

        def choose(self, memory: Any, now: Any, rng: Any) -> int:
            return 7 if 3.0 <= now.spent <= 6.0 else 0  # past what a trial of the policy spends, none

    with pytest.raises(BadParameter, match="the arm that choose returns of Astray must be 0 to 1; got 7"):
        outlay.simulate(STAIRS, Astray(), [6.0], mode="hard", runs=1)
