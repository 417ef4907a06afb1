"""Which arm to pull next: of all of them, or in hard mode of those whose dearest pull fits what is left of the budget.

In hard mode the policy is asked as ever while every arm fits. Once one does not, it is asked about those that do, as a
campaign in hard mode asks it: the same choices; a refund may let all fit again. (One with `choose` and no
`choose_among` is asked about all; where the arm that it names does not fit, the fitting one with the largest rate is
pulled.) Every arm that fits is looked at, since there are few such pulls, near the end of a run. What is spent never
exceeds the budget, to the last bit: rounding keeps the order of sums, so a pull that costs no more than the dearest
cannot either.

All of this runs in the interpreter and compiled.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead, SequentialMoments
from outlay.beliefs.pooled import lead_of
from outlay.engine.limits import Counts
from outlay.formulas.argmax import Now, best_by_excess, best_by_sample, best_by_score, best_of_opened, log_of, precedes
from outlay.formulas.lazy_leader import LeaderBounds, forget_leader_bounds, lazy_best_by_excess, lazy_best_of_opened
from outlay.formulas.lazy_score import ScoreBounds, forget_score_bounds, lazy_best_by_score
from outlay.policies.protocol import Belief, KindName, Memory, Opening, Policy, SequentialMemory, has, policy_kind

Floats = NDArray[np.float64]
Rng = np.random.Generator
AnyRng = Any  # numpy's Generator; on a GPU a stream with its verbs, which only numba can check

NONE_FITS = -(2**62)  # in place of an arm


class ChoiceCache(NamedTuple):
    """What is remembered from pull to pull so that not every arm need be looked at: of one run at a time."""

    scores: ScoreBounds  # for policies with a score and a phase
    known: LeaderBounds  # for policies that compare every arm with the leader

    @staticmethod
    def start(arms: int) -> "ChoiceCache":
        """Room for this many arms."""
        return ChoiceCache(ScoreBounds.start(arms), LeaderBounds.start(arms))


class Affordable(NamedTuple):
    """Which arms fit into what is left of the budget, for hard mode."""

    dearest: Floats  # [arm]: the most that a pull can cost
    totals: Floats  # [arm, 2]: cost and reward so far
    arms: Counts  # [place]: those that fit
    pulls: Counts  # [place]: theirs

    most: float  # that a pull of any arm can cost

    @staticmethod
    def start(dearest: Floats) -> "Affordable":
        """Before the first pull, where pulls of the arms cost at most so much."""
        arms = len(dearest)
        counts = np.zeros((2, arms), np.int64)
        return Affordable(dearest, np.zeros((arms, 2)), counts[0], counts[1], float(dearest.max()))


def decide(policy: Policy, memory: Memory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng) -> int:
    """The arm to pull next, by whichever of score, sample, excess and choose the policy has."""
    return way_to_decide(type(policy))(policy, memory, pulls, spent, n, cache, rng)


def open_lazily(
    policy: Opening, memory: SequentialMemory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide` for a policy that opens arms: their order is drawn before the first pull."""
    if n == 0:
        memory.shuffle(rng)
    return lazy_best_of_opened(policy, memory, pulls, cache.known)


# `decide` for each way of `protocol.POLICY_KINDS`.

DECIDE: dict[KindName, Callable[..., int]] = {
    "lazy score": lambda policy, memory, pulls, spent, n, cache, rng: lazy_best_by_score(
        policy, memory, pulls, n, cache.scores
    ),
    "score": lambda policy, memory, pulls, spent, n, cache, rng: best_by_score(policy, memory, pulls, log_of(n)),
    "sample": lambda policy, memory, pulls, spent, n, cache, rng: best_by_sample(policy, memory, pulls, log_of(n), rng),
    "excess": lambda policy, memory, pulls, spent, n, cache, rng: lazy_best_by_excess(
        policy, memory, pulls, cache.known
    ),
    "opening": open_lazily,
    "choose": lambda policy, memory, pulls, spent, n, cache, rng: policy.choose(memory, Now(n, log_of(n), spent), rng),
}


def way_to_decide(policy: type) -> Callable[..., int]:
    """The function above that serves a class of policies."""
    return DECIDE[policy_kind(policy).name]


def forget(cache: ChoiceCache) -> None:
    """Begin anew: another run, or the same one with its memory changed."""
    forget_score_bounds(cache.scores)
    forget_leader_bounds(cache.known)


def decide_within(
    policy: Policy, memory: Memory, pulls: Counts, spent: float, spent_low: float, n: int, cache: ChoiceCache,
    affordable: Affordable, budget: float, rng: Rng,
) -> int:  # fmt: skip
    """`decide` in hard mode: the arm to pull next, of those that fit, or NONE_FITS."""
    if spent + (affordable.most - spent_low) <= budget:
        return decide(policy, memory, pulls, spent, n, cache, rng)
    count = 0
    for arm in range(len(pulls)):
        if spent + (affordable.dearest[arm] - spent_low) <= budget:
            affordable.arms[count] = arm
            affordable.pulls[count] = pulls[arm]
            count += 1
    if count == 0:
        return NONE_FITS
    forget(cache)  # which will know nothing of this pull
    return decide_among(
        policy, memory, affordable.arms[:count], affordable.pulls[:count], affordable.totals, spent, n, rng
    )


class Fitting(NamedTuple):
    """Some arms of a memory, numbered anew; beliefs keep the numbers that the arms have in the problem."""

    memory: Any
    arms: Counts

    def belief(self, arm: int) -> Belief:
        """What is known of the arm."""
        return self.memory.belief(self.arms[arm])

    def lead(self, arm: int) -> Lead:
        """What the others are compared with when this arm leads."""
        lead: Lead = self.memory.lead(self.arms[arm])
        return lead


class FittingOpened(NamedTuple):
    """The same for policies that open arms one by one: what is open, usual and next is so among these arms."""

    memory: SequentialMoments
    arms: Counts
    known: int  # how many of them are open
    fresh: int  # the one to open next, or their number
    costs: float  # the sums of the mean costs and rewards of those that are open
    rewards: float

    def belief(self, arm: int) -> Belief:
        """What is known of the arm."""
        return self.memory.belief(self.arms[arm])

    def lead(self, arm: int) -> Lead:
        """What the others are compared with when this arm leads."""
        memory = self.memory
        lead = lead_of(memory.stats, memory.extremes, self.arms[arm], float(self.known), self.costs, self.rewards)
        return Lead(
            lead.rate, lead.spend, lead.price, float(len(self.arms)), lead.reward_max, lead.cost_min, lead.cost_max,
            lead.spread, lead.size, lead.opened, lead.usual_price, lead.usual_rate, lead.spent,
        )  # fmt: skip

    def opened(self) -> int:
        """How many of the arms are open."""
        return self.known

    def unopened(self) -> int:
        """The one of them to open next, or their number."""
        return self.fresh


def fitting_opened(memory: SequentialMoments, arms: Counts, pulls: Counts) -> FittingOpened:
    """The view of a memory through some arms, with their pulls; sums as exact as two numbers hold them (Neumaier)."""
    known, fresh, first = 0, len(arms), len(memory.order)
    costs, costs_low, rewards, rewards_low = 0.0, 0.0, 0.0, 0.0
    for i in range(len(arms)):
        if pulls[i] > 0:
            belief = memory.belief(arms[i])
            known += 1
            costs_low += rounded_off(costs, belief.mean_cost)
            costs += belief.mean_cost
            rewards_low += rounded_off(rewards, belief.mean_reward)
            rewards += belief.mean_reward
        elif memory.place[arms[i]] < first:
            fresh, first = i, memory.place[arms[i]]
    return FittingOpened(memory, arms, known, fresh, costs + costs_low, rewards + rewards_low)


def rounded_off(total: float, term: float) -> float:
    """What total + term lacks of the exact sum."""
    after = total + term
    return (total - after) + term if abs(total) >= abs(term) else (term - after) + total


def decide_among(
    policy: Policy, memory: Memory, arms: Counts, pulls: Counts, totals: Floats, spent: float, n: int, rng: AnyRng
) -> int:
    """The arm to pull, of those that may be; `pulls` are theirs, `totals` the costs and rewards of every arm so far."""
    return way_to_decide_among(type(policy))(policy, memory, arms, pulls, totals, spent, n, rng)


def open_among(
    policy: Opening, memory: SequentialMoments, arms: Counts, pulls: Counts, totals: Floats, spent: float,  # noqa: ARG001
    n: int, rng: AnyRng,
) -> int:  # fmt: skip
    """`decide_among` for a policy that opens arms: the order of all arms is drawn before the first pull."""
    if n == 0:
        memory.shuffle(rng)
    return int(arms[best_of_opened(policy, fitting_opened(memory, arms, pulls), pulls)])


def fitting_arm(arm: int, arms: Counts, pulls: Counts, totals: Floats) -> int:
    """The arm that was named, if it may be pulled; else of those that may be the one with the largest rate so far."""
    if arm < 0 or arm >= len(totals):
        return arm  # the loop says that there is no such arm
    best, top = 0, -math.inf
    for place in range(len(arms)):
        if arms[place] == arm:
            return arm
        cost, reward = totals[arms[place], 0], totals[arms[place], 1]
        rate = reward / cost if cost > 0.0 else math.inf
        if precedes(rate, pulls[place], place, top, pulls[best], best):
            best, top = place, rate
    return int(arms[best])


# `decide_among` for each of `protocol.POLICY_KINDS`, and for policies that have `choose_among`, too.
DECIDE_AMONG: dict[KindName | Literal["choose among"], Callable[..., int]] = {
    "score": lambda policy, memory, arms, pulls, totals, spent, n, rng: int(
        arms[best_by_score(policy, Fitting(memory, arms), pulls, log_of(n))]
    ),
    "sample": lambda policy, memory, arms, pulls, totals, spent, n, rng: int(
        arms[best_by_sample(policy, Fitting(memory, arms), pulls, log_of(n), rng)]
    ),
    "excess": lambda policy, memory, arms, pulls, totals, spent, n, rng: int(
        arms[best_by_excess(policy, Fitting(memory, arms), pulls)]
    ),
    "opening": open_among,
    "choose": lambda policy, memory, arms, pulls, totals, spent, n, rng: fitting_arm(
        int(policy.choose(memory, Now(n, log_of(n), spent), rng)), arms, pulls, totals
    ),
    "choose among": lambda policy, memory, arms, pulls, totals, spent, n, rng: fitting_arm(
        int(policy.choose_among(memory, arms, Now(n, log_of(n), spent), rng)), arms, pulls, totals
    ),
}
DECIDE_AMONG["lazy score"] = DECIDE_AMONG["score"]


def way_to_decide_among(policy: type) -> Callable[..., int]:
    """The function above that serves a class of policies."""
    way = policy_kind(policy).name
    return DECIDE_AMONG["choose among" if way == "choose" and has(policy, "choose_among") else way]
