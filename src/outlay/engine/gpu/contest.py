"""Contests for the lead on the GPU: whose score is the largest, with as few scores as it takes.

The counterpart of `lazy.contest`, cut into steps of one score each. Bounds of the others' scores are kept in 32 bits,
rounded up, beside the pull at which each runs out; of many arms, groups of about √K have a bound too.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.engine.gpu.memory import known_of, pick_up, put_down
from outlay.engine.run.loop import Floats
from outlay.formulas.choices.choose import Counts, log_of, number, precedes
from outlay.policies.protocol import Belief, MemoryTuple, Phased

Bounds = NDArray[np.float32]  # [arm, then group if there are many]
Dues = NDArray[np.int32]  # likewise
Number = Any  # of numpy, with the bits that its name says: numba keeps count of them

ONE_GROUP = 16  # arms, at most, that are gone through one by one; more are looked up by groups

# Bounds have 32 bits. Of scores of ∞, arms with fewer pulls come first: numbers from ENDLESS down, one for each pull.
LAST = np.int32(2**31 - 1)  # no bound lasts longer; a lazy run makes fewer pulls
NOBODY, UNKNOWN = np.float32(-np.inf), np.float32(np.inf)
ENDLESS, STEP, MOST_COUNTED = 2.0**127, 2.0**103, 2**23 - 2
MOST = 2.0**125  # scores above this are not bounded, but scored whenever it matters
MOST_FINITE = 2.0**126  # where all above it stand; those of ∞ are higher
MARGIN = 1e-9  # rounding may let a score fall in its last digits where the formula does not
ROUND_UP, LEAST = 1.2e-7, 1.2e-38  # more than a number can lose in 32 bits, as a share and at least
SPAN = 2.0  # how far ahead in ln n a bound is made at most
NEARER = 0.25  # and what of that is tried next where the score jumps to ∞
# How far into the gap to the winner a new bound may go: of few arms, and of many (measured).
AHEAD, AHEAD_OF_MANY = 0.4, 0.25


class Contest(NamedTuple):
    """A contest for the place of the leader, and where it stands."""

    best: int
    pulls: int  # of the best
    top: float  # its score
    top_ahead: float  # and that a `span` ahead
    rival: int  # who is to be scored next; −1 before the best is
    bound: float  # the largest bound of the others
    due: int  # when the first of their bounds runs out
    log_n: float
    decided: bool


def step(
    policy: Phased, memory: MemoryTuple, row: Floats, pulls: Counts, bounds: Bounds, dues: Dues, contest: Contest,
    n: int,
) -> Contest:  # fmt: skip
    """Score one arm, and see whether the best is known: the best at first, then the arm with the largest bound.

    One at a time: threads of a warp wait for each other, and one that needs many scores must not hold up the others.
    """
    best, count, top, top_ahead, arm, _, _, log_n, _ = contest
    fresh = arm < 0
    log_n = log_of(n) if fresh else log_n
    span = span_of_phase(policy, log_n)
    arms = len(pulls)
    size = group_size(arms)
    belief = known_of(memory, row, best) if fresh else memory.belief(arm)
    score = number(policy.score(belief, log_n))
    ahead = policy.score(belief, log_n + span) if score < math.inf else score
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
        bound, until = bound_ahead(policy, belief, n, log_n, loser_score, top, span, ahead, loser_pulls, share)
        settle(bounds, dues, arms, size, loser, bound, until)
    start, due = 0, n + max(1, int(n * span))
    if len(bounds) > arms:
        group, _, first_due = highest(bounds, dues, arms, len(bounds), n)
        start, due = (group - arms) * size, min(due, first_due)
    arm, most, first_due = highest(bounds, dues, start, min(start + size, arms), n)
    bar = rank(top, count)
    decided = most == NOBODY or most < bar or (most == bar and arm > best and top == math.inf)
    return Contest(
        best, count, top, top_ahead, arm, most if most < MOST else math.inf, min(due, first_due), log_n, decided
    )


def group_size(arms: int) -> int:
    """Arms in a group: all of few, about the root of many."""
    return arms if arms <= ONE_GROUP else 1 + int(math.sqrt(float(arms - 1)))


def highest(bounds: Bounds, dues: Dues, start: int, stop: int, n: int) -> tuple[Number, Number, Number]:
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


def settle(bounds: Bounds, dues: Dues, arms: int, size: int, arm: int, bound: Number, due: Number) -> None:
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


def line_up(bounds: Bounds, dues: Dues, arms: int) -> None:
    """Bounds before the first pull: every score may be ∞, and arm 0 leads."""
    for k in range(len(bounds)):
        bounds[k], dues[k] = rank(math.inf, 0), LAST
    settle(bounds, dues, arms, group_size(arms), 0, NOBODY, LAST)


def rank(score: float, pulls: int) -> float:
    """A score as a bound is compared with it: ∞ becomes numbers above all others that fall with the arm's pulls."""
    return ENDLESS - STEP * float(1 + min(pulls, MOST_COUNTED)) if score == math.inf else min(score, MOST_FINITE)


def bound_ahead(
    policy: Phased, belief: Belief, n: int, log_n: float, score: float, top: float, span: float, ahead: float,
    pulls: int, share: float,
) -> tuple[np.float32, np.int32]:  # fmt: skip
    """A bound of a loser's score and the pull at which it runs out: as far ahead as it stays below the winner's.

    As ln(n + x·n) ≤ ln n + x, a score at the latter bounds all pulls up to the former. `ahead` is that for `span`.
    Where nothing can be said beyond this pull, the arm is out of this contest and will be in the next.
    """
    if score == math.inf:
        if pulls < MOST_COUNTED:
            return np.float32(rank(score, pulls)), LAST
        return NOBODY, np.int32(n + 1)
    gap = top - score
    bound = upper(ahead)
    if not (bound < top and bound - score <= share * gap):
        span *= NEARER if bound == math.inf else share * gap / (bound - score)
        bound = math.inf
        while span * n >= 1.0 and not bound < top:
            bound = upper(policy.score(belief, log_n + span))
            span *= 1.0 if bound < top else NEARER
        if not bound < top:
            return NOBODY, np.int32(n + 1)
    return np.float32(bound), np.int32(min(n + int(max(1.0, span * n)), int(LAST)))


def upper(score: float) -> float:
    """A number of 32 bits above the score, with a margin; ∞ if that would be beyond all scores that count as finite."""
    if not score < MOST:
        return math.inf
    return float(np.float32(max(-MOST, score + (MARGIN + ROUND_UP) * abs(score) + LEAST)))


def span_of_phase(policy: Phased, log_n: float) -> float:
    """How far ahead in ln n the policy's phase is surely unchanged; at most SPAN."""
    here = policy.phase(log_n)
    span = SPAN
    while span > 1e-9 and policy.phase(log_n + span) != here:
        span *= 0.5
    return span if span > 1e-9 else 0.0
