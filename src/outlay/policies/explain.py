"""What a policy weighs before it names an arm, by its own formulas: for people who ask why.

A policy with `excess` compares every arm with the leader: the evidence E against it with what is enough. Only their
difference decides, so that is what `excess` returns; for an arm that has paid without limit E is 0, and what remains is
what is enough.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from outlay.beliefs.linear import LARGEST, PRICE
from outlay.formulas.argmax import Counts, Now, leader_of, log_of
from outlay.formulas.pacing import best_at, price_at, price_index
from outlay.formulas.pricing import NOTHING, excess_in_dues, hull_position, known_cost, required_in_dues
from outlay.policies.forgetful import Forgetful
from outlay.policies.linear_ration import LinearRation, arm_to_try, money_for_each, noise, prospects
from outlay.policies.protocol import Compared, LeaderMemory, Memory, Policy, Sampled, Scored, policy_kind
from outlay.policies.ration import Ration

DRAWS = 100  # of a policy that leaves it to chance
SEED = 0

Means = Literal["evidence", "score", "chance", "worth", "its own rule"]


class ArmEvidence(NamedTuple):
    """What speaks for or against an arm; None where the policy does not say.

    `evidence` against it is in natural units, ∞ where no doubt is left. Above `enough` the arm is left alone; `enough`
    is 0, and `evidence` None, for an arm on which at least as much was spent as on the leader. `score` is what a policy
    ranks arms by, or the share of draws in which it would come first; or what the arm is worth for the request that is
    to be served: the reward that it `may_bring` less λ·(its `cost`).
    """

    arm: int
    evidence: float | None = None
    enough: float | None = None
    score: float | None = None
    may_bring: float | None = None
    cost: float | None = None


class PolicyExplanation(NamedTuple):
    """How a policy weighs some arms; `leaders` are those that the others are compared with, `price` is λ."""

    means: Means
    leaders: tuple[int, ...]
    weights: tuple[ArmEvidence, ...]
    price: float | None = None


def explain_choice(
    policy: Policy, memory: Memory, pulls: Counts, now: Now, arms: Sequence[int], among: Sequence[int] | None = None
) -> PolicyExplanation:
    """How a policy weighs these arms at this moment; nothing is changed.

    >>> from outlay.policies import Frugal
    >>> policy = Frugal()
    >>> memory = policy.memory(2)
    >>> for _ in range(20):
    ...     memory.observe(0, 1.0, 0.9)
    >>> for _ in range(3):
    ...     memory.observe(1, 1.0, 0.4)
    >>> found = explain_choice(policy, memory, np.array([20, 3]), Now(23, 3.1, 23.0), [1])
    >>> found.leaders, [(round(each.evidence, 2), round(each.enough, 2)) for each in found.weights]
    ((0,), [(5.24, 0.57)])
    """
    if isinstance(policy, Ration):
        return _against_the_edge(policy, memory, now, arms)
    if isinstance(policy, LinearRation):
        return _by_worth(policy, memory, now, arms, np.arange(len(pulls)) if among is None else np.array(among))
    if isinstance(policy, Forgetful):
        return _against_the_leader(policy.thrifty, memory, cast("Any", memory).pulls, arms)
    method = policy_kind(type(policy)).method
    if method == "excess":
        return _against_the_leader(cast("Compared", policy), memory, pulls, arms)
    if method == "score":
        scored = cast("Scored", policy)
        scores = [float(scored.score(memory.belief(arm), now.log_n)) for arm in arms]
    elif method == "sample":
        scores = _shares_of_draws(cast("Sampled", policy), memory, pulls, arms)
    else:
        return PolicyExplanation("its own rule", (), tuple(map(ArmEvidence, arms)))
    weights = tuple(ArmEvidence(arm, score=score) for arm, score in zip(arms, scores, strict=True))
    return PolicyExplanation("score" if method == "score" else "chance", (), weights)


def _against_the_leader(policy: Compared, memory: Memory, pulls: Counts, arms: Sequence[int]) -> PolicyExplanation:
    if not pulls.any():
        return PolicyExplanation("evidence", (), tuple(map(ArmEvidence, arms)))
    leader, _ = leader_of(memory, pulls)
    lead = cast("LeaderMemory", memory).lead(leader)
    others = {arm: memory.belief(arm) for arm in arms if pulls[arm] > 0 and arm != leader}
    return _compared((leader,), arms, others, lambda belief: policy.excess(belief, lead, lead))


def _against_the_edge(policy: Ration, memory: Any, now: Now, arms: Sequence[int]) -> PolicyExplanation:
    """The same in `Ration`'s currency, against both ends of the edge in use."""
    if memory.opened() == 0:
        return PolicyExplanation("evidence", (), tuple(map(ArmEvidence, arms)))
    at = hull_position(policy.known_budget, policy.known_requests, memory, now)
    ends = tuple(arm for arm in (at.edge.low, at.edge.high) if arm != NOTHING)
    spared = {*ends, at.ahead.low, at.ahead.high}
    required = required_in_dues(policy.slope, at)
    others = {arm: known_cost(memory, arm) for arm in arms if memory.pulls[arm] > 0 and arm not in spared}
    return _compared(ends, arms, others, lambda belief: excess_in_dues(required, belief, at))


def _by_worth(policy: LinearRation, memory: Any, now: Now, arms: Sequence[int], among: Counts) -> PolicyExplanation:
    """What `LinearRation` takes each arm to be worth for the request that is to be served, at the price of money."""
    largest = max(policy.known_bound, memory.noise[LARGEST])
    if arm_to_try(memory, among, largest) >= 0:
        return PolicyExplanation("its own rule", (), tuple(map(ArmEvidence, arms)))
    left = money_for_each(memory, max(0.0, policy.known_budget - now.spent), policy.known_requests - now.pulls)
    hopes, costs, here = prospects(memory, np.arange(len(memory.told)), policy.alpha * noise(memory), largest)
    open_hopes, open_costs = hopes[among], costs[among]
    price = price_at(price_index(open_hopes, open_costs, left, memory.marks[PRICE]))
    best = int(among[best_at(open_hopes, open_costs, here, price)])
    found = [(float(hopes[arm, here]), float(costs[arm, here])) for arm in arms]
    weights = tuple(
        ArmEvidence(arm, score=hope - price * cost, may_bring=hope, cost=cost)
        for arm, (hope, cost) in zip(arms, found, strict=True)
    )
    return PolicyExplanation("worth", (best,), weights, price)


def _compared(
    leaders: tuple[int, ...], arms: Sequence[int], others: dict[int, Any], excess: Callable[[Any], float]
) -> PolicyExplanation:
    """Evidence and what is enough, from the excess of each arm and of one that nothing speaks against."""
    found = {arm: ArmEvidence(arm) for arm in arms}
    for arm, belief in others.items():
        beyond, enough = float(excess(belief)), -float(excess(belief._replace(mean_reward=math.inf)))
        if enough == -math.inf:
            found[arm] = ArmEvidence(arm, None, 0.0)  # it has had as much as the leader
        elif math.isfinite(enough):
            found[arm] = ArmEvidence(arm, beyond + enough, enough)
    return PolicyExplanation("evidence", leaders, tuple(found.values()))


def _shares_of_draws(policy: Sampled, memory: Memory, pulls: Counts, arms: Sequence[int]) -> list[float]:
    """How often each arm comes first, in draws of its own that change nothing."""
    rng, log_n = np.random.default_rng(SEED), log_of(int(pulls.sum()))
    draws = np.array([[policy.sample(memory.belief(arm), log_n, rng) for arm in arms] for _ in range(DRAWS)])
    shares: list[float] = (np.bincount(np.argmax(draws, axis=1), minlength=len(arms)) / DRAWS).tolist()
    return shares
