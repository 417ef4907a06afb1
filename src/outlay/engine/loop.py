"""Play until broke: the inner loop, as plain Python that is also compiled.

A run pulls arms until its spending exceeds the largest budget. Spending need not be monotone (costs may be
negative), so what a budget B sees is its *first* passage N(B) = inf{n : S_n > B}, and the pull that crosses it
counts (the paper, Section 2). Where requests are limited, too, a pair (B, N) is passed as soon as S_n > B or n = N.
Since no policy here looks at either, one run yields every pair.

All state lives in arrays, so that the loop can stop after a slice of pulls and be resumed with nothing lost:
that is how a progress bar moves and Ctrl-C returns at once.
"""

from collections.abc import Callable
from types import EllipsisType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from outlay.engine.limits import Counts, Limits
from outlay.engine.run_pool import Words
from outlay.formulas.argmax import Now, best_by_sample, best_by_score, log_of
from outlay.formulas.lazy_leader import LeaderBounds, forget_leader_bounds, lazy_best_by_excess, lazy_best_of_opened
from outlay.formulas.lazy_score import ScoreBounds, forget_score_bounds, lazy_best_by_score
from outlay.policies.protocol import (
    Chooser,
    Compared,
    KindName,
    LeaderMemory,
    Memory,
    Opening,
    Phased,
    Policy,
    Sampled,
    Scored,
    SequentialMemory,
    policy_kind,
)

Floats = NDArray[np.float64]
Rng = np.random.Generator
Drawing = Any  # numpy's Generator; on a GPU a stream with its verbs, which only numba can check
Index = int | slice | tuple[slice, ...] | EllipsisType

# Entries of Standing.marks: the run's pulls, the budgets it has passed, an arm it chose that does not exist (0: none),
# its row, and the pulls of all runs.
PULLS, PASSED, STRAY, RUN, MADE = range(5)
# Entries of Standing.totals: two sums, each with Kahan's running correction.
SPENT, SPENT_LOW, EARNED, EARNED_LOW = 0, 1, 2, 3


class Arms(Protocol):
    """The arms of a problem as the loop pulls them."""

    def pull(self, arm: int, rng: Drawing, /) -> tuple[float, float]:
        """Draw an arm's cost and reward."""


class ChoiceCache(NamedTuple):
    """What is remembered from pull to pull so that not every arm need be looked at: of one run at a time."""

    scores: ScoreBounds  # for policies with a score and a phase
    known: LeaderBounds  # for policies that compare every arm with the leader

    @staticmethod
    def start(arms: int) -> "ChoiceCache":
        """Room for this many arms."""
        return ChoiceCache(ScoreBounds.start(arms), LeaderBounds.start(arms))


class Affordable(NamedTuple):
    """What hard mode needs: which arms fit into what is left of the budget. Nobody else reads it."""

    dearest: Floats  # [arm]: the most that a pull can cost
    totals: Floats  # [arm, 2]: cost and reward so far
    arms: Counts  # [place]: those that fit
    pulls: Counts  # [place]: theirs

    @staticmethod
    def start(arms: int) -> "Affordable":
        """Room for this many arms."""
        return Affordable(np.zeros(arms), np.zeros((arms, 2)), np.zeros(arms, np.int64), np.zeros(arms, np.int64))


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
    affordable: Affordable

    @staticmethod
    def start(arms: int) -> "RunState":
        """Before the first run."""
        pulls, totals, marks = np.zeros(arms, np.int64), np.zeros(4), np.zeros(5, np.int64)
        return RunState(pulls, totals, marks, ChoiceCache.start(arms), Affordable.start(arms))


class Crossings(NamedTuple):
    """What each run had done when it passed each budget, or pair of a budget and requests."""

    pulls: Counts  # [run, budget, arm]
    cost: Floats  # [run, budget]
    reward: Floats  # [run, budget]

    @staticmethod
    def blank(runs: int, budgets: int, arms: int) -> "Crossings":
        """Affordable for so many runs, all zeros.

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


def decide(policy: Policy, memory: Memory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng) -> int:
    """The arm to pull next, by whichever of score, sample, excess and choose the policy has."""
    return way_to_decide(type(policy))(policy, memory, pulls, spent, n, cache, rng)


def decide_lazily(
    policy: Phased, memory: Memory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide` for a policy with `score` and `phase`."""
    return lazy_best_by_score(policy, memory, pulls, n, cache.scores)


def decide_by_score(
    policy: Scored, memory: Memory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide` for a policy with `score` alone."""
    return best_by_score(policy, memory, pulls, log_of(n))


def decide_by_sample(
    policy: Sampled, memory: Memory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide` for a policy with `sample`."""
    return best_by_sample(policy, memory, pulls, log_of(n), rng)


def decide_by_excess(
    policy: Compared, memory: LeaderMemory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide` for a policy with `excess`."""
    return lazy_best_by_excess(policy, memory, pulls, cache.known)


def decide_by_opening(
    policy: Opening, memory: SequentialMemory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide` for a policy that opens arms: their order is drawn before the first pull."""
    if n == 0:
        memory.shuffle(rng)
    return lazy_best_of_opened(policy, memory, pulls, cache.known)


def decide_by_choose(
    policy: Chooser, memory: Memory, pulls: Counts, spent: float, n: int, cache: ChoiceCache, rng: Rng  # noqa: ARG001
) -> int:  # fmt: skip
    """`decide` for a policy with `choose`."""
    return policy.choose(memory, Now(n, log_of(n), spent), rng)


# `decide` for each way of `protocol.POLICY_KINDS`; which of the classes of policies each takes, numba checks.
DECIDE: dict[KindName, Callable[..., int]] = {
    "lazy score": decide_lazily,
    "score": decide_by_score,
    "sample": decide_by_sample,
    "excess": decide_by_excess,
    "opening": decide_by_opening,
    "choose": decide_by_choose,
}


def way_to_decide(policy: type) -> Callable[..., int]:
    """The function above that serves a class of policies."""
    return DECIDE[policy_kind(policy).name]


def advance(
    rng: Rng, world: Arms, policy: Policy, memory: Memory, pulls: Counts, totals: Floats, marks: Counts,
    cache: ChoiceCache, budgets: Floats, requests: Counts, out_pulls: Counts, out_cost: Floats, out_reward: Floats,
    stop: int,
) -> None:  # fmt: skip
    """Pull one run's arms until every limit is passed, it has made `stop` pulls, or its memory is full."""
    n, passed = marks[PULLS], marks[PASSED]
    spent, spent_low = totals[SPENT], totals[SPENT_LOW]
    earned, earned_low = totals[EARNED], totals[EARNED_LOW]
    forget(cache)
    while passed < len(budgets) and n < stop and not memory.full():
        arm = decide(policy, memory, pulls, spent, n, cache, rng)
        if arm < 0 or arm >= len(pulls):
            marks[STRAY] = arm  # never 0, which is always an arm
            break
        cost, reward = world.pull(arm, rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        n += 1
        # Kahan: a billion small costs must still add up to the budget.
        term = cost - spent_low
        total = spent + term
        spent_low = (total - spent) - term
        spent = total
        term = reward - earned_low
        total = earned + term
        earned_low = (total - earned) - term
        earned = total
        while passed < len(budgets) and (spent > budgets[passed] or n >= requests[passed]):
            for k in range(len(pulls)):
                out_pulls[passed, k] = pulls[k]
            out_cost[passed] = spent
            out_reward[passed] = earned
            passed += 1
    marks[PULLS], marks[PASSED] = n, passed
    totals[SPENT], totals[SPENT_LOW] = spent, spent_low
    totals[EARNED], totals[EARNED_LOW] = earned, earned_low


def forget(cache: ChoiceCache) -> None:
    """Begin anew: another run, or the same one with its memory changed."""
    forget_score_bounds(cache.scores)
    forget_leader_bounds(cache.known)


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
            rng, world, policy, memory, state.pulls, state.totals, marks, state.cache, limits.budgets,
            limits.requests, crossings.pulls[row], crossings.cost[row], crossings.reward[row], min(before + limit, cap),
        )  # fmt: skip
        made = marks[PULLS] - before
        marks[MADE] += made
        limit -= made
        if marks[PASSED] < len(limits.budgets):
            break
        marks[RUN] += 1
        marks[PULLS] = 0
