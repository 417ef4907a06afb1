"""A campaign that is asked and told in turn makes the pulls that the simulator makes, for every deterministic policy.

Costs and rewards are multiples of 1/512: whole units of 1e-9, and exact in floats, so that sums agree to the last bit.
"""

from collections import Counter
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from outlay import Campaign, policies, simulate
from outlay.arms import Empirical, Problem
from outlay.beliefs.sequential import HullMoments
from outlay.campaign.ledger.learner import ORDER, EventRandom
from outlay.engine import loop
from outlay.engine.limits import Limits
from outlay.errors import BadParameter
from outlay.policies import baselines as b
from outlay.policies.protocol import (
    Opening,
    SequentialMemory,
    check_policy,
    memory_of,
    wants_budget,
    wants_requests,
    with_limits,
)
from tests.policies.baselines import examples

ARMS = 4
ROWS = 64
BUDGETS = {"narrow": 240.0, "wide": 60.0, "refunds": 40.0}
REQUESTS = 260
BY_CHANCE = {
    *("BGreedy", "BTS", "CUSUMUCB", "DiscountedThompson", "GaussianThompson", "KUBE", "LinearRation", "LinTS"),
} | {name for name in policies.BY_NAME if name.startswith("LP")}
UNMOVED = {"Fixed", "RoundRobin", "RobustUCBTruncated", "UCBBV1", "UCBBV2"}  # by a few hundred pulls
NARROW = 1 / 512  # variances as small as this let the paper's policies judge after a few hundred pulls
CANDIDATES = [
    policies.UCBB1(0.04, 0.09, 0.05),
    policies.UCBM1(0.04, 0.09, 0.0),
    policies.UCBB2(1.0, 2.5, alpha=2.5),
    policies.UCBB2C(1.0, 2.0, 0.5, factor=1.78),
    policies.Fixed(3),
    policies.RoundRobin(),
    policies.FiellerKnown(0.04, 0.09, 0.0, alpha=0.25),
    policies.Fieller(),
    policies.Fieller(0.25, form="plugin"),
    policies.BernsteinRate(1.0, 2.5, alpha=0.5),
    policies.MedianRate(2.0, tail=1.5),
    policies.CatoniRate(0.25),
    policies.CatoniRate(1.0, 0.04, 0.09, 0.0),
    *examples.ALL,
    policies.UCBB1(NARROW, NARROW, 0.0),
    policies.UCBB2(0.1, 0.1),
    policies.UCBB2C(0.1, 0.1, 0.5),
    policies.MedianRate(0.25),
    policies.FiellerKnown([NARROW] * ARMS, NARROW, 0.0),
    policies.CatoniRate(0.25, NARROW, NARROW, 0.0),
    policies.UCBM1(NARROW / 512, NARROW / 512, 0.0),
    policies.KLRate(),
    policies.KLRate("one", "sample", reward_bound=4.0),
    policies.Frugal(),
    policies.Frugal(slope=1.0, delay=2.0),
    policies.Thrifty(),
    policies.Thrifty(slope=1.0, horizon="unknown"),
    policies.Wary(),
    policies.Ration(),
    policies.LinearRation(features=2),
    b.LinUCB(features=1),
    b.LinTS(features=1),
    policies.Forgetful(60.0),
    b.PDBwKRequests(),
    b.SWUCB(60),
    b.GLRKLUCB(),
    b.BKLUCB([0.5, 0.75, 1.0, 1.5]),
]


def fits(policy: Any) -> bool:
    """Whether it was made for as many arms."""
    try:
        check_policy("simulate", "policy", policy, ARMS)
    except BadParameter:
        return False
    return True


DETERMINISTIC = [policy for policy in CANDIDATES if type(policy).__name__ not in BY_CHANCE and fits(policy)]


class Tape(NamedTuple):
    """What the n-th pull of a run costs and gives, for each arm; with a note of the arms that were pulled."""

    outcomes: NDArray[np.float64]  # [arm, row, cost or reward]
    rows: NDArray[np.int64]  # [pull]
    pulled: list[int]

    def pull(self, arm: int, rng: Any) -> tuple[float, float]:
        cost, reward = self.outcomes[arm, self.rows[len(self.pulled)]].tolist()
        self.pulled.append(int(arm))
        return cost, reward


class NoChance:
    """Random numbers that nobody may draw."""

    def __getattr__(self, verb: str) -> Any:
        raise AssertionError(f"a deterministic policy drew rng.{verb}")


class Ledger:
    """The random numbers of a campaign's asks: after the event that opens it, asks and tells take turns."""

    def __init__(self, tape: Tape) -> None:
        self._tape, self._seq, self._stream = tape, 0, EventRandom(0, 0)

    def __getattr__(self, verb: str) -> Any:
        seq = 2 + 2 * len(self._tape.pulled)
        if seq != self._seq:
            self._seq, self._stream = seq, EventRandom(0, seq)
        return getattr(self._stream, verb)


def outcomes(kind: str) -> NDArray[np.float64]:
    """Pairs of every arm in multiples of 1/512: narrow, wide, or with refunds and failures."""
    rng = np.random.default_rng(len(kind))
    means = np.array([[0.5, 0.4], [0.75, 0.9], [1.0, 0.7], [1.5, 1.9]])[:, None, :]
    spread = {"narrow": 0.03, "wide": 0.5, "refunds": 0.9}[kind]
    pairs = means + spread * (rng.beta(2.0, 2.0, (ARMS, ROWS, 2)) - 0.5)
    if kind == "refunds":
        pairs[:, ::5, 0] -= 1.0
        pairs[:, ::7] = 0.0
    return np.round(pairs * 512) / 512


def requests_for(policy: Any, requests: int = REQUESTS) -> int | None:
    return requests if wants_requests(policy) else None


def simulated(
    policy: Any, tape: Tape, budget: float, rng: Any, requests: int | None = None, dearest: Any = None
) -> None:
    """One run of the loop that the engine compiles, interpreted, to its end; in hard mode where `dearest` is given."""
    policy, memory = with_limits(policy, budget, requests), memory_of(policy, ARMS)
    run = loop.RunState.start(ARMS, dearest)
    if isinstance(memory, SequentialMemory):
        memory.shuffle(cast("Any", EventRandom(0, ORDER)))  # then the loop draws no other
    out = np.zeros((1, ARMS), np.int64), np.zeros(1), np.zeros(1)
    limits = Limits.of(np.array([budget]), None if requests is None else np.array([requests]))
    while not run.marks[loop.PASSED]:
        loop.advance(
            rng, tape, policy, memory, run.pulls, run.totals, run.marks, run.cache, run.affordable, limits.budgets,
            limits.requests, limits.laws, *out, len(tape.rows),
        )  # fmt: skip
        assert run.marks[loop.PULLS] < len(tape.rows)
        memory = memory.enlarged() if memory.full() else memory


def played(policy: Any, tape: Tape, budget: float, order: Any = None) -> None:
    """The same through a campaign, which may be given the order in which arms are opened."""
    names, requests = [str(arm) for arm in range(ARMS)], requests_for(policy)
    campaign = Campaign(names, budget, policy, propensity_draws=0, requests=requests)
    if order is not None:
        opened = opened_of(cast("Any", campaign)._ledger.state().learner.memory)
        opened.order[:], opened.place[:] = order, np.argsort(order)
    while (pull := campaign.ask()) is not None:
        campaign.tell(pull, *tape.pull(int(pull.arm), None))


def opened_of(memory: Any) -> Any:
    """What a memory knows of the arms that are open, and of the order of the others."""
    return memory.arms if isinstance(memory, HullMoments) else memory


def tape_of(kind: str, budget: float) -> Tape:
    return Tape(outcomes(kind), np.random.default_rng(1).integers(0, ROWS, int(40 * budget)), [])


def same_arms(policy: Any, kind: str, budget: float, chance: Any = lambda tape: NoChance()) -> None:
    one, other = tape_of(kind, budget), tape_of(kind, budget)
    simulated(policy, one, budget, chance(one), requests_for(policy))
    played(policy, other, budget)
    assert other.pulled == one.pulled


def test_every_policy_is_here() -> None:
    assert {type(policy).__name__ for policy in DETERMINISTIC} | BY_CHANCE == set(policies.BY_NAME)


@pytest.mark.parametrize("policy", DETERMINISTIC, ids=repr)
@pytest.mark.parametrize(
    ("kind", "budget"),
    [*BUDGETS.items(), *(pytest.param(kind, 2000.0, marks=pytest.mark.soak) for kind in BUDGETS)],
)
def test_a_campaign_pulls_what_the_simulator_pulls(policy: Any, kind: str, budget: float) -> None:
    same_arms(policy, kind, budget)


@pytest.mark.parametrize("policy", [policies.Thrifty(), policies.Wary(), policies.Forgetful(100.0)], ids=repr)
def test_a_change_is_noticed_by_both_at_the_same_pull(policy: Any) -> None:
    """After 100 pulls the arm with the best rate, the last, is only the second best."""
    before, rng = outcomes("narrow"), np.random.default_rng(2)
    pairs = np.concatenate([before, before - [0.0, 0.25] * (np.arange(ARMS) == ARMS - 1)[:, None, None]], axis=1)
    rows = np.concatenate([rng.integers(0, ROWS, 100), rng.integers(ROWS, 2 * ROWS, 2000)])
    one, other = (Tape(pairs, rows, []) for _ in range(2))
    simulated(policy, one, 240.0, NoChance(), requests_for(policy))
    played(policy, other, 240.0)
    assert other.pulled == one.pulled
    last = [arm == ARMS - 1 for arm in one.pulled]
    assert sum(last[50:100]) > 40
    assert sum(last[110:150]) < 10  # 36 where changes are ignored


def test_the_comparison_means_something() -> None:
    """By its end almost every kind of policy that learns has come to prefer an arm."""
    learnt = set()
    for policy in DETERMINISTIC:
        tape = tape_of("narrow", BUDGETS["narrow"])
        simulated(policy, tape, BUDGETS["narrow"], NoChance(), requests_for(policy))
        counts = Counter(tape.pulled)
        if counts.total() > 150 and 0 < 2 * min(counts[arm] for arm in range(ARMS)) < max(counts.values()):
            learnt.add(type(policy).__name__)
    assert learnt | BY_CHANCE | UNMOVED == set(policies.BY_NAME)


@pytest.mark.parametrize("policy", [b.KUBE(), b.BGreedy(explore=5.0), b.GaussianThompson()], ids=repr)
def test_chance_comes_from_the_ledger_alone(policy: Any) -> None:
    """Given the random numbers of the asks, the simulator makes the campaign's pulls."""
    with pytest.raises(AssertionError, match="a deterministic policy drew"):
        same_arms(policy, "wide", 50.0)
    same_arms(policy, "wide", 150.0, Ledger)


def test_without_features_the_rule_for_them_chooses_alike_too() -> None:
    for kind, budget in BUDGETS.items():
        same_arms(policies.LinearRation(features=2), kind, budget, Ledger)


@pytest.mark.soak  # every policy is compiled: seconds each
@pytest.mark.parametrize("policy", DETERMINISTIC, ids=repr)
def test_a_campaign_pulls_what_compiled_code_pulls(policy: Any) -> None:
    """A deterministic policy leaves the run's random numbers to the arms: one for each pull, the row of the log.

    Before them comes the order of the arms, where they are opened one by one.
    """
    log, top = outcomes("wide"), 300.0
    limits = [top] if wants_budget(policy) else [25.0, 75.0, 150.0, 299.5, top]
    problem, requests = Problem([Empirical(*pairs.T) for pairs in log]), requests_for(policy)
    result = simulate(problem, policy, limits, runs=1, seed=5, requests=requests)
    rng, memory, order = np.random.default_rng(np.random.SeedSequence(5, spawn_key=(0,))), memory_of(policy, ARMS), None
    if isinstance(policy, (Opening, policies.Ration)):  # others may have such a memory, and no use for an order
        cast("Any", memory).shuffle(rng)
        order = opened_of(memory).order
    uniforms = rng.random(int(40 * top))
    tape = Tape(log, (uniforms * ROWS).astype(np.int64), [])
    played(policy, tape, top, order)
    spent = np.cumsum([log[arm, row, 0] for arm, row in zip(tape.pulled, tape.rows, strict=False)])
    for limit, pulls in zip(limits, result.pulls.reshape(len(limits), ARMS), strict=True):
        until = int(np.argmax([*(spent > limit), True])) + 1  # or until all requests were served
        assert np.bincount(tape.pulled[:until], minlength=ARMS).tolist() == pulls.tolist()
