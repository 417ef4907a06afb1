"""Hard mode on the GPU: the CPU's own loop, `hard.advance_hard`, compiled for the device, one thread per run.

While every arm fits, all are asked about at each pull: nothing is remembered from pull to pull that would spare that.
"""

from typing import Any

import numpy as np
from numba import cuda, float64, uint64

from outlay.engine.gpu.decide import decide
from outlay.engine.gpu.kernel import Standings, close_stream, count_in, open_stream
from outlay.engine.gpu.memory import of_run
from outlay.engine.gpu.random import Philox
from outlay.engine.limits import Counts, Limits
from outlay.engine.run.hard import advance_hard
from outlay.engine.run.loop import EARNED, PASSED, PULLS, SPENT, STRAY, Arms, Passages, Room
from outlay.policies.protocol import Memory, MemoryTuple, Policy

NO_SCRATCH: Any = ()


def play_within(
    world: Arms, policy: Policy, memories: MemoryTuple, state: Standings, passages: Passages, limits: Limits,
    tally: Counts, key: np.uint64, first: int, limit: int, cap: int,
) -> None:  # fmt: skip
    """Advance every run by `limit` pulls, none past the budget, of which there is one."""
    run, budget, requests = cuda.grid(1), limits.budgets[0], limits.requests[0]
    words, normals = cuda.local.array(5, uint64), cuda.local.array(2, float64)
    rng = Philox(words, normals)
    open_stream(rng, state, run, key, first)
    memory, totals, marks = of_run(memories, run), state.totals[:, run], state.marks[:, run]
    shared = state.room
    room = Room(shared.dearest, shared.totals[:, :, run], shared.arms[:, run], shared.pulls[:, run])
    if marks[PASSED] == 0:
        advance_hard(
            rng, world, policy, memory, state.pulls[:, run], totals, marks, NO_SCRATCH, room, budget, requests,
            passages.pulls[run], passages.cost[run], passages.reward[run], min(marks[PULLS] + limit, cap),
        )  # fmt: skip
    close_stream(rng, state, run)
    troubled = marks[STRAY] != 0 or marks[PULLS] >= cap or memory.full()
    used = max(totals[SPENT] / budget, marks[PULLS] / requests)
    count_in(tally, marks[PASSED] == 1, troubled, totals[SPENT], totals[EARNED], used)


def decide_anew(
    policy: Policy, memory: Memory, pulls: Counts, spent: float, n: int, scratch: tuple[()], rng: Philox  # noqa: ARG001
) -> int:  # fmt: skip
    """`loop.decide` on the device."""
    return decide(policy, memory, pulls, spent, n, rng)


def forget_nothing(scratch: tuple[()]) -> None:
    """`loop.forget` on the device."""
