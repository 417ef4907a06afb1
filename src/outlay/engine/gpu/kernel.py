"""The loop on the GPU: one thread a run. Plain functions, compiled for the device by `device_code`.

Each array of a run's state has the run as its last axis, so that neighbouring threads read neighbouring numbers; a run
sees its own part of it as an ordinary array, and the same methods of policies, memories and laws work on that.

A policy with `phase` promises that its scores only rise with ln n between pulls of the arm (see `lazy`), and is played
lazily. The leader's moments lie in registers, and while its score exceeds a bound of all others it is pulled again: one
score and no logarithm a pull. Otherwise there is a contest, which scores whoever has the largest bound until no bound
reaches the best score. Bounds are kept in 32 bits, rounded up, beside the pull at which each runs out; of many arms,
groups of about √K have a bound too.

Threads run in warps of 32 in which all wait for whoever does something else. So a thread that needs a contest pauses
until the pulls that paused threads of its warp have missed are worth about one step of it; then all of these take one.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float64, uint64
from numpy.typing import NDArray

from outlay.engine.gpu.random import BLOCK, KEEPS, KEEPS_NORMAL, KEPT, KEY, NORMAL, RUN, Stream
from outlay.engine.loop import EARNED, EARNED_LOW, PASSED, PULLS, SPENT, SPENT_LOW, STRAY
from outlay.formulas.choose import Now, best_by_excess, best_by_sample, best_by_score, log_of, number, precedes

LEADER = 3  # a row of State.marks beside those of the loop
# Entries of the tally, which a run that raises is not in: runs not done, those that need help, what is done, runs done.
OPEN, TROUBLED, SHARE, DONE = range(4)
MILLION = 1_000_000  # the tally counts shares of a run in millionths
WARP = 0xFFFFFFFF
PATIENCE = 32  # missed pulls in a warp that are worth a step of a contest (measured)
ONE_GROUP = 16  # arms, at most, that are gone through one by one; more are looked up by groups

# Bounds have 32 bits. Of scores of ∞, arms with fewer pulls come first: numbers from ENDLESS down, one for each pull.
LAST = np.int32(2**31 - 1)  # no bound lasts longer; a lazy run makes fewer pulls
NOBODY, UNKNOWN = np.float32(-np.inf), np.float32(np.inf)
ENDLESS, STEP, MOST_COUNTED = 2.0**127, 2.0**103, 2**23 - 2
MOST = 2.0**125  # scores above this are not bounded, but scored whenever it matters
MOST_FINITE = 2.0**126  # where all above it stand; those of ∞ are higher
MARGIN = 1e-9  # rounding may let a score fall in its last digits where the formula does not
ROUND_UP, LEAST = 1.2e-7, 1.2e-38  # more than a number can lose in 32 bits, as a share and at least
REACH = 2.0  # how far ahead in ln n a bound is made at most
NEARER = 0.25  # and what of that is tried next where the score jumps to ∞
# How far into the gap to the winner a new bound may reach: of few arms, and of many (measured).
AHEAD, AHEAD_OF_MANY = 0.4, 0.25


class State(NamedTuple):
    """Where each run stands; the run is the last axis."""

    pulls: NDArray[np.int64]  # [arm, run]
    totals: NDArray[np.float64]  # [4, run], as in the loop
    marks: NDArray[np.int64]  # [4, run]: as in the loop, and the leader
    words: NDArray[np.uint64]  # [3, run]: the stream's, from its next block on
    normals: NDArray[np.float64]  # [2, run]
    bounds: NDArray[np.float32]  # [arm, then group if many, run]: upper bounds of scores, the leader's aside
    dues: NDArray[np.int32]  # likewise: the pull at which a bound runs out


def play_plainly(
    world: Any, policy: Any, memories: Any, state: Any, passages: Any, budgets: Any, tally: Any, key: Any, first: int,
    limit: int, cap: int,
) -> None:  # fmt: skip
    """Advance every run by `limit` pulls, deciding anew at each."""
    run = cuda.grid(1)
    words, normals = cuda.local.array(5, uint64), cuda.local.array(2, float64)
    rng = Stream(words, normals)
    open_stream(rng, state, run, key, first)
    memory, pulls = of_run(memories, run), state.pulls[:, run]
    n, passed = state.marks[PULLS, run], state.marks[PASSED, run]
    spent, spent_low = state.totals[SPENT, run], state.totals[SPENT_LOW, run]
    earned, earned_low = state.totals[EARNED, run], state.totals[EARNED_LOW, run]
    stop = min(n + limit, cap)
    while passed < len(budgets) and n < stop and not memory.full():
        arm = decide(policy, memory, pulls, spent, n, rng)
        if arm < 0 or arm >= len(pulls):
            state.marks[STRAY, run] = arm
            break
        cost, reward = world.pull(arm, rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        n += 1
        spent, spent_low = added(spent, spent_low, cost)
        earned, earned_low = added(earned, earned_low, reward)
        while passed < len(budgets) and spent > budgets[passed]:
            note(passages, run, passed, pulls, spent, earned)
            passed += 1
    state.marks[PULLS, run], state.marks[PASSED, run] = n, passed
    state.totals[SPENT, run], state.totals[SPENT_LOW, run] = spent, spent_low
    state.totals[EARNED, run], state.totals[EARNED_LOW, run] = earned, earned_low
    close_stream(rng, state, run)
    troubled = state.marks[STRAY, run] != 0 or n >= cap or memory.full()
    count_in(tally, passed == len(budgets), troubled, spent, earned, budgets[len(budgets) - 1])


def play_lazily(
    world: Any, policy: Any, memories: Any, state: Any, passages: Any, budgets: Any, tally: Any, key: Any, first: int,
    limit: int, cap: int,
) -> None:  # fmt: skip
    """Advance every run by `limit` pulls, scoring the leader alone where that is enough."""
    run = cuda.grid(1)
    words, normals, row = cuda.local.array(5, uint64), cuda.local.array(2, float64), cuda.local.array((1, 8), float64)
    rng = Stream(words, normals)
    open_stream(rng, state, run, key, first)
    memory, pulls = of_run(memories, run), state.pulls[:, run]
    bounds, dues = state.bounds[:, run], state.dues[:, run]
    n, passed = state.marks[PULLS, run], state.marks[PASSED, run]
    spent, spent_low = state.totals[SPENT, run], state.totals[SPENT_LOW, run]
    earned, earned_low = state.totals[EARNED, run], state.totals[EARNED_LOW, run]
    stop = min(n + limit, cap)
    leader = state.marks[LEADER, run]
    if n == 0:
        line_up(bounds, dues, len(pulls))
    pick_up(memory, row, leader)
    going = passed < len(budgets) and n < stop and not memory.full()
    budget = budgets[min(passed, len(budgets) - 1)]
    count, leads, arm = pulls[leader], False, -1  # leads: it is known that the leader is to be pulled
    top, top_ahead, rival, due, log_then = 0.0, 0.0, 0.0, 0, 0.0
    while cuda.any_sync(WARP, going):
        if going and not leads:
            contest = Contest(leader, count, top, top_ahead, arm, rival, due, log_then, leads)
            contest = step(policy, memory, row, pulls, bounds, dues, contest, n)
            leader, count, top, top_ahead, arm, rival, due, log_then, leads = contest
        missed = 0
        while missed < PATIENCE:
            if going and leads:
                cost, reward = world.pull(leader, rng)
                take_in(memory, row, leader, cost, reward)
                count += 1
                n += 1
                spent, spent_low = added(spent, spent_low, cost)
                earned, earned_low = added(earned, earned_low, reward)
                if spent > budget:
                    pulls[leader] = count
                    while passed < len(budgets) and spent > budgets[passed]:
                        note(passages, run, passed, pulls, spent, earned)
                        passed += 1
                    budget = budgets[min(passed, len(budgets) - 1)]
                going = passed < len(budgets) and n < stop and not memory.full()
                leads = n < due and policy.score(known_of(memory, row, leader), log_then) > rival
                arm = -1
            if not cuda.any_sync(WARP, going and leads):
                break
            missed += cuda.popc(cuda.ballot_sync(WARP, going and not leads))
    put_down(memory, row, leader)
    pulls[leader] = count
    state.marks[PULLS, run], state.marks[PASSED, run], state.marks[LEADER, run] = n, passed, leader
    state.totals[SPENT, run], state.totals[SPENT_LOW, run] = spent, spent_low
    state.totals[EARNED, run], state.totals[EARNED_LOW, run] = earned, earned_low
    close_stream(rng, state, run)
    troubled = state.marks[STRAY, run] != 0 or n >= cap or memory.full()
    count_in(tally, passed == len(budgets), troubled, spent, earned, budgets[len(budgets) - 1])


class Contest(NamedTuple):
    """A contest for the place of the leader, and where it stands."""

    best: int
    pulls: int  # of the best
    top: float  # its score
    top_ahead: float  # and that a `reach` ahead
    rival: int  # who is to be scored next; −1 before the best is
    bound: float  # the largest bound of the others
    due: int  # when the first of their bounds runs out
    log_n: float
    decided: bool


def step(
    policy: Any, memory: Any, row: Any, pulls: Any, bounds: Any, dues: Any, contest: Contest, n: int
) -> Contest:  # fmt: skip
    """Score one arm, and see whether the best is known: the best at first, then whoever has the largest bound.

    One at a time: threads of a warp wait for each other, and one that needs many scores must not hold up the others.
    """
    best, count, top, top_ahead, arm, _, _, log_n, _ = contest
    fresh = arm < 0
    log_n = log_of(n) if fresh else log_n
    reach = reach_of_phase(policy, log_n)
    arms = len(pulls)
    size = group_size(arms)
    belief = known_of(memory, row, best) if fresh else memory.belief(arm)
    score = number(policy.score(belief, log_n))
    ahead = policy.score(belief, log_n + reach) if score < math.inf else score
    if fresh:
        top, top_ahead = score, ahead
    else:
        loser, loser_score, loser_pulls = arm, score, pulls[arm]
        if precedes(score, loser_pulls, arm, top, count, best):
            belief = known_of(memory, row, best)
            put_down(memory, row, best)
            pulls[best] = count
            pick_up(memory, row, arm)
            settle(bounds, dues, arms, size, arm, NOBODY, LAST)
            loser, loser_score, loser_pulls, best, top, count = best, top, count, arm, score, loser_pulls
            ahead, top_ahead = top_ahead, ahead
        share = AHEAD_OF_MANY if len(bounds) > arms else AHEAD
        bound, until = bound_ahead(policy, belief, n, log_n, loser_score, top, reach, ahead, loser_pulls, share)
        settle(bounds, dues, arms, size, loser, bound, until)
    start, due = 0, n + max(1, int(n * reach))
    if len(bounds) > arms:
        group, _, first_due = highest(bounds, dues, arms, len(bounds), n)
        start, due = (group - arms) * size, min(due, first_due)
    arm, most, first_due = highest(bounds, dues, start, min(start + size, arms), n)
    bar = place(top, count)
    decided = most == NOBODY or most < bar or (most == bar and arm > best and top == math.inf)
    return Contest(
        best, count, top, top_ahead, arm, most if most < MOST else math.inf, min(due, first_due), log_n, decided
    )


def group_size(arms: int) -> int:
    """Arms in a group: all of few, about the root of many."""
    return arms if arms <= ONE_GROUP else 1 + int(math.sqrt(float(arms - 1)))


def highest(bounds: Any, dues: Any, start: int, stop: int, n: int) -> tuple[Any, Any, Any]:
    """The first with the largest bound, that bound, and when the first bound runs out; one that has run out is ∞.

    No branches: the numbers of several arms are then on their way from memory at the same time.
    """
    now = np.int32(n)
    first, most, due = np.int32(start), NOBODY, LAST
    for k in range(start, stop):
        until = dues[k]
        bound = UNKNOWN if until <= now else bounds[k]
        first = np.int32(k) if bound > most else first
        most = bound if bound > most else most
        due = until if until < due else due
    return np.int64(first), np.float64(most), np.int64(due)


def settle(bounds: Any, dues: Any, arms: int, size: int, arm: int, bound: Any, due: Any) -> None:
    """Write an arm's bound and set its group's right."""
    bounds[arm], dues[arm] = bound, due
    if len(bounds) == arms:
        return
    group = arm // size
    most, least = NOBODY, LAST
    for k in range(group * size, min(group * size + size, arms)):
        most = bounds[k] if bounds[k] > most else most
        least = dues[k] if dues[k] < least else least
    bounds[arms + group], dues[arms + group] = most, least


def line_up(bounds: Any, dues: Any, arms: int) -> None:
    """Bounds before the first pull: every score may be ∞, and arm 0 leads."""
    for k in range(len(bounds)):
        bounds[k], dues[k] = place(math.inf, 0), LAST
    settle(bounds, dues, arms, group_size(arms), 0, NOBODY, LAST)


def place(score: float, pulls: int) -> float:
    """A score as a bound is compared with it: ∞ becomes numbers above all others that fall with the arm's pulls."""
    return ENDLESS - STEP * float(1 + min(pulls, MOST_COUNTED)) if score == math.inf else min(score, MOST_FINITE)


def bound_ahead(
    policy: Any, belief: Any, n: int, log_n: float, score: float, top: float, reach: float, ahead: float, pulls: int,
    share: float,
) -> tuple[Any, Any]:  # fmt: skip
    """A bound of a loser's score and the pull at which it runs out: as far ahead as it stays below the winner's.

    As ln(n + x·n) ≤ ln n + x, a score at the latter bounds all pulls up to the former. `ahead` is that for `reach`.
    Where nothing can be said beyond this pull, the arm is out of this contest and will be in the next.
    """
    if score == math.inf:
        if pulls < MOST_COUNTED:
            return np.float32(place(score, pulls)), LAST
        return NOBODY, np.int32(n + 1)
    gap = top - score
    bound = upper(ahead)
    if not (bound < top and bound - score <= share * gap):
        reach *= NEARER if bound == math.inf else share * gap / (bound - score)
        bound = math.inf
        while reach * n >= 1.0 and not bound < top:
            bound = upper(policy.score(belief, log_n + reach))
            reach *= 1.0 if bound < top else NEARER
        if not bound < top:
            return NOBODY, np.int32(n + 1)
    return np.float32(bound), np.int32(min(n + int(max(1.0, reach * n)), int(LAST)))


def upper(score: float) -> float:
    """A number of 32 bits above the score, with a margin; ∞ if that would be beyond all scores that count as finite."""
    if not score < MOST:
        return math.inf
    return float(np.float32(max(-MOST, score + (MARGIN + ROUND_UP) * abs(score) + LEAST)))


def reach_of_phase(policy: Any, log_n: float) -> float:
    """How far ahead in ln n the policy's phase is surely unchanged; at most REACH."""
    here = policy.phase(log_n)
    reach = REACH
    while reach > 1e-9 and policy.phase(log_n + reach) != here:
        reach *= 0.5
    return reach if reach > 1e-9 else 0.0


def decide(policy: Any, memory: Any, pulls: Any, spent: float, n: int, rng: Any) -> int:
    """The arm to pull next: one of the four below, by what the policy has."""
    raise NotImplementedError("only compiled code decides on the device")


def decide_by_score(policy: Any, memory: Any, pulls: Any, spent: float, n: int, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `score`."""
    return best_by_score(policy, memory, pulls, log_of(n))


def decide_by_sample(policy: Any, memory: Any, pulls: Any, spent: float, n: int, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `sample`."""
    return best_by_sample(policy, memory, pulls, log_of(n), rng)


def decide_by_excess(policy: Any, memory: Any, pulls: Any, spent: float, n: int, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `excess`."""
    return best_by_excess(policy, memory, pulls)


def decide_by_choose(policy: Any, memory: Any, pulls: Any, spent: float, n: int, rng: Any) -> int:  # noqa: ARG001
    """`decide` for a policy with `choose`."""
    arm: int = policy.choose(memory, Now(n, log_of(n), spent), rng)
    return arm


def added(total: float, low: float, term: float) -> tuple[float, float]:
    """Kahan's sum: the total, and what rounding has added to it too much."""
    term -= low
    after = total + term
    return after, (after - total) - term


def note(passages: Any, run: int, passed: int, pulls: Any, spent: float, earned: float) -> None:
    """Write down how a run stands at the passage of a budget."""
    for k in range(len(pulls)):
        passages.pulls[run, passed, k] = pulls[k]
    passages.cost[run, passed] = spent
    passages.reward[run, passed] = earned


def count_in(tally: Any, done: bool, troubled: bool, spent: float, earned: float, budget: float) -> None:
    """Add a run to the tally of all: whether it goes on, whether it needs help, and how far it is."""
    if done:
        cuda.atomic.add(tally, DONE, 1)
        cuda.atomic.add(tally, SHARE, MILLION)
        return
    cuda.atomic.add(tally, OPEN, 1)
    cuda.atomic.add(tally, SHARE, int(MILLION * min(max(spent / budget, 0.0), 0.999)))
    if troubled or not (math.isfinite(spent) and math.isfinite(earned)):
        cuda.atomic.add(tally, TROUBLED, 1)


def open_stream(rng: Any, state: Any, run: int, key: Any, first: int) -> None:
    """Take up a run's stream where it was left."""
    rng.words[KEY], rng.words[RUN] = key, uint64(first + run)
    rng.words[BLOCK], rng.words[KEPT], rng.words[KEEPS] = state.words[0, run], state.words[1, run], state.words[2, run]
    rng.normals[NORMAL], rng.normals[KEEPS_NORMAL] = state.normals[0, run], state.normals[1, run]


def close_stream(rng: Any, state: Any, run: int) -> None:
    """Leave it so."""
    state.words[0, run], state.words[1, run], state.words[2, run] = rng.words[BLOCK], rng.words[KEPT], rng.words[KEEPS]
    state.normals[0, run], state.normals[1, run] = rng.normals[NORMAL], rng.normals[KEEPS_NORMAL]


def of_run(memories: Any, run: int) -> Any:
    """A run's part of the memories of all runs; the compiler's version is made from their type in `device_code`."""
    raise NotImplementedError("only compiled code holds the memories of many runs in one")


# The leader's memory, in registers where it is moments. Each has a second version in `device_code` for other memories,
# which stay where they are.


def pick_up(memory: Any, row: Any, arm: int) -> None:
    """Copy an arm's moments into the row."""
    for i in range(8):
        row[0, i] = memory.stats[arm, i]


def put_down(memory: Any, row: Any, arm: int) -> None:
    """Copy them back."""
    for i in range(8):
        memory.stats[arm, i] = row[0, i]


def take_in(memory: Any, row: Any, arm: int, cost: float, reward: float) -> None:  # noqa: ARG001
    """`observe`, on the row."""
    of_row(memory, row).observe(0, cost, reward)


def known_of(memory: Any, row: Any, arm: int) -> Any:
    """`belief`, from the row."""
    return of_arm(of_row(memory, row).belief(0), arm)


def of_row(memory: Any, row: Any) -> Any:
    """A memory of one arm, like another in all else; compiled only."""
    raise NotImplementedError("only compiled code keeps moments in registers")


def of_arm(belief: Any, arm: int) -> Any:
    """The same belief about another arm; compiled only."""
    raise NotImplementedError("only compiled code keeps moments in registers")


def leave(memory: Any, row: Any, arm: int) -> None:
    """`pick_up` and `put_down` of a memory that stays where it is: nothing."""


def take_in_there(memory: Any, row: Any, arm: int, cost: float, reward: float) -> None:  # noqa: ARG001
    """`take_in` of such a memory."""
    memory.observe(arm, cost, reward)


def known_of_there(memory: Any, row: Any, arm: int) -> Any:  # noqa: ARG001
    """`known_of` of such a memory."""
    return memory.belief(arm)
