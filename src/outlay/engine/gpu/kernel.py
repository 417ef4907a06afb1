"""The loop on the GPU: one thread per run. Plain functions, compiled for the device by `gpu.device_code`.

Each array of a run's state has the run as its last axis, so that neighbouring threads read neighbouring numbers; a run
sees its own part of it as an ordinary array, and the same methods of policies, memories and laws work on that.

Where scores only rise between pulls of an arm, or arms are compared with the leader, an arm is named together with a
`Proof` that it is to be pulled again for a while: such a pull costs one score, or one look at the lead, and not one for
each arm. Threads run in warps of 32, in which all wait for any that does something else. So a thread that must name an
arm anew pauses until the pulls that paused threads of its warp have missed are worth it; then all of these do so.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float64, uint64
from numpy.typing import NDArray

from outlay.beliefs import Lead, price_of
from outlay.engine.choose_arm import DECIDE, Affordable, AnyRng, Floats
from outlay.engine.gpu.philox import BLOCK, KEEPS_NORMAL, KEY, NORMAL, RUN, Philox
from outlay.engine.limits import Counts, Limits
from outlay.engine.loop import (  # fmt: skip
    EARNED,
    EARNED_LOW,
    PASSED,
    PULLS,
    SPENT,
    SPENT_LOW,
    STRAY,
    Crossings,
    World,
    advance,
    kahan_add,
)
from outlay.formulas.argmax import (
    OPENED_FIRST,
    best_by_score,
    leader_of,
    leads,
    log_of,
    number,
    precedes,
    without_price,
)
from outlay.formulas.lazy_leader import MARGIN as EXCESS_MARGIN
from outlay.formulas.lazy_leader import spent as after_spending
from outlay.formulas.lazy_score import MARGIN as SCORE_MARGIN
from outlay.policies.protocol import (
    Belief,
    Compared,
    KindName,
    LeaderMemory,
    MemoryTuple,
    Opening,
    Phased,
    Policy,
    SequentialMemory,
    policy_kind,
)

# Entries of the tally, which a run that raises is not in: runs not done, those that need help, what is done, runs done.
OPEN, TROUBLED, SHARE, DONE = range(4)
MILLION = 1_000_000  # the tally counts shares of a run in millionths
WARP = 0xFFFFFFFF
MISSED_PULLS = 32  # of all runs of a warp together, after which their arms are named anew (measured)

# Entries of Proof.levels: the largest bound of the others' scores, ln n when it was found, the pull until which it
# holds, the arm that was named, and for how many pulls the next box is drawn.
RIVAL, LOG, UNTIL, NAMED, REACH = range(5)
LOW, HIGH = range(2)  # edges of a box
SIDES = 11  # numbers of a lead that a pull of the leader may change
NEVER = 2**62  # a pull that no run reaches
SPAN = 2.0  # how far ahead in ln n a bound is made at most
NEARER = 0.25  # and what of that is tried next where the score jumps to ∞
AHEAD = 0.4  # how far into the gap to the best score a bound may go (measured)
FEWEST_PULLS = 4.0  # pulls that a box is drawn for at least
WIDEST = 1.0  # by how much the leader's spend may grow in a box, as a share
WANDER, SWAY = 1.5, 2.5  # standard deviations that a box leaves the rate, and the rest, if they vary as their size


class RunStates(NamedTuple):
    """Where each run stands; the run is the last axis."""

    pulls: NDArray[np.int64]  # [arm, run]
    totals: NDArray[np.float64]  # [4, run], as in the loop
    marks: NDArray[np.int64]  # [3, run], likewise
    words: NDArray[np.uint64]  # [3, run]: the stream's, from its next block on
    normals: NDArray[np.float64]  # [2, run]
    bounds: NDArray[np.float64]  # [arm, run], as in `Proof`
    ends: NDArray[np.int64]  # [arm, run], likewise
    affordable: Affordable  # for hard mode: of each run, but for what pulls can cost


class Proof(NamedTuple):
    """What shows that the arm named last is to be pulled again."""

    levels: Floats
    box: Floats  # [low or high, side]: while the lead is in it, the leader is to be pulled
    bounds: Floats  # [arm]: upper bounds of scores, that of the arm that was named aside
    ends: Counts  # [arm]: the pull at which a bound runs out


def play(
    world: World, policy: Policy, memories: MemoryTuple, states: RunStates, crossings: Crossings, limits: Limits,
    tally: Counts, key: np.uint64, first: int, more_pulls: int, max_pulls: int,
) -> None:  # fmt: skip
    """Advance every run by `more_pulls` pulls, none past its `max_pulls`-th."""
    run, budgets, requests = cuda.grid(1), limits.budgets, limits.requests
    rng = Philox(cuda.local.array(5, uint64), cuda.local.array(2, float64))
    levels, box = cuda.local.array(5, float64), cuda.local.array((2, SIDES), float64)
    proof = Proof(levels, box, states.bounds[:, run], states.ends[:, run])
    open_run(rng, proof, states, run, key, first)
    memory, pulls = of_run(memories, run), states.pulls[:, run]
    n, passed = states.marks[PULLS, run], states.marks[PASSED, run]
    spent, spent_low = states.totals[SPENT, run], states.totals[SPENT_LOW, run]
    earned, earned_low = states.totals[EARNED, run], states.totals[EARNED_LOW, run]
    last_pull, last = min(n + more_pulls, max_pulls), len(budgets) - 1
    going = passed <= last and n < last_pull and not memory.full()
    budget, request = budgets[min(passed, last)], requests[min(passed, last)]
    arm, named = 0, False
    while cuda.any_sync(WARP, going):
        if going and not named:
            arm = decide(policy, memory, pulls, spent, n, proof, rng)
            going = named = 0 <= arm < len(pulls)
            if not named:
                states.marks[STRAY, run] = arm
        missed = 0
        while missed < MISSED_PULLS:
            if going and named:
                cost, reward = world.pull(arm, rng)
                memory.observe(arm, cost, reward)
                pulls[arm] += 1
                n += 1
                spent, spent_low = kahan_add(spent, spent_low, cost)
                earned, earned_low = kahan_add(earned, earned_low, reward)
                if spent > budget or n >= request:
                    while passed <= last and (spent > budgets[passed] or n >= requests[passed]):
                        for k in range(len(pulls)):
                            crossings.pulls[run, passed, k] = pulls[k]
                        crossings.cost[run, passed] = spent
                        crossings.reward[run, passed] = earned
                        passed += 1
                    budget, request = budgets[min(passed, last)], requests[min(passed, last)]
                going = passed <= last and n < last_pull and not memory.full()
                named = holds(policy, memory, proof, arm, n)
            if not cuda.any_sync(WARP, going and named):
                break
            missed += cuda.popc(cuda.ballot_sync(WARP, going and not named))
    states.marks[PULLS, run], states.marks[PASSED, run] = n, passed
    states.totals[SPENT, run], states.totals[SPENT_LOW, run] = spent, spent_low
    states.totals[EARNED, run], states.totals[EARNED_LOW, run] = earned, earned_low
    close_run(rng, states, run, limits, tally, memory.full() or n >= max_pulls)


def play_hard(
    world: World, policy: Policy, memories: MemoryTuple, states: RunStates, crossings: Crossings, limits: Limits,
    tally: Counts, key: np.uint64, first: int, more_pulls: int, max_pulls: int,
) -> None:  # fmt: skip
    """The same where no run may pass the budget, of which there is one: by the CPU's own loop."""
    run = cuda.grid(1)
    rng = Philox(cuda.local.array(5, uint64), cuda.local.array(2, float64))
    levels, box = cuda.local.array(5, float64), cuda.local.array((2, SIDES), float64)
    proof: Any = Proof(levels, box, states.bounds[:, run], states.ends[:, run])
    open_run(rng, proof, states, run, key, first)
    memory, totals, marks = of_run(memories, run), states.totals[:, run], states.marks[:, run]
    all_runs = states.affordable
    affordable = Affordable(
        all_runs.dearest, all_runs.totals[:, :, run], all_runs.arms[:, run], all_runs.pulls[:, run], all_runs.most
    )
    if marks[PASSED] == 0:
        advance(
            rng, world, policy, memory, states.pulls[:, run], totals, marks, proof, affordable, limits.budgets,
            limits.requests, limits.laws, crossings.pulls[run], crossings.cost[run], crossings.reward[run],
            min(marks[PULLS] + more_pulls, max_pulls),
        )  # fmt: skip
    close_run(rng, states, run, limits, tally, memory.full() or marks[PULLS] >= max_pulls)


def of_run(memories: MemoryTuple, run: int) -> MemoryTuple:
    """A run's part of the memories of all runs; the compiler's version is made from their type."""
    raise NotImplementedError("only compiled code holds the memories of many runs in one")


def open_run(rng: Philox, proof: Proof, states: RunStates, run: int, key: np.uint64, first: int) -> None:
    """Take up a run's stream where it was left; nothing is proved yet."""
    rng.words[KEY], rng.words[RUN] = key, uint64(first + run)
    for i in range(3):
        rng.words[BLOCK + i] = states.words[i, run]
    rng.normals[NORMAL], rng.normals[KEEPS_NORMAL] = states.normals[0, run], states.normals[1, run]
    forget(proof)


def close_run(rng: Philox, states: RunStates, run: int, limits: Limits, tally: Counts, stopped: bool) -> None:
    """Leave it so, and count the run in: whether it goes on, whether it needs help, how far it is."""
    for i in range(3):
        states.words[i, run] = rng.words[BLOCK + i]
    states.normals[0, run], states.normals[1, run] = rng.normals[NORMAL], rng.normals[KEEPS_NORMAL]
    last = len(limits.budgets) - 1
    if states.marks[PASSED, run] > last:
        cuda.atomic.add(tally, DONE, 1)
        cuda.atomic.add(tally, SHARE, MILLION)
        return
    spent, earned = states.totals[SPENT, run], states.totals[EARNED, run]
    used = max(spent / limits.budgets[last], states.marks[PULLS, run] / limits.requests[last])
    cuda.atomic.add(tally, OPEN, 1)
    cuda.atomic.add(tally, SHARE, int(MILLION * min(max(used, 0.0), 0.999)))
    if stopped or states.marks[STRAY, run] != 0 or not (math.isfinite(spent) and math.isfinite(earned)):
        cuda.atomic.add(tally, TROUBLED, 1)


def decide(policy: Policy, memory: MemoryTuple, pulls: Counts, spent: float, n: int, proof: Proof, rng: AnyRng) -> int:
    """The arm to pull next, by the function below, or of the CPU's loop, that serves the policy."""
    return way_to_decide(type(policy))[0](policy, memory, pulls, spent, n, proof, rng)


def holds(policy: Policy, memory: MemoryTuple, proof: Proof, arm: int, n: int) -> bool:
    """Whether the arm that was just pulled is surely the next one, too."""
    return way_to_decide(type(policy))[1](policy, memory, proof, arm, n)


def forget(proof: Proof) -> None:
    """Nothing is known of any arm, nor proved."""
    for arm in range(len(proof.ends)):
        proof.ends[arm] = 0
    proof.levels[NAMED], proof.levels[UNTIL], proof.levels[REACH] = 0.0, 0.0, FEWEST_PULLS
    proof.box[LOW, 0] = math.inf


def decide_rising(
    policy: Phased, memory: MemoryTuple, pulls: Counts, spent: float, n: int, proof: Proof, rng: AnyRng  # noqa: ARG001
) -> int:  # fmt: skip
    """The arm with the largest score, for a policy with `phase` (see `lazy_score`): few are scored, as on the CPU.

    The arm that was named last is scored at first, then always the one with the largest bound, until no bound reaches
    the best score. While somebody's score is ∞, as in the beginning, all are.
    """
    levels, bounds, ends = proof.levels, proof.bounds, proof.ends
    best, top, arm, log_n = -1, -math.inf, int(levels[NAMED]), log_of(n)
    span = span_of_phase(policy, log_n)
    levels[UNTIL] = 0.0
    while True:
        score = number(policy.score(memory.belief(arm), log_n))
        if score == math.inf:
            forget(proof)
            best = best_by_score(policy, memory, pulls, log_n)
            break
        loser, lost = arm, score
        if best < 0 or precedes(score, pulls[arm], arm, top, pulls[best], best):
            loser, lost, best, top = best, top, arm, score
            bounds[arm], ends[arm] = -math.inf, NEVER
        if loser >= 0:
            bounds[loser], ends[loser] = bound_ahead(policy, memory.belief(loser), n, log_n, span, lost, top)
        arm, rival, until = highest(bounds, ends, n)
        if rival < top or rival == -math.inf:
            levels[RIVAL], levels[LOG], levels[UNTIL] = rival, log_n, float(min(until, n + int(span * n)))
            break
    levels[NAMED] = float(best)
    return best


def score_holds(policy: Phased, memory: MemoryTuple, proof: Proof, arm: int, n: int) -> bool:
    """Whether its score, at an ln n that is past, still exceeds all bounds."""
    levels = proof.levels
    return bool(n < levels[UNTIL] and policy.score(memory.belief(arm), float(levels[LOG])) > levels[RIVAL])


def highest(bounds: Floats, ends: Counts, n: int) -> tuple[int, float, int]:
    """The first arm with the largest bound, that bound, and when the first bound runs out; one that has run out is ∞.

    No branches: the numbers of several arms are then on their way from memory at the same time.
    """
    first, most, until = 0, -math.inf, NEVER
    for arm in range(len(bounds)):
        end = ends[arm]
        bound = math.inf if end <= n else bounds[arm]
        first = arm if bound > most else first
        most = bound if bound > most else most
        until = end if end < until else until
    return first, most, until


def bound_ahead(
    policy: Phased, belief: Belief, n: int, log_n: float, span: float, score: float, top: float
) -> tuple[float, int]:
    """A bound of a loser's score and the pull at which it runs out: as far ahead as it stays well below the best.

    As ln(n + x·n) ≤ ln n + x, a score at the latter bounds all pulls up to the former. Where nothing can be said beyond
    this pull, the arm is out of the comparison, and back at the next pull.
    """
    reach, tried = AHEAD * (top - score), False
    while span * n >= 1.0:
        bound = number(policy.score(belief, log_n + span))
        bound = bound + SCORE_MARGIN * abs(bound) if bound > -math.inf else bound
        if bound < top and (tried or bound - score <= reach):
            return bound, n + int(span * n)
        span *= NEARER if tried or bound == math.inf else reach / (bound - score)
        tried = True
    return -math.inf, n + 1


def span_of_phase(policy: Phased, log_n: float) -> float:
    """How far ahead in ln n the policy's phase is surely unchanged; at most SPAN."""
    here, span = policy.phase(log_n), SPAN
    while span > 1e-9 and policy.phase(log_n + span) != here:
        span *= 0.5
    return span if span > 1e-9 else 0.0


def decide_by_excess(
    policy: Compared, memory: LeaderMemory, pulls: Counts, spent: float, n: int, proof: Proof, rng: AnyRng  # noqa: ARG001
) -> int:  # fmt: skip
    """`argmax.best_by_excess`."""
    proof.box[LOW, 0] = math.inf
    arm = without_price(memory, pulls, 0)
    if arm < len(pulls):
        return arm
    leader, lead, low, high = leader_and_box(memory, pulls, proof)
    return challenger(policy, memory, pulls, proof, leader, lead, low, high, n, True)[0]


def decide_by_opening(
    policy: Opening, memory: SequentialMemory, pulls: Counts, spent: float, n: int, proof: Proof, rng: AnyRng  # noqa: ARG001
) -> int:  # fmt: skip
    """`argmax.best_of_opened`; the order of the arms is drawn before the first pull."""
    if n == 0:
        memory.shuffle(rng)
    proof.box[LOW, 0] = math.inf
    fresh = int(memory.unopened())
    some_left = fresh < len(pulls)
    if some_left and memory.opened() < OPENED_FIRST:
        return fresh
    arm = without_price(memory, pulls, 1)
    if arm < len(pulls):
        return arm
    leader, lead, low, high = leader_and_box(memory, pulls, proof)
    wanted = -number(-policy.excess_of_new_arm(lead, lead)) if some_left else math.inf
    if wanted == -math.inf:
        return fresh
    none_to_open = not some_left or policy.excess_of_new_arm(low, high) > EXCESS_MARGIN
    arm, least = challenger(policy, memory, pulls, proof, leader, lead, low, high, n, none_to_open)
    return fresh if wanted <= 0.0 and wanted <= least else arm


def excess_holds(policy: Compared, memory: LeaderMemory, proof: Proof, arm: int, n: int) -> bool:  # noqa: ARG001
    """Whether the lead is still in the box, if there is one."""
    b = proof.box
    if b[LOW, 0] == math.inf:
        return False
    lead = memory.lead(arm)
    return bool(
        (memory.belief(arm).mean_cost > 0.0)
        & (b[LOW, 0] < lead.rate <= b[HIGH, 0])
        & (b[LOW, 1] <= lead.spend <= b[HIGH, 1])
        & (b[LOW, 2] <= lead.price <= b[HIGH, 2])
        & (b[LOW, 3] <= lead.reward_max <= b[HIGH, 3])
        & (b[LOW, 4] <= lead.cost_min <= b[HIGH, 4])
        & (b[LOW, 5] <= lead.cost_max <= b[HIGH, 5])
        & (b[LOW, 6] <= lead.spread <= b[HIGH, 6])
        & (b[LOW, 7] <= lead.size <= b[HIGH, 7])
        & (b[LOW, 8] <= lead.usual_price <= b[HIGH, 8])
        & (b[LOW, 9] <= lead.usual_rate <= b[HIGH, 9])
        & (b[LOW, 10] <= lead.spent <= b[HIGH, 10])
    )


def draw(box: Floats, side: int, lead: Lead) -> None:
    """Write down an edge of the box: what a pull of the leader may change."""
    box[side, 0], box[side, 1], box[side, 2] = lead.rate, lead.spend, lead.price
    box[side, 3], box[side, 4], box[side, 5] = lead.reward_max, lead.cost_min, lead.cost_max
    box[side, 6], box[side, 7], box[side, 8] = lead.spread, lead.size, lead.usual_price
    box[side, 9], box[side, 10] = lead.usual_rate, lead.spent


def leader_and_box(memory: LeaderMemory, pulls: Counts, proof: Proof) -> tuple[int, Lead, Lead, Lead]:
    """The leader, its lead, and a box around that for as many pulls as it is worth trying.

    The leader's spend grows by the share of these pulls; the rest may move as far as chance has it, but no further than
    to where another leads.
    """
    leader, runner_up = leader_of(memory, pulls)
    lead = memory.lead(leader)
    span = min(WIDEST, proof.levels[REACH] / pulls[leader])
    root, times = math.sqrt(span / pulls[leader]), 1.0 + span
    step = WANDER * root * math.sqrt(lead.spread) / lead.price + 1e-9 * abs(lead.rate)
    width = min(0.5, SWAY * root)
    less, more, seen = 1.0 - width, 1.0 + width, (lead.reward_max, lead.cost_min, lead.cost_max)
    low = Lead(
        max(lead.rate - step, runner_up), 0.0, less * lead.price, lead.arms, seen[0], seen[1], seen[2],
        less * lead.spread, less * lead.size, lead.opened, less * lead.usual_price, lead.usual_rate - step, lead.spent,
    )  # fmt: skip
    high = Lead(
        lead.rate + step, times * lead.spend, more * lead.price, lead.arms, seen[0], seen[1], seen[2],
        more * lead.spread, more * lead.size, lead.opened, more * lead.usual_price, lead.usual_rate + step,
        times * lead.spent,
    )  # fmt: skip
    return leader, after_spending(lead, lead.spent), low, high  # of one class: the memory's is a copy of it


def challenger(
    policy: Compared, memory: LeaderMemory, pulls: Counts, proof: Proof, leader: int, lead: Lead, low: Lead, high: Lead,
    n: int, certain: bool,
) -> tuple[int, float]:  # fmt: skip
    """The arm with the least excess if that is ≤ 0, else the leader; and the least, ∞ if none is near 0.

    Arms whose excess is surely positive in the box are compared no further. If all are, and it is `certain` otherwise
    that the leader is to be pulled, the box is the proof.
    """
    best, least, spend, count, listed = leader, math.inf, math.inf, 0, proof.ends
    for exactly in range(2):
        for i in range(count if exactly else len(pulls)):
            arm = int(listed[i]) if exactly else i
            if arm != leader and pulls[arm] > 0:
                belief = memory.belief(arm)
                value = policy.excess(belief, low, high)
                if exactly:
                    excess = -number(-value)
                    mine = belief.pulls * price_of(belief, lead.cost_min, lead.cost_max)
                    if leads(-excess, mine, pulls[arm], arm, -least, spend, pulls[best], best):
                        best, least, spend = arm, excess, mine
                elif not value > EXCESS_MARGIN:
                    listed[count] = arm
                    count += 1
        if not exactly and count == 0 and certain:
            draw(proof.box, LOW, low)
            draw(proof.box, HIGH, high)
        low, high = lead, lead
    reach = float(proof.levels[REACH])
    if least > 0.0:
        proof.levels[REACH] = min(2.0 * reach, float(n)) if count == 0 and certain else max(FEWEST_PULLS, 0.25 * reach)
    return (best if least <= 0.0 else leader), least


def never_holds(policy: Policy, memory: MemoryTuple, proof: Proof, arm: int, n: int) -> bool:  # noqa: ARG001
    """Of a policy that must be asked at each pull."""
    return False


# For each way of `protocol.POLICY_KINDS`: what names the arm, and whether that holds after a pull.
NAMING: dict[KindName, tuple[Callable[..., int], Callable[..., bool]]] = {
    "lazy score": (decide_rising, score_holds),
    "score": (DECIDE["score"], never_holds),
    "sample": (DECIDE["sample"], never_holds),
    "excess": (decide_by_excess, excess_holds),
    "opening": (decide_by_opening, excess_holds),
    "choose": (DECIDE["choose"], never_holds),
}


def way_to_decide(policy: type) -> tuple[Callable[..., int], Callable[..., bool]]:
    """The two functions above that serve a class of policies."""
    return NAMING[policy_kind(policy).name]
