"""The arm with the largest score, found without scoring every arm: exact, ties included.

Between two pulls of an arm its score only rises, with ln n: that is what a policy promises by having a method `phase`
("my score never falls as log_n grows while the phase is unchanged"). So a score at a *later* ln n is an upper bound
until then, and a score at an *earlier* ln n is a lower one. From this, two shortcuts that change no choice:

- While the leader's score at the ln n of the last rescoring exceeds the bounds of all others, and no bound has run out,
  the leader is pulled again: one score and no logarithm per pull, whatever the number of arms.
- Otherwise arms are scored anew. The others' bounds lie in a tournament tree. The arm with the largest bound, or with a
  bound that has run out, is scored at the current ln n; the loser goes back into the tree with a new bound, as far
  ahead as it stays below the winner. That ends when no bound reaches the best score. An arm that was just pulled
  returns after about as many pulls as the others need to catch up, and is scored a few times in between: O(log K) per
  pull.

Ties need no special care: arms are compared by (score, fewest pulls, lowest index) and bounds in the same way, so K
arms at +∞ are played in turn at the cost of one path in the tree. Bounds carry a margin of 1e-9, since rounding may
let a score fall in its last digits where the formula does not. A belief must change only when its arm is pulled.

Everything here runs in the interpreter and compiled.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from outlay.checks import Vector
from outlay.formulas.argmax import Counts, log_of, number, precedes

# `policies.protocol`, which may import this and not the other way round, says what these must be.
Policy = Any  # with `score` and `phase`
Memory = Any

NEVER = 2**60  # a pull that no run reaches
MARGIN = 1e-9
SOON = 4  # pulls to an arm's turn that are worth a bound, by which its turn is guessed anew
AHEAD = 0.5  # how much of the way to an arm's turn its bound is to last
TRIES = 2  # bounds that are tried for an arm whose score is known

# Entries of ScoreBounds.marks: the leader, the first pull that needs a rescoring, the first pull of the next phase.
LEADER, UNTIL, PHASE_END = 0, 1, 2
# Entries of ScoreBounds.levels: ln n of the last rescoring, the largest bound of the others then.
LOG, RIVAL = 0, 1


class ScoreBounds(NamedTuple):
    """What is remembered of scores: scratch space for one run at a time, forgotten whenever a run is left.

    Node i of the tree has the children 2i and 2i + 1; arm k is leaf K + k. The leader is not in it.
    """

    bounds: Vector  # [arm + 1]: upper bounds of scores; the last is nobody's, −∞
    turns: Counts  # [arm]: the pull at which its score is expected to reach the leader's
    tops: Counts  # [node]: the arm with the largest bound below
    dues: Counts  # [node]: the first pull at which a bound below has run out
    marks: Counts
    levels: Vector

    @staticmethod
    def start(arms: int) -> "ScoreBounds":
        """Room for this many arms."""
        tops, dues = np.zeros((2, 2 * arms), np.int64)
        return ScoreBounds(np.zeros(arms + 1), np.zeros(arms, np.int64), tops, dues, np.zeros(3, np.int64), np.zeros(2))


def forget_score_bounds(known: ScoreBounds) -> None:
    """Begin anew: another run, or the same one with its memory changed."""
    known.marks[LEADER] = -1
    known.marks[UNTIL] = 0


def lazy_best_by_score(policy: Policy, memory: Memory, pulls: Counts, n: int, known: ScoreBounds) -> int:
    """`argmax.best_by_score` for a policy with `phase`: the same arm, n pulls into the run."""
    leader = int(known.marks[LEADER])
    if n < known.marks[UNTIL] and policy.score(memory.belief(leader), float(known.levels[LOG])) > known.levels[RIVAL]:
        return leader
    return rescore(policy, memory, pulls, n, known)


def rescore(policy: Policy, memory: Memory, pulls: Counts, n: int, known: ScoreBounds) -> int:
    """Score as few arms as it takes to know the best: each turn of the loop scores one arm, now or for a bound.

    The policy is asked in one place, so that compiled code holds its formula once: as a function of its own, each turn
    would be a call with all arrays of the bounds, and some policies a fifth slower.
    """
    nobody, log_n = len(pulls), log_of(n)
    arm = int(known.marks[LEADER])
    if arm < 0 or n >= known.marks[PHASE_END]:  # no leader, or another phase: all line up anew and arm 0 leads
        arm = 0
        known.marks[PHASE_END] = phase_end(policy, n)
        _line_up(known, pulls, n)
        _take_out(known, pulls, arm)
    best, top = nobody, -np.inf  # the winner so far and its score
    score, scored, tries = top, False, 0  # the arm's score, or a guess of it, and how many bounds to try
    at = n  # the pull for which it is scored
    while True:
        value = number(float(policy.score(memory.belief(arm), log_n if at == n else log_of(at))))
        if at > n:
            tries -= 1
            bound = value + MARGIN * abs(value) if value > -np.inf else value  # what rounding may hide of a rise
            known.turns[arm] = n + _crossing(n, at + 1 - n, bound - score, top - score)
            settled = bound < top
            if settled:
                _settle(known, pulls, arm, bound, at + 1)
        elif best == nobody:
            best, top, settled = arm, value, True
        else:
            arm, score, best, top = _met(known, pulls, n, arm, value, best, top)
            scored, tries, settled = True, TRIES, False
        if not settled:  # a bound until half-way to its turn, or its score, or else the score is needed first
            at = _look_ahead(known, arm, n)
            if scored and (tries == 0 or at == n or score == np.inf):
                _settle(known, pulls, arm, score, int(known.marks[PHASE_END]) if score == np.inf else n + 1)
                settled = True
            elif tries == 0:
                at = n
        if settled:
            arm, at = int(known.tops[1]), n
            if known.dues[1] <= n:  # somebody's bound has run out: another may do, and no score
                arm = _first_due(known, nobody, n)
                at = _look_ahead(known, arm, n)
                score, scored, tries = float(known.bounds[arm]), False, 1
            elif arm == nobody or precedes(top, pulls[best], best, known.bounds[arm], pulls[arm], arm):
                break
    # Whoever has just taken the lead will lose it by being pulled, often as not: only a leader that kept it is trusted.
    known.marks[UNTIL] = min(known.dues[1], known.marks[PHASE_END]) if best == known.marks[LEADER] else 0
    known.marks[LEADER] = best
    known.levels[LOG] = log_n
    known.levels[RIVAL] = known.bounds[known.tops[1]]
    return best


def _met(
    known: ScoreBounds, pulls: Counts, n: int, arm: int, score: float, best: int, top: float
) -> tuple[int, float, int, float]:  # fmt: skip
    """Have a rival meet the best so far: the loser, which needs a new bound, and the winner, each with its score."""
    ahead = known.dues[len(pulls) + arm] - 1 - n  # how far its bound was to last
    if precedes(score, pulls[arm], arm, top, pulls[best], best):
        _take_out(known, pulls, arm)
        known.turns[best] = n + len(pulls)  # a guess: everyone in turn
        arm, score, best, top = best, top, arm, score
    elif ahead > 0 and known.bounds[arm] < np.inf:
        known.turns[arm] = n + _crossing(n, ahead, known.bounds[arm] - score, top - score)
    known.turns[arm] = max(known.turns[arm], n + SOON)
    return arm, score, best, top


def phase_end(policy: Policy, n: int) -> int:
    """The first pull after the n-th at which the policy's phase is another."""
    here = policy.phase(log_of(n))
    step = 1
    while step < NEVER and policy.phase(log_of(n + step)) == here:
        step *= 2
    if step == NEVER:
        return NEVER
    low, high = n + step // 2, n + step
    while low + 1 < high:
        middle = (low + high) // 2
        if policy.phase(log_of(middle)) == here:
            low = middle
        else:
            high = middle
    return high


def _line_up(known: ScoreBounds, pulls: Counts, n: int) -> None:
    """Put every arm into the tree with a bound that says nothing."""
    arms = len(pulls)
    known.bounds[arms] = -np.inf
    for arm in range(arms):
        known.bounds[arm] = np.inf
        known.turns[arm] = n + arms
        known.tops[arms + arm] = arm
        known.dues[arms + arm] = NEVER
    for node in range(arms - 1, 0, -1):
        known.tops[node] = _upper(known, pulls, known.tops[2 * node], known.tops[2 * node + 1])
        known.dues[node] = NEVER


def _look_ahead(known: ScoreBounds, arm: int, n: int) -> int:
    """The pull until which to bound an arm: some of the way to its turn."""
    span = max(1, int(AHEAD * (known.turns[arm] - n)))
    return min(n + span, int(known.marks[PHASE_END])) - 1


def _crossing(n: int, span: int, rise: float, gap: float) -> int:
    """In how many pulls a score that rises so much in `span` pulls closes the gap: a guess, of no consequence."""
    if rise == np.inf:
        return span // 4
    if gap == np.inf or math.isnan(rise):  # NaN: from −∞, and −∞ still
        return min(4 * span, n + 1)
    if not gap > 0.0:
        return 0
    return int(span * gap / rise) if span * gap < rise * n else n + 1


def _first_due(known: ScoreBounds, arms: int, n: int) -> int:
    node = 1
    while node < arms:
        node *= 2
        if known.dues[node] > n:
            node += 1
    return node - arms


def _settle(known: ScoreBounds, pulls: Counts, arm: int, bound: float, due: int) -> None:
    """Write an arm's bound into its leaf and set the path to the root right."""
    arms = len(pulls)
    known.bounds[arm] = bound
    node = arms + arm
    known.tops[node] = arm
    known.dues[node] = due
    _climb(known, pulls, node, arm)


def _take_out(known: ScoreBounds, pulls: Counts, arm: int) -> None:
    node = len(pulls) + arm
    known.tops[node] = len(pulls)
    known.dues[node] = NEVER
    _climb(known, pulls, node, arm)


def _climb(known: ScoreBounds, pulls: Counts, node: int, arm: int) -> None:
    """Set the nodes above right, up to where nothing changes any more."""
    while node > 1:
        left = node & ~1
        node = node >> 1
        top = _upper(known, pulls, known.tops[left], known.tops[left + 1])
        due = min(known.dues[left], known.dues[left + 1])
        if top == known.tops[node] and top != arm and due == known.dues[node]:
            break
        known.tops[node] = top
        known.dues[node] = due


def _upper(known: ScoreBounds, pulls: Counts, arm: int, other: int) -> int:
    """Which of two arms has the bound that comes first; either may be missing."""
    if arm == len(pulls):
        return other
    if other == len(pulls) or precedes(known.bounds[arm], pulls[arm], arm, known.bounds[other], pulls[other], other):
        return arm
    return other
