"""Play until broke: the inner loop, as plain Python that is also compiled.

A run pulls arms until its spending exceeds the largest budget. Spending need not be monotone (costs may be
negative), so what a budget B sees is its *first* passage N(B) = inf{n : S_n > B}, and the pull that crosses it
counts (the paper, Section 2). Where requests are limited, too, a pair (B, N) is passed as soon as S_n > B or n = N.
Since no policy here looks at either, one run yields every pair.

All state lives in arrays, so that the loop can stop after a slice of pulls and be resumed with nothing lost:
that is how a progress bar moves and Ctrl-C returns at once.

In hard mode no run passes its budget (`engine/choose_arm.py`): it ends when no arm fits or no request is left.
Since its last pulls depend on the budget, it serves one budget alone.
"""

from types import EllipsisType
from typing import NamedTuple, Protocol

import numpy as np

from outlay.engine.choose_arm import (
    NONE_FITS,
    Affordable,
    ChoiceCache,
    Drawing,
    Floats,
    Rng,
    decide,
    decide_within,
    forget,
)
from outlay.engine.limits import Counts, Limits
from outlay.engine.run_pool import Words
from outlay.policies.protocol import Memory, Policy

Index = int | slice | tuple[slice, ...] | EllipsisType

# Entries of RunState.marks: the run's pulls, the budgets it has passed, an arm it chose that does not exist (0: none),
# its row, and the pulls of all runs.
PULLS, PASSED, STRAY, RUN, MADE = range(5)
# Entries of RunState.totals: two sums, each with Kahan's running correction.
SPENT, SPENT_LOW, EARNED, EARNED_LOW = 0, 1, 2, 3


class Arms(Protocol):
    """The arms of a problem as the loop pulls them."""

    def pull(self, arm: int, rng: Drawing, /) -> tuple[float, float]:
        """Draw an arm's cost and reward."""


class SeedStates(NamedTuple):
    """What runs start from, and where: what is no part of a generator or a memory is overwritten to no effect."""

    seeds: Words  # [run, 4]: states of the generator, as `run_pool.seeded` has them
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


def advance(
    rng: Drawing, world: Arms, policy: Policy, memory: Memory, pulls: Counts, totals: Floats, marks: Counts,
    cache: ChoiceCache, affordable: Affordable | None, budgets: Floats, requests: Counts, out_pulls: Counts,
    out_cost: Floats, out_reward: Floats, stop: int,
) -> None:  # fmt: skip
    """Pull one run's arms until every limit is passed, it has made `stop` pulls, or its memory is full.

    In hard mode, where a run has one budget, it also ends when no arm fits.
    """
    n, passed = marks[PULLS], marks[PASSED]
    spent, spent_low = totals[SPENT], totals[SPENT_LOW]
    earned, earned_low = totals[EARNED], totals[EARNED_LOW]
    forget(cache)
    if affordable is not None and n == 0:
        affordable.totals[:] = 0.0
    ended = False
    while passed < len(budgets) and n < stop and not memory.full():
        if affordable is not None:
            arm = decide_within(policy, memory, pulls, spent, spent_low, n, cache, affordable, budgets[0], rng)
        else:
            arm = decide(policy, memory, pulls, spent, n, cache, rng)
        if arm < 0 or arm >= len(pulls):
            ended = arm == NONE_FITS
            if not ended:
                marks[STRAY] = arm  # never 0, which is always an arm
                break
        else:
            cost, reward = world.pull(arm, rng)
            memory.observe(arm, cost, reward)
            pulls[arm] += 1
            n += 1
            spent, spent_low = added(spent, spent_low, cost)
            earned, earned_low = added(earned, earned_low, reward)
            if affordable is not None:
                affordable.totals[arm, 0] += cost
                affordable.totals[arm, 1] += reward
        while passed < len(budgets) and (spent > budgets[passed] or n >= requests[passed] or ended):
            for k in range(len(pulls)):
                out_pulls[passed, k] = pulls[k]
            out_cost[passed] = spent
            out_reward[passed] = earned
            passed += 1
    marks[PULLS], marks[PASSED] = n, passed
    totals[SPENT], totals[SPENT_LOW] = spent, spent_low
    totals[EARNED], totals[EARNED_LOW] = earned, earned_low


def added(total: float, low: float, term: float) -> tuple[float, float]:
    """The total and what rounding has added to it too much, by Kahan: a billion small costs must add up to the budget.

    >>> added(1e16, 0.0, 1.0)
    (1e+16, -1.0)
    """
    term -= low
    after = total + term
    return after, (after - total) - term


def begin(seed_states: SeedStates, state: RunState) -> None:
    """Make everything as it is before the first pull of the run whose turn it is."""
    run = state.marks[RUN]
    for i in range(4):
        seed_states.state[i] = seed_states.seeds[run, i]
    seed_states.spare[0] = 0
    for i in range(len(seed_states.blank)):
        seed_states.memory[i] = seed_states.blank[i]
    for arm in range(len(state.pulls)):
        state.pulls[arm] = 0
    for i in range(4):
        state.totals[i] = 0.0
    state.marks[PASSED] = 0


def play(
    rng: Rng, world: Arms, policy: Policy, memory: Memory, seed_states: SeedStates, state: RunState,
    crossings: Crossings, limits: Limits, limit: int, cap: int, end: int,
) -> None:  # fmt: skip
    """Go on with the runs before the row `end`, one after another: `limit` pulls in all, none past its `cap`-th.

    It returns early where a run cannot go on: its memory is full, it has made `cap` pulls, or chosen no arm there is.
    """
    marks = state.marks
    while marks[RUN] < end and limit > 0:
        before, row = marks[PULLS], marks[RUN]
        if before == 0:
            begin(seed_states, state)
        advance(
            rng, world, policy, memory, state.pulls, state.totals, marks, state.cache, state.affordable, limits.budgets,
            limits.requests, crossings.pulls[row], crossings.cost[row], crossings.reward[row], min(before + limit, cap),
        )  # fmt: skip
        made = marks[PULLS] - before
        marks[MADE] += made
        limit -= made
        if marks[PASSED] < len(limits.budgets):
            break
        marks[RUN] += 1
        marks[PULLS] = 0
