"""The loop on the GPU for policies that compare every arm with the leader: one thread per run, like `gpu.kernel`.

While it is certain that the leader is to be pulled, it lies in hand (`gpu.hand`), and a pull touches little else.
Otherwise a thread takes a look at the others (`gpu.look`). As in `gpu.kernel`, one that needs a look pauses until the
pulls that paused threads of its warp have missed are worth it; then all of these take one.
"""

import math

import numpy as np
from numba import cuda, float64, uint64

from outlay.engine.gpu.chunk import THREADS
from outlay.engine.gpu.hand import SIDES, Hand, goes_on, put_back, take, within_extremes
from outlay.engine.gpu.kernel import WARP, Standings, added, close_stream, count_in, note, open_stream
from outlay.engine.gpu.look import FEWEST, FIRST_SPAN, NOBODY, Look, look
from outlay.engine.gpu.memory import of_run
from outlay.engine.gpu.random import Philox
from outlay.engine.limits import Counts, Limits
from outlay.engine.run.loop import EARNED, EARNED_LOW, PASSED, PULLS, SPENT, SPENT_LOW, Arms, Passages
from outlay.policies.protocol import Compared, MemoryTuple

PATIENCE = 64  # missed pulls in a warp that are worth a look (measured)


def play_comparing(
    world: Arms, policy: Compared, memories: MemoryTuple, state: Standings, passages: Passages, limits: Limits,
    tally: Counts, key: np.uint64, first: int, limit: int, cap: int,
) -> None:  # fmt: skip
    """Advance every run by `limit` pulls, comparing arms only where that may change the choice."""
    run, budgets, requests = cuda.grid(1), limits.budgets, limits.requests
    words, normals = cuda.local.array(5, uint64), cuda.local.array(2, float64)
    rows, extremes, usual = (
        cuda.local.array((2, 8), float64),
        cuda.local.array(3, float64),
        cuda.local.array(2, float64),
    )
    boxes = cuda.shared.array((4, SIDES, THREADS), float64)  # read at every pull: too many numbers for registers
    narrow, wide = boxes[:2, :, cuda.threadIdx.x], boxes[2:, :, cuda.threadIdx.x]
    rng, hand = Philox(words, normals), Hand(rows, extremes, usual, narrow, wide)
    open_stream(rng, state, run, key, first)
    memory, pulls, listed = of_run(memories, run), state.pulls[:, run], state.dues[:, run]
    n, passed = state.marks[PULLS, run], state.marks[PASSED, run]
    spent, spent_low = state.totals[SPENT, run], state.totals[SPENT_LOW, run]
    earned, earned_low = state.totals[EARNED, run], state.totals[EARNED_LOW, run]
    stop = min(n + limit, cap)
    going = passed < len(budgets) and n < stop and not memory.full()
    budget, request = budgets[min(passed, len(budgets) - 1)], requests[min(passed, len(budgets) - 1)]
    # ready: the arm is to be pulled; held: it is the leader, in hand, and may be for some time.
    arm, count, ready, held = 0, pulls[0], False, False
    leader, runner_up, doubtful, reach, span = NOBODY, 0.0, 0, FEWEST, FIRST_SPAN
    while cuda.any_sync(WARP, going):
        if going and not ready:
            if held:
                put_back(memory, hand, arm)
            last = Look(arm, leader, runner_up, doubtful, reach, span)
            arm, leader, runner_up, doubtful, reach, span = look(policy, memory, pulls, listed, hand, last, n, rng)
            ready, held, count = True, narrow[0, 0] < math.inf, pulls[arm]
            if held:
                take(memory, hand, arm)
        missed = 0
        while missed < PATIENCE:
            if going and ready:
                cost, reward = world.pull(arm, rng)
                if held:
                    usual_sample = within_extremes(extremes, cost, reward)
                    ready = goes_on(memory, hand, arm, cost, reward) and usual_sample
                else:
                    usual_sample = within_extremes(memory.extremes, cost, reward)
                    memory.observe(arm, cost, reward)
                    ready = False
                leader = leader if usual_sample else NOBODY
                count += 1
                n += 1
                spent, spent_low = added(spent, spent_low, cost)
                earned, earned_low = added(earned, earned_low, reward)
                if spent > budget or n >= request or not ready:
                    pulls[arm] = count
                while passed < len(budgets) and (spent > budgets[passed] or n >= requests[passed]):
                    note(passages, run, passed, pulls, spent, earned)
                    passed += 1
                    last_one = min(passed, len(budgets) - 1)
                    budget, request = budgets[last_one], requests[last_one]
                going = passed < len(budgets) and n < stop and not memory.full()
            if not cuda.any_sync(WARP, going and ready):
                break
            missed += cuda.popc(cuda.ballot_sync(WARP, going and not ready))
    if held:
        put_back(memory, hand, arm)
        pulls[arm] = count
    state.marks[PULLS, run], state.marks[PASSED, run] = n, passed
    state.totals[SPENT, run], state.totals[SPENT_LOW, run] = spent, spent_low
    state.totals[EARNED, run], state.totals[EARNED_LOW, run] = earned, earned_low
    close_stream(rng, state, run)
    troubled = n >= cap or memory.full()
    used = max(spent / budgets[len(budgets) - 1], n / requests[len(budgets) - 1])
    count_in(tally, passed == len(budgets), troubled, spent, earned, used)
