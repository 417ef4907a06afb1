"""The loop on the GPU for policies that compare every arm with the leader: one thread per run, like `gpu.kernel`.

While it is certain that the leader is to be pulled, it lies in hand (`gpu.hand`), and a pull touches little else.
Otherwise it takes a look at the others (`gpu.look`), one comparison at a time. As in `gpu.kernel`, a thread that needs
one pauses until the pulls that paused threads of its warp have missed are worth it.
"""

import numpy as np
from numba import cuda, float64, uint64

from outlay.engine.gpu.hand import SIDES, Hand, at_rest, lead_on, pick_up_lead, put_down_lead
from outlay.engine.gpu.kernel import WARP, Standings, added, close_stream, count_in, note, open_stream
from outlay.engine.gpu.look import BEGIN, DECIDED, Look, step
from outlay.engine.gpu.memory import of_run
from outlay.engine.gpu.random import Philox
from outlay.engine.loop import EARNED, EARNED_LOW, PASSED, PULLS, SPENT, SPENT_LOW, Arms, Counts, Floats, Passages
from outlay.formulas.certificate import LEADER, forget_certificate
from outlay.policies.protocol import Compared, MemoryTuple

PATIENCE = 16  # missed pulls in a warp that are worth a comparison


def play_comparing(
    world: Arms, policy: Compared, memories: MemoryTuple, state: Standings, passages: Passages, budgets: Floats,
    tally: Counts, key: np.uint64, first: int, limit: int, cap: int,
) -> None:  # fmt: skip
    """Advance every run by `limit` pulls, comparing arms only where that may change the choice."""
    run = cuda.grid(1)
    words, normals = cuda.local.array(5, uint64), cuda.local.array(2, float64)
    rows, extremes, usual = (
        cuda.local.array((2, 8), float64),
        cuda.local.array(3, float64),
        cuda.local.array(2, float64),
    )
    rng, hand = Philox(words, normals), Hand(rows, extremes, usual, cuda.local.array((2, SIDES), float64))
    open_stream(rng, state, run, key, first)
    memory, pulls, known = of_run(memories, run), state.pulls[:, run], of_run(state.known, run)
    n, passed = state.marks[PULLS, run], state.marks[PASSED, run]
    spent, spent_low = state.totals[SPENT, run], state.totals[SPENT_LOW, run]
    earned, earned_low = state.totals[EARNED, run], state.totals[EARNED_LOW, run]
    stop = min(n + limit, cap)
    if n == 0:
        forget_certificate(known)
    going = passed < len(budgets) and n < stop and not memory.full()
    budget = budgets[min(passed, len(budgets) - 1)]
    arm, count, sure, held = 0, 0, False, False  # sure: it is known that the arm is to be pulled; held: it is in hand
    stage, best, least, on_best, fresh = BEGIN, 0, 0.0, 0.0, 0.0
    while cuda.any_sync(WARP, going):
        if going and not sure:
            if held:
                put_down_lead(memory, hand, arm)
                held = False
            look = step(policy, memory, pulls, known, Look(stage, arm, best, least, on_best, fresh), n, rng)
            stage, arm, best, least, on_best, fresh = look
            if stage == DECIDED:
                stage, sure, count = BEGIN, True, pulls[arm]
                if arm == known.marks[LEADER] and at_rest(known):
                    held = pick_up_lead(memory, hand, arm, known)
        missed = 0
        while missed < PATIENCE:
            if going and sure:
                cost, reward = world.pull(arm, rng)
                if held:
                    sure = lead_on(memory, hand, arm, cost, reward)
                else:
                    memory.observe(arm, cost, reward)
                    sure = False
                count += 1
                n += 1
                spent, spent_low = added(spent, spent_low, cost)
                earned, earned_low = added(earned, earned_low, reward)
                if spent > budget or not sure:
                    pulls[arm] = count
                while passed < len(budgets) and spent > budgets[passed]:
                    note(passages, run, passed, pulls, spent, earned)
                    passed += 1
                    budget = budgets[min(passed, len(budgets) - 1)]
                going = passed < len(budgets) and n < stop and not memory.full()
            if not cuda.any_sync(WARP, going and sure):
                break
            missed += cuda.popc(cuda.ballot_sync(WARP, going and not sure))
    if held:
        put_down_lead(memory, hand, arm)
        pulls[arm] = count
    state.marks[PULLS, run], state.marks[PASSED, run] = n, passed
    state.totals[SPENT, run], state.totals[SPENT_LOW, run] = spent, spent_low
    state.totals[EARNED, run], state.totals[EARNED_LOW, run] = earned, earned_low
    close_stream(rng, state, run)
    troubled = n >= cap or memory.full()
    count_in(tally, passed == len(budgets), troubled, spent, earned, budgets[len(budgets) - 1])
