"""Never past the budget: the loop for hard mode, where only arms may be pulled whose dearest pull fits what is left.

While every arm fits, the policy is asked as in `loop`. Once one does not, it is asked about those that do (`among`);
a refund may let all fit again. The run ends when none fits, or when every request is served. Since its last pulls
depend on the budget, a run serves one budget alone. What is spent never exceeds the budget, to the last bit: rounding
keeps the order of sums, so a pull that costs no more than the dearest cannot either.
"""

from outlay.engine.limits import Counts, Limits
from outlay.engine.run.among import decide_among
from outlay.engine.run.loop import (
    EARNED,
    EARNED_LOW,
    MADE,
    PASSED,
    PULLS,
    RUN,
    SPENT,
    SPENT_LOW,
    STRAY,
    Arms,
    Drawing,
    Floats,
    Passages,
    Rng,
    Room,
    Scratch,
    Standing,
    Starts,
    begin,
    decide,
    forget,
)
from outlay.policies.protocol import Memory, Policy

NONE_FITS = -(2**62)  # in place of an arm


def decide_within(
    policy: Policy, memory: Memory, pulls: Counts, spent: float, spent_low: float, n: int, scratch: Scratch, room: Room,
    dearest: float, budget: float, rng: Rng,
) -> int:  # fmt: skip
    """The arm to pull next, of those that fit, or NONE_FITS; `dearest` is the most that any pull can cost."""
    if spent + (dearest - spent_low) <= budget:
        return decide(policy, memory, pulls, spent, n, scratch, rng)
    count = fit_in(room, pulls, spent, spent_low, budget)
    if count == 0:
        return NONE_FITS
    forget(scratch)  # which will know nothing of this pull
    return decide_among(policy, memory, room.arms[:count], room.pulls[:count], room.totals, spent, n, rng)


def dearest_of_all(room: Room) -> float:
    """The most that a pull of any arm can cost."""
    dearest = room.dearest[0]
    for arm in range(len(room.dearest)):
        dearest = max(dearest, room.dearest[arm])
    return float(dearest)


def fit_in(room: Room, pulls: Counts, spent: float, spent_low: float, budget: float) -> int:
    """Line up the arms whose dearest pull fits, with their pulls; how many there are."""
    count = 0
    for arm in range(len(pulls)):
        if spent + (room.dearest[arm] - spent_low) <= budget:
            room.arms[count] = arm
            room.pulls[count] = pulls[arm]
            count += 1
    return count


def advance_hard(
    rng: Drawing, world: Arms, policy: Policy, memory: Memory, pulls: Counts, totals: Floats, marks: Counts,
    scratch: Scratch, room: Room, budget: float, requests: int, out_pulls: Counts, out_cost: Floats,
    out_reward: Floats, stop: int,
) -> None:  # fmt: skip
    """Pull one run's arms until none fits or all requests are served, `stop` pulls are made, or its memory is full."""
    n = marks[PULLS]
    spent, spent_low = totals[SPENT], totals[SPENT_LOW]
    earned, earned_low = totals[EARNED], totals[EARNED_LOW]
    dearest = dearest_of_all(room)
    forget(scratch)
    while n < stop and not memory.full():
        arm = decide_within(policy, memory, pulls, spent, spent_low, n, scratch, room, dearest, budget, rng)
        if arm == NONE_FITS:
            marks[PASSED] = 1
            break
        if arm < 0 or arm >= len(pulls):
            marks[STRAY] = arm  # never 0, which is always an arm
            break
        cost, reward = world.pull(arm, rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        room.totals[arm, 0] += cost
        room.totals[arm, 1] += reward
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


def play_hard(
    rng: Rng, world: Arms, policy: Policy, memory: Memory, starts: Starts, standing: Standing, passages: Passages,
    limits: Limits, limit: int, cap: int, end: int,
) -> None:  # fmt: skip
    """`loop.play` in hard mode, for one budget."""
    marks = standing.marks
    while marks[RUN] < end and limit > 0:
        before, row = marks[PULLS], marks[RUN]
        if before == 0:
            begin(starts, standing)
            for arm in range(len(standing.pulls)):
                standing.room.totals[arm, 0] = standing.room.totals[arm, 1] = 0.0
        advance_hard(
            rng, world, policy, memory, standing.pulls, standing.totals, marks, standing.scratch, standing.room,
            limits.budgets[0], limits.requests[0], passages.pulls[row], passages.cost[row], passages.reward[row],
            min(before + limit, cap),
        )  # fmt: skip
        made = marks[PULLS] - before
        marks[MADE] += made
        limit -= made
        if marks[PASSED] == 0:
            break
        marks[RUN] += 1
        marks[PULLS] = 0
