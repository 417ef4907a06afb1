"""What a policy weighs before it names an arm, by its own formulas: for people who ask why.

A policy with `excess` compares every arm with the leader: the evidence E against it with what is enough. Only their
difference decides, so that is what `excess` returns; for an arm that has paid without limit E is 0, and what remains is
what is enough.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from outlay.formulas.argmax import Counts, Now, leader_of, log_of
from outlay.formulas.pricing import NOTHING, excess_in_dues, hull_position, known_cost, required_in_dues
from outlay.policies.protocol import (
    Compared,
    LeaderMemory,
    Memory,
    Policy,
    Sampled,
    Scored,
    SequentialMemory,
    policy_kind,
)
from outlay.policies.ration import Ration

DRAWS = 100  # of a policy that leaves it to chance
SEED = 0

Means = Literal["evidence", "score", "chance", "its own rule"]


class Weight(NamedTuple):
    """What speaks for or against an arm; None where the policy does not say.

    `evidence` against it is in natural units, ∞ where no doubt is left. Above `enough` the arm is left alone; `enough`
    is 0, and `evidence` None, for an arm on which at least as much was spent as on the leader. `score` is what a policy
    ranks arms by, or the share of draws in which it would come first.
    """

    arm: int
    evidence: float | None = None
    enough: float | None = None
    score: float | None = None


class Weighing(NamedTuple):
    """How a policy weighs some arms; `leaders` are those that the others are compared with."""

    means: Means
    leaders: tuple[int, ...]
    weights: tuple[Weight, ...]


def weigh(policy: Policy, memory: Memory, pulls: Counts, now: Now, arms: Sequence[int]) -> Weighing:
    """How a policy weighs these arms at this moment; nothing is changed.

    >>> from outlay.policies import Frugal
    >>> policy = Frugal()
    >>> memory = policy.memory(2)
    >>> for _ in range(20):
    ...     memory.observe(0, 1.0, 0.9)
    >>> for _ in range(3):
    ...     memory.observe(1, 1.0, 0.4)
    >>> found = weigh(policy, memory, np.array([20, 3]), Now(23, 3.1, 23.0), [1])
    >>> found.leaders, [(round(each.evidence, 2), round(each.enough, 2)) for each in found.weights]
    ((0,), [(5.24, 0.57)])
    """
    if isinstance(policy, Ration):
        return _in_dues(policy, memory, now, arms)
    method = policy_kind(type(policy)).method
    if method == "excess":
        return _against_the_leader(cast("Compared", policy), memory, pulls, arms)
    if method == "score":
        scored = cast("Scored", policy)
        scores = [float(scored.score(memory.belief(arm), now.log_n)) for arm in arms]
        return Weighing("score", (), tuple(Weight(arm, score=s) for arm, s in zip(arms, scores, strict=True)))
    if method == "sample":
        return _by_chance(cast("Sampled", policy), memory, pulls, arms)
    return Weighing("its own rule", (), tuple(map(Weight, arms)))


def _against_the_leader(policy: Compared, memory: Memory, pulls: Counts, arms: Sequence[int]) -> Weighing:
    if not pulls.any():
        return Weighing("evidence", (), tuple(map(Weight, arms)))
    leader, _ = leader_of(memory, pulls)
    lead = cast("LeaderMemory", memory).lead(leader)

    def excess(belief: Any) -> float:
        return policy.excess(belief, lead, lead)

    others = [arm for arm in arms if pulls[arm] > 0 and arm != leader]
    weights = {arm: _weight(arm, memory.belief(arm), excess) for arm in others}
    return Weighing("evidence", (leader,), tuple(weights.get(arm, Weight(arm)) for arm in arms))


def _in_dues(policy: Ration, memory: Any, now: Now, arms: Sequence[int]) -> Weighing:
    """The same in `Ration`'s currency, against both ends of the edge in use."""
    if cast("SequentialMemory", memory).opened() == 0:
        return Weighing("evidence", (), tuple(map(Weight, arms)))
    at = hull_position(policy.known_budget, policy.known_requests, memory, now)
    ends = tuple(arm for arm in (at.edge.low, at.edge.high) if arm != NOTHING)
    spared = {*ends, at.ahead.low, at.ahead.high}

    asked = required_in_dues(policy.slope, at)

    def excess(belief: Any) -> float:
        return excess_in_dues(asked, belief, at)

    others = [arm for arm in arms if memory.pulls[arm] > 0 and arm not in spared]
    weights = {arm: _weight(arm, known_cost(memory, arm), excess) for arm in others}
    return Weighing("evidence", ends, tuple(weights.get(arm, Weight(arm)) for arm in arms))


def _weight(arm: int, belief: Any, excess: Callable[[Any], float]) -> Weight:
    """Evidence and what is enough, from the excess of the arm and of one that nothing speaks against."""
    beyond, enough = float(excess(belief)), -float(excess(belief._replace(mean_reward=math.inf)))
    if enough == -math.inf:
        return Weight(arm, None, 0.0)  # it has had as much as the leader
    if not math.isfinite(enough):
        return Weight(arm)
    return Weight(arm, beyond + enough, enough)


def _by_chance(policy: Sampled, memory: Memory, pulls: Counts, arms: Sequence[int]) -> Weighing:
    """How often each arm comes first, in draws of its own that change nothing."""
    rng, log_n = np.random.default_rng(SEED), log_of(int(pulls.sum()))
    draws = np.array([[policy.sample(memory.belief(arm), log_n, rng) for arm in arms] for _ in range(DRAWS)])
    first = np.bincount(np.argmax(draws, axis=1), minlength=len(arms)) / DRAWS
    return Weighing("chance", (), tuple(Weight(arm, score=float(s)) for arm, s in zip(arms, first, strict=True)))
