"""Play runs, pull by pull, until their budgets are spent: plain Python that is also compiled.

A run pulls arms until its spending exceeds the largest budget. Spending need not be monotone (costs may be
negative), so what a budget B sees is its *first* passage N(B) = inf{n : S_n > B}, and the pull that crosses it
counts (the paper, Section 2). Where requests are limited, too, a pair (B, N) is passed as soon as S_n > B or n = N.
A run whose policy is told neither yields every pair: it would choose the same for each. Where a policy wants to know
the budget or the requests, `simulate` gives each pair runs of its own, with limits of one pair.

All state lives in arrays, so that the loop can stop after a slice of pulls and be resumed with nothing lost:
that is how a progress bar moves and Ctrl-C returns at once.

In hard mode no run passes its budget (`engine/choose_arm.py`): it ends when no arm fits or no request is left.
Since its last pulls depend on the budget, it serves one budget alone.
"""

from collections.abc import Callable
from types import EllipsisType
from typing import Any, NamedTuple, Protocol

import numpy as np

from outlay.arms.contextual import RequestTable
from outlay.engine.bulk_random import Words
from outlay.engine.choose_arm import (
    NONE_FITS,
    Affordable,
    AnyRng,
    ChoiceCache,
    Floats,
    Rng,
    decide,
    decide_within,
    forget,
)
from outlay.engine.limits import Counts, Limits
from outlay.policies.protocol import Memory, Policy, has

Index = int | slice | tuple[slice, ...] | EllipsisType

# Entries of RunState.marks: the run's pulls, the limits it has passed, what it chose that is no arm, its row, and the
# pulls of all runs. STRAY's is 0 until a policy names an arm below 0 or past the last one, then that number: the run
# stops there, and whoever plays it raises an error.
PULLS, PASSED, STRAY, RUN, MADE = range(5)
# Entries of RunState.totals: two sums, each with Kahan's running correction.
SPENT, SPENT_LOW, EARNED, EARNED_LOW = 0, 1, 2, 3


class World(Protocol):
    """The arms of a problem as the loop pulls them."""

    def pull(self, law: int, rng: AnyRng, /) -> tuple[float, float]:
        """Draw a cost and a reward from one of `Problem.laws`: an arm's, or where arms change one of an arm's."""


AnyWorld = World | RequestTable


class ResetImage(NamedTuple):
    """What a run starts with, and where it is copied to: the state of the generator and the words of the memory.

    Where each run has a generator and a memory of its own, the copies go to words that nothing reads.
    """

    seeds: Words  # [run, 4]: states of the generator, as `bulk_random.seeded` has them
    state: Words  # [4]: the generator's state
    spare: Words  # [1]: what it keeps of a draw
    blank: Words  # a memory before the first pull
    memory: Words  # the memory


class RunState(NamedTuple):
    """Where the run stands that is being played; the runs of a batch are played one after another."""

    pulls: Counts  # [arm]
    totals: Floats  # [4]: spent and earned so far
    marks: Counts  # [5]
    cache: ChoiceCache
    affordable: Affordable | None  # in hard mode

    @staticmethod
    def start(arms: int, dearest: Floats | None = None) -> "RunState":
        """Before the first run; in hard mode, where a pull of each arm costs at most so much."""
        pulls, totals, marks = np.zeros(arms, np.int64), np.zeros(4), np.zeros(5, np.int64)
        affordable = None if dearest is None else Affordable.start(dearest)
        return RunState(pulls, totals, marks, ChoiceCache.start(arms), affordable)


class Crossings(NamedTuple):
    """What each run had done when it passed each budget, or pair of a budget and requests."""

    pulls: Counts  # [run, budget, arm]
    cost: Floats  # [run, budget]
    reward: Floats  # [run, budget]

    @staticmethod
    def blank(runs: int, budgets: int, arms: int) -> "Crossings":
        """Room for so many runs, all zeros.

        >>> Crossings.blank(runs=5, budgets=2, arms=3).pulls.shape
        (5, 2, 3)
        """
        shape = (runs, budgets)
        return Crossings(np.zeros((*shape, arms), np.int64), np.zeros(shape), np.zeros(shape))

    def part(self, index: Index) -> "Crossings":
        """The same part of each array."""
        return Crossings(self.pulls[index], self.cost[index], self.reward[index])

    def fill(self, played: "Crossings") -> None:
        """Write what was played here."""
        for mine, theirs in zip(self, played, strict=True):
            mine[...] = theirs


def play(
    rng: Rng, world: AnyWorld, policy: Policy, memory: Memory, reset_image: ResetImage, state: RunState,
    crossings: Crossings, limits: Limits, pulls_left: int, max_pulls: int, end_row: int,
) -> None:  # fmt: skip
    """Go on with the runs before `end_row`, one after another: `pulls_left` pulls in all, `max_pulls` of any one run.

    It returns early where a run cannot go on: its memory is full, it has made `max_pulls` pulls, or it has chosen an
    arm that does not exist.
    """
    marks = state.marks
    while marks[RUN] < end_row and pulls_left > 0:
        before, row = marks[PULLS], marks[RUN]
        if before == 0:
            begin(reset_image, state)
        advance(
            rng, world, policy, memory, state.pulls, state.totals, marks, state.cache, state.affordable, limits.budgets,
            limits.requests, limits.laws, crossings.pulls[row], crossings.cost[row], crossings.reward[row],
            min(before + pulls_left, max_pulls),
        )  # fmt: skip
        made = marks[PULLS] - before
        marks[MADE] += made
        pulls_left -= made
        if marks[PASSED] < len(limits.budgets):
            break
        marks[RUN] += 1
        marks[PULLS] = 0


def begin(reset_image: ResetImage, state: RunState) -> None:
    """Reset generator, memory and counters for the next run."""
    run = state.marks[RUN]
    for i in range(4):
        reset_image.state[i] = reset_image.seeds[run, i]
    reset_image.spare[0] = 0
    for i in range(len(reset_image.blank)):
        reset_image.memory[i] = reset_image.blank[i]
    for arm in range(len(state.pulls)):
        state.pulls[arm] = 0
    for i in range(4):
        state.totals[i] = 0.0
    state.marks[PASSED] = 0


def advance(
    rng: AnyRng, world: AnyWorld, policy: Policy, memory: Memory, pulls: Counts, totals: Floats, marks: Counts,
    cache: ChoiceCache, affordable: Affordable | None, budgets: Floats, requests: Counts, laws: Counts,
    out_pulls: Counts, out_cost: Floats, out_reward: Floats, last_pull: int,
) -> None:  # fmt: skip
    """Pull one run's arms until every limit is passed, it has made `last_pull` pulls, or its memory is full.

    In hard mode, where a run has one budget, it also ends when no arm fits.
    """
    n, passed = marks[PULLS], marks[PASSED]
    spent, spent_low = totals[SPENT], totals[SPENT_LOW]
    earned, earned_low = totals[EARNED], totals[EARNED_LOW]
    forget(cache)
    if affordable is not None and n == 0:
        affordable.totals[:] = 0.0
    no_arm_fits = False
    while passed < len(budgets) and n < last_pull and not memory.full():
        request = next_request(world, memory, rng)
        if affordable is not None:
            arm = decide_within(policy, memory, pulls, spent, spent_low, n, cache, affordable, budgets[0], rng)
        else:
            arm = decide(policy, memory, pulls, spent, n, cache, rng)
        if arm < 0 or arm >= len(pulls):
            no_arm_fits = arm == NONE_FITS
            if not no_arm_fits:
                marks[STRAY] = arm  # never 0: there is always an arm 0
                break
        else:
            cost, reward = pulled(world, request, laws[passed] + arm, rng)
            memory.observe(arm, cost, reward)
            pulls[arm] += 1
            n += 1
            spent, spent_low = kahan_add(spent, spent_low, cost)
            earned, earned_low = kahan_add(earned, earned_low, reward)
            if affordable is not None:
                affordable.totals[arm, 0] += cost
                affordable.totals[arm, 1] += reward
        while passed < len(budgets) and (spent > budgets[passed] or n >= requests[passed] or no_arm_fits):
            for k in range(len(pulls)):
                out_pulls[passed, k] = pulls[k]
            out_cost[passed] = spent
            out_reward[passed] = earned
            passed += 1
    marks[PULLS], marks[PASSED] = n, passed
    totals[SPENT], totals[SPENT_LOW] = spent, spent_low
    totals[EARNED], totals[EARNED_LOW] = earned, earned_low


def next_request(world: AnyWorld, memory: Memory, rng: AnyRng) -> int:
    """Draw the next request, where requests differ, and tell its features to a memory that wants them."""
    return way_to_receive(type(world), type(memory))(world, memory, rng)


def pulled(world: AnyWorld, request: int, arm: int, rng: AnyRng) -> tuple[float, float]:
    """What an arm costs and brings for the request."""
    cost, reward = way_to_pull(type(world))(world, request, arm, rng)
    return cost, reward


def told_request(world: RequestTable, memory: Any, rng: AnyRng) -> int:
    """`next_request` for a memory that wants to know."""
    request = world.request(rng)
    memory.arrive(world.features[request])
    return request


# `next_request` and `pulled`, by what a world and a memory can do.
RECEIVE: dict[str, Callable[..., int]] = {
    "alike": lambda _world, _memory, _rng: 0,
    "unseen": lambda world, _memory, rng: world.request(rng),
    "seen": told_request,
}
PULL: dict[str, Callable[..., tuple[float, float]]] = {
    "alike": lambda world, _request, arm, rng: world.pull(arm, rng),
    "different": lambda world, request, arm, rng: world.pull_for(request, arm, rng),
}


def way_to_receive(world: type, memory: type) -> Callable[..., int]:
    """The function above that serves these classes."""
    return RECEIVE["alike" if not has(world, "request") else "seen" if has(memory, "arrive") else "unseen"]


def way_to_pull(world: type) -> Callable[..., tuple[float, float]]:
    """Likewise."""
    return PULL["different" if has(world, "pull_for") else "alike"]


def kahan_add(total: float, low: float, term: float) -> tuple[float, float]:
    """The total and its accumulated rounding error, by Kahan: a billion small costs must add up to the budget.

    >>> kahan_add(1e16, 0.0, 1.0)
    (1e+16, -1.0)
    """
    term -= low
    after = total + term
    return after, (after - total) - term
