"""The loop on the GPU: one thread per run. Plain functions, compiled for the device by `gpu.code`.

Each array of a run's state has the run as its last axis, so that neighbouring threads read neighbouring numbers; a run
sees its own part of it as an ordinary array, and the same methods of policies, memories and laws work on that.

A policy with `phase` promises that its scores only rise with ln n between pulls of the arm (see `lazy`), and is played
lazily. The leader's moments lie in registers, and while its score exceeds a bound of all others it is pulled again: one
score and no logarithm per pull. Otherwise there is a contest, which scores the arm with the largest bound until no
bound reaches the best score.

Threads run in warps of 32, in which all wait for any that does something else. So a thread that needs a contest pauses
until the pulls that paused threads of its warp have missed are worth about one step of it; then all of these take one.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import cuda, float64, uint64
from numpy.typing import NDArray

from outlay.engine.gpu.contest import Contest, line_up, step
from outlay.engine.gpu.decide import decide
from outlay.engine.gpu.memory import known_of, of_run, pick_up, put_down, take_in
from outlay.engine.gpu.random import BLOCK, KEEPS, KEEPS_NORMAL, KEPT, KEY, NORMAL, RUN, Philox
from outlay.engine.limits import Counts, Limits
from outlay.engine.run.loop import (
    EARNED,
    EARNED_LOW,
    PASSED,
    PULLS,
    SPENT,
    SPENT_LOW,
    STRAY,
    Arms,
    Passages,
    Room,
)  # fmt: skip
from outlay.policies.protocol import MemoryTuple, Phased, Policy

LEADER = 3  # a row of Standings.marks beside those of the loop
# Entries of the tally, which a run that raises is not in: runs not done, those that need help, what is done, runs done.
OPEN, TROUBLED, SHARE, DONE = range(4)
MILLION = 1_000_000  # the tally counts shares of a run in millionths
WARP = 0xFFFFFFFF
PATIENCE = 32  # missed pulls in a warp that are worth a step of a contest (measured)


class Standings(NamedTuple):
    """Where each run stands; the run is the last axis."""

    pulls: NDArray[np.int64]  # [arm, run]
    totals: NDArray[np.float64]  # [4, run], as in the loop
    marks: NDArray[np.int64]  # [4, run]: as in the loop, and the leader
    words: NDArray[np.uint64]  # [3, run]: the stream's, from its next block on
    normals: NDArray[np.float64]  # [2, run]
    bounds: NDArray[np.float32]  # [arm, then group if many, run]: upper bounds of scores, the leader's aside
    dues: NDArray[np.int32]  # likewise: the pull at which a bound runs out
    room: Room  # for hard mode: of each run, but for what pulls can cost


def play_plainly(
    world: Arms, policy: Policy, memories: MemoryTuple, state: Standings, passages: Passages, limits: Limits,
    tally: Counts, key: np.uint64, first: int, limit: int, cap: int,
) -> None:  # fmt: skip
    """Advance every run by `limit` pulls, deciding anew at each."""
    run, budgets, requests = cuda.grid(1), limits.budgets, limits.requests
    words, normals = cuda.local.array(5, uint64), cuda.local.array(2, float64)
    rng = Philox(words, normals)
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
        while passed < len(budgets) and (spent > budgets[passed] or n >= requests[passed]):
            note(passages, run, passed, pulls, spent, earned)
            passed += 1
    state.marks[PULLS, run], state.marks[PASSED, run] = n, passed
    state.totals[SPENT, run], state.totals[SPENT_LOW, run] = spent, spent_low
    state.totals[EARNED, run], state.totals[EARNED_LOW, run] = earned, earned_low
    close_stream(rng, state, run)
    troubled = state.marks[STRAY, run] != 0 or n >= cap or memory.full()
    used = max(spent / budgets[len(budgets) - 1], n / requests[len(budgets) - 1])
    count_in(tally, passed == len(budgets), troubled, spent, earned, used)


def play_lazily(
    world: Arms, policy: Phased, memories: MemoryTuple, state: Standings, passages: Passages, limits: Limits,
    tally: Counts, key: np.uint64, first: int, limit: int, cap: int,
) -> None:  # fmt: skip
    """Advance every run by `limit` pulls, scoring the leader alone where that is enough."""
    run, budgets, requests = cuda.grid(1), limits.budgets, limits.requests
    words, normals, row = cuda.local.array(5, uint64), cuda.local.array(2, float64), cuda.local.array((1, 8), float64)
    rng = Philox(words, normals)
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
    budget, request = budgets[min(passed, len(budgets) - 1)], requests[min(passed, len(budgets) - 1)]
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
                if spent > budget or n >= request:
                    pulls[leader] = count
                    while passed < len(budgets) and (spent > budgets[passed] or n >= requests[passed]):
                        note(passages, run, passed, pulls, spent, earned)
                        passed += 1
                    last = min(passed, len(budgets) - 1)
                    budget, request = budgets[last], requests[last]
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
    used = max(spent / budgets[len(budgets) - 1], n / requests[len(budgets) - 1])
    count_in(tally, passed == len(budgets), troubled, spent, earned, used)


def added(total: float, low: float, term: float) -> tuple[float, float]:
    """Kahan's sum: the total, and what rounding has added to it too much."""
    term -= low
    after = total + term
    return after, (after - total) - term


def note(passages: Passages, run: int, passed: int, pulls: Counts, spent: float, earned: float) -> None:
    """Write down how a run stands at the passage of a budget."""
    for k in range(len(pulls)):
        passages.pulls[run, passed, k] = pulls[k]
    passages.cost[run, passed] = spent
    passages.reward[run, passed] = earned


def count_in(tally: Counts, done: bool, troubled: bool, spent: float, earned: float, used: float) -> None:
    """Add a run to the tally of all: whether it goes on, whether it needs help, how far it is."""
    if done:
        cuda.atomic.add(tally, DONE, 1)
        cuda.atomic.add(tally, SHARE, MILLION)
        return
    cuda.atomic.add(tally, OPEN, 1)
    cuda.atomic.add(tally, SHARE, int(MILLION * min(max(used, 0.0), 0.999)))
    if troubled or not (math.isfinite(spent) and math.isfinite(earned)):
        cuda.atomic.add(tally, TROUBLED, 1)


def open_stream(rng: Philox, state: Standings, run: int, key: np.uint64, first: int) -> None:
    """Take up a run's stream where it was left."""
    rng.words[KEY], rng.words[RUN] = key, uint64(first + run)
    rng.words[BLOCK], rng.words[KEPT], rng.words[KEEPS] = state.words[0, run], state.words[1, run], state.words[2, run]
    rng.normals[NORMAL], rng.normals[KEEPS_NORMAL] = state.normals[0, run], state.normals[1, run]


def close_stream(rng: Philox, state: Standings, run: int) -> None:
    """Leave it so."""
    state.words[0, run], state.words[1, run], state.words[2, run] = rng.words[BLOCK], rng.words[KEPT], rng.words[KEEPS]
    state.normals[0, run], state.normals[1, run] = rng.normals[NORMAL], rng.normals[KEEPS_NORMAL]
