"""One run in the interpreter, pull by pull: to watch what `simulate` plays."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from outlay.arms.law import support_of
from outlay.arms.problem import Problem
from outlay.engine.limits import Mode
from outlay.engine.run.hard import NONE_FITS, dearest_of_all, decide_within
from outlay.engine.run.loop import Room, Scratch, forget
from outlay.errors import BadParameter
from outlay.policies.protocol import Policy, check_memory, with_limits


class Step(NamedTuple):
    """One pull and what it brought; `spent` counts it."""

    arm: int
    cost: float
    reward: float
    spent: float


def trace(
    problem: Problem,
    policy: Policy,
    budget: float,
    seed: int = 0,
    run: int = 0,
    *,
    requests: int | None = None,
    mode: Mode = "until_exceeded",
) -> Iterator[Step]:
    """The pulls of a run of `simulate(problem, policy, [budget], seed=seed, …)`, draw for draw.

    They end when the budget is spent, or as many requests are served; in hard mode, when no arm's dearest pull fits.

    >>> from outlay import Problem, arms, policies
    >>> problem = Problem([arms.Constant(1.0, 0.5), arms.Constant(2.0, 0.5)])
    >>> [step.arm for step in trace(problem, policies.RoundRobin(), budget=5.0)]
    [0, 1, 0, 1]
    >>> [step.arm for step in trace(problem, policies.RoundRobin(), budget=5.0, requests=3)]
    [0, 1, 0]
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))
    policy, memory = with_limits(policy, budget, requests), check_memory("trace", policy, len(problem))
    pulls, scratch = np.zeros(len(problem), np.int64), Scratch.start(len(problem))
    forget(scratch)
    room = Room.start(len(problem))
    room.dearest[:] = [support_of(law).cost_high if mode == "hard" else -math.inf for law in problem.arms]
    spent, n = 0.0, 0
    while spent <= budget and (requests is None or n < requests):
        if memory.full():
            memory = memory.enlarged()
        arm = decide_within(
            policy, memory, pulls, spent, 0.0, n, scratch, room, dearest_of_all(room), budget, rng
        )  # fmt: skip
        if arm == NONE_FITS:
            return
        if not 0 <= arm < len(pulls):
            raise BadParameter(type(policy).__name__, "the arm that choose returns", f"0 to {len(pulls) - 1}", arm)
        cost, reward = problem.arms[arm].draw(rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        room.totals[arm] += cost, reward
        n += 1
        spent += cost
        yield Step(arm, cost, reward, spent)
