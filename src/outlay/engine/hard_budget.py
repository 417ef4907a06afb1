"""Never past the budget: the loop for hard mode, where only arms may be pulled whose dearest pull fits what is left.

While every arm fits, the policy is asked as in `loop`. Once one does not, it is asked about those that do, as a
campaign in hard mode asks it: the same choices; a refund may let all fit again. (One with `choose` and no
`choose_among` is asked about all; where the arm that it names does not fit, the fitting one with the largest rate is
pulled.) Every arm that fits is looked at, since there are few such pulls, near the end of a run. The run ends when none
fits, or when every request is served. Since its last pulls depend on the budget, a run serves one budget alone. What is
spent never exceeds the budget, to the last bit: rounding keeps the order of sums, so a pull that costs no more than the
dearest cannot either.

All of this runs in the interpreter and compiled.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from outlay.beliefs import Lead, SequentialMoments
from outlay.beliefs.pooled import lead_of
from outlay.engine.limits import Counts, Limits
from outlay.engine.loop import (
    EARNED,
    EARNED_LOW,
    MADE,
    PASSED,
    PULLS,
    RUN,
    SPENT,
    SPENT_LOW,
    STRAY,
    Affordable,
    Arms,
    ChoiceCache,
    Crossings,
    Drawing,
    Floats,
    Rng,
    RunState,
    SeedStates,
    begin,
    decide,
    forget,
)
from outlay.formulas.argmax import Now, best_by_excess, best_by_sample, best_by_score, best_of_opened, log_of
from outlay.policies.protocol import (
    Belief,
    Chooser,
    Compared,
    KindName,
    LeaderMemory,
    Memory,
    Opening,
    Policy,
    PolicyExtras,
    Sampled,
    Scored,
    has,
    policy_kind,
)

NONE_FITS = -(2**62)  # in place of an arm


def play_hard(
    rng: Rng, world: Arms, policy: Policy, memory: Memory, seed_states: SeedStates, state: RunState,
    crossings: Crossings, limits: Limits, limit: int, cap: int, end: int,
) -> None:  # fmt: skip
    """`loop.play` in hard mode, for one budget."""
    marks = state.marks
    while marks[RUN] < end and limit > 0:
        before, row = marks[PULLS], marks[RUN]
        if before == 0:
            begin(seed_states, state)
            for arm in range(len(state.pulls)):
                state.affordable.totals[arm, 0] = state.affordable.totals[arm, 1] = 0.0
        advance_hard(
            rng, world, policy, memory, state.pulls, state.totals, marks, state.cache, state.affordable,
            limits.budgets[0], limits.requests[0], crossings.pulls[row], crossings.cost[row], crossings.reward[row],
            min(before + limit, cap),
        )  # fmt: skip
        made = marks[PULLS] - before
        marks[MADE] += made
        limit -= made
        if marks[PASSED] == 0:
            break
        marks[RUN] += 1
        marks[PULLS] = 0


def advance_hard(
    rng: Drawing, world: Arms, policy: Policy, memory: Memory, pulls: Counts, totals: Floats, marks: Counts,
    cache: ChoiceCache, affordable: Affordable, budget: float, requests: int, out_pulls: Counts, out_cost: Floats,
    out_reward: Floats, stop: int,
) -> None:  # fmt: skip
    """Pull one run's arms until none fits or all requests are served, `stop` pulls are made, or its memory is full."""
    n = marks[PULLS]
    spent, spent_low = totals[SPENT], totals[SPENT_LOW]
    earned, earned_low = totals[EARNED], totals[EARNED_LOW]
    dearest = dearest_of_all(affordable)
    forget(cache)
    while n < stop and not memory.full():
        arm = decide_within(policy, memory, pulls, spent, spent_low, n, cache, affordable, dearest, budget, rng)
        if arm == NONE_FITS:
            marks[PASSED] = 1
            break
        if arm < 0 or arm >= len(pulls):
            marks[STRAY] = arm  # never 0, which is always an arm
            break
        cost, reward = world.pull(arm, rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        affordable.totals[arm, 0] += cost
        affordable.totals[arm, 1] += reward
        n += 1
        term = cost - spent_low
        total = spent + term
        spent_low = (total - spent) - term
        spent = total
        term = reward - earned_low
        total = earned + term
        earned_low = (total - earned) - term
        earned = total
        if n >= requests:
            marks[PASSED] = 1
            break
    if marks[PASSED] == 1:
        for k in range(len(pulls)):
            out_pulls[0, k] = pulls[k]
        out_cost[0] = spent
        out_reward[0] = earned
    marks[PULLS] = n
    totals[SPENT], totals[SPENT_LOW] = spent, spent_low
    totals[EARNED], totals[EARNED_LOW] = earned, earned_low


def decide_within(
    policy: Policy, memory: Memory, pulls: Counts, spent: float, spent_low: float, n: int, cache: ChoiceCache,
    affordable: Affordable, dearest: float, budget: float, rng: Rng,
) -> int:  # fmt: skip
    """The arm to pull next, of those that fit, or NONE_FITS; `dearest` is the most that any pull can cost."""
    if spent + (dearest - spent_low) <= budget:
        return decide(policy, memory, pulls, spent, n, cache, rng)
    count = fit_in(affordable, pulls, spent, spent_low, budget)
    if count == 0:
        return NONE_FITS
    forget(cache)  # which will know nothing of this pull
    return decide_among(
        policy, memory, affordable.arms[:count], affordable.pulls[:count], affordable.totals, spent, n, rng
    )


def dearest_of_all(affordable: Affordable) -> float:
    """The most that a pull of any arm can cost."""
    dearest = affordable.dearest[0]
    for arm in range(len(affordable.dearest)):
        dearest = max(dearest, affordable.dearest[arm])
    return float(dearest)


def fit_in(affordable: Affordable, pulls: Counts, spent: float, spent_low: float, budget: float) -> int:
    """Line up the arms whose dearest pull fits, with their pulls; how many there are."""
    count = 0
    for arm in range(len(pulls)):
        if spent + (affordable.dearest[arm] - spent_low) <= budget:
            affordable.arms[count] = arm
            affordable.pulls[count] = pulls[arm]
            count += 1
    return count


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
        lead = lead_of(
            memory.stats, memory.extremes, self.arms[arm], float(self.known), self.costs, self.rewards
        )  # fmt: skip
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
    policy: Policy, memory: Memory, arms: Counts, pulls: Counts, totals: Floats, spent: float, n: int, rng: Drawing
) -> int:
    """The arm to pull, of those that may be; `pulls` are theirs, `totals` the costs and rewards of every arm so far."""
    return way_to_decide_among(type(policy))(policy, memory, arms, pulls, totals, spent, n, rng)


def among_by_score(
    policy: Scored, memory: Memory, arms: Counts, pulls: Counts, totals: Floats, spent: float, n: int, rng: Drawing  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide_among` for a policy with `score`."""
    return int(arms[best_by_score(policy, Fitting(memory, arms), pulls, log_of(n))])


def among_by_sample(
    policy: Sampled, memory: Memory, arms: Counts, pulls: Counts, totals: Floats, spent: float, n: int, rng: Drawing  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide_among` for a policy with `sample`."""
    return int(arms[best_by_sample(policy, Fitting(memory, arms), pulls, log_of(n), rng)])


def among_by_excess(
    policy: Compared, memory: LeaderMemory, arms: Counts, pulls: Counts, totals: Floats, spent: float,  # noqa: ARG001
    n: int, rng: Drawing,  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide_among` for a policy with `excess`."""
    return int(arms[best_by_excess(policy, Fitting(memory, arms), pulls)])


def among_by_opening(
    policy: Opening, memory: SequentialMoments, arms: Counts, pulls: Counts, totals: Floats, spent: float,  # noqa: ARG001
    n: int, rng: Drawing,
) -> int:  # fmt: skip
    """`decide_among` for a policy that opens arms: the order of all arms is drawn before the first pull."""
    if n == 0:
        memory.shuffle(rng)
    return int(arms[best_of_opened(policy, fitting_opened(memory, arms, pulls), pulls)])


def among_by_choose(
    policy: Chooser, memory: Memory, arms: Counts, pulls: Counts, totals: Floats, spent: float, n: int, rng: Drawing
) -> int:  # fmt: skip
    """`decide_among` for a policy with `choose`."""
    return fitting_arm(int(policy.choose(memory, Now(n, log_of(n), spent), rng)), arms, pulls, totals)


def among_by_choose_among(
    policy: PolicyExtras, memory: Memory, arms: Counts, pulls: Counts, totals: Floats, spent: float, n: int,
    rng: Drawing,
) -> int:  # fmt: skip
    """`decide_among` for a policy with `choose_among`."""
    return fitting_arm(int(policy.choose_among(memory, arms, Now(n, log_of(n), spent), rng)), arms, pulls, totals)


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
        if rate > top or (rate == top and pulls[place] < pulls[best]):
            best, top = place, rate
    return int(arms[best])


# `decide_among` for each of `protocol.POLICY_KINDS`, and for policies that have `choose_among`, too; which of
# the classes of policies each takes, numba checks.
DECIDE_AMONG: dict[KindName | Literal["choose among"], Callable[..., int]] = {
    "lazy score": among_by_score,
    "score": among_by_score,
    "sample": among_by_sample,
    "excess": among_by_excess,
    "opening": among_by_opening,
    "choose": among_by_choose,
    "choose among": among_by_choose_among,
}


def way_to_decide_among(policy: type) -> Callable[..., int]:
    """The function above that serves a class of policies."""
    way = policy_kind(policy).name
    return DECIDE_AMONG["choose among" if way == "choose" and has(policy, "choose_among") else way]
