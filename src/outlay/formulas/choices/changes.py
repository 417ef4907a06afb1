"""A certificate kept up to date where more has changed than the arm that was named last: for campaigns.

There, pulls are told in any order, corrected and withdrawn, and several are under way. What is certain about an arm
rests on its belief, which has not changed unless it is reported here, and on the lead, which is looked at anew for
every choice. So the next choice is that of `choose.best_by_excess` or `choose.best_of_opened` all the same. Everything
here runs in the interpreter and compiled.
"""

from collections.abc import Collection

from outlay.formulas.choices.asking import Memory
from outlay.formulas.choices.boxes import DUE, join, leave
from outlay.formulas.choices.certificate import (
    FREE,
    LAST,
    LEADER,
    RATE,
    RUNNER_UP,
    Certificate,
    change_leader,
    forget_certificate,
)
from outlay.formulas.choices.choose import Counts
from outlay.formulas.choices.ranking import note, rank, runner_up


def report(memory: Memory, pulls: Counts, known: Certificate, arms: Collection[int]) -> None:
    """Say whose beliefs have changed since the last choice, in place of the arm that was named then.

    >>> import numpy as np
    >>> from outlay.beliefs import PooledMoments
    >>> from outlay.formulas.choices.certificate import lazy_against
    >>> from outlay.policies import Frugal
    >>> memory, pulls, known = PooledMoments.empty(2), np.array([1, 1]), Certificate.start(2)
    >>> memory.observe(0, 1.0, 2.0)
    >>> memory.observe(1, 1.0, 1.0)
    >>> forget_certificate(known)
    >>> lazy_against(Frugal(), memory, pulls, known)
    0
    >>> memory.revise(1, 0, (1.0, 1.0), (1.0, 9.0))
    >>> report(memory, pulls, known, [1])
    >>> int(known.marks[LEADER])
    1
    """
    marks, levels, ranking, boxes = known.marks, known.levels, known.ranking, known.boxes
    leader = int(marks[LEADER])
    for arm in arms:
        if not (pulls[arm] > 0 and memory.belief(arm).mean_cost > 0.0):
            forget_certificate(known)  # withdrawn, or without a price: rare, and then nothing is certain
            return
    if leader < 0:
        return
    for arm in arms:
        note(ranking, arm, memory.belief(arm))
        rank(ranking, pulls, arm)
        if arm != leader:
            leave(boxes, arm)
            boxes.doubt[arm] = 0.0
            join(boxes, arm, DUE)
    first = int(ranking.winners[1])
    levels[RATE], levels[RUNNER_UP] = ranking.rates[first], runner_up(ranking, first)
    change_leader(known, first, pulls[first])
    marks[LAST], marks[FREE] = first, -1
