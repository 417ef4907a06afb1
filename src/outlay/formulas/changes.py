"""A certificate kept up to date where more has changed than the arm that was named last: for campaigns.

There, pulls are told in any order, corrected and withdrawn, and several are under way. What is certain about an arm
rests on its belief, which has not changed unless it is reported here, and on the lead, which is looked at anew for
every choice. So the next choice is that of `choose.best_by_excess` or `choose.best_of_opened` all the same.
"""

from collections.abc import Iterable

from outlay.formulas.boxes import DUE, join, leave
from outlay.formulas.certificate import (
    LAST,
    LEADER,
    RATE,
    RUNNER_UP,
    Certificate,
    Memory,
    change_leader,
    forget_certificate,
)
from outlay.formulas.choose import Counts


def report(memory: Memory, pulls: Counts, known: Certificate, arms: Iterable[int]) -> None:
    """Say whose beliefs have changed since the last choice, in place of the arm that was named then.

    >>> import numpy as np
    >>> from outlay.beliefs import Pooled
    >>> from outlay.formulas.certificate import lazy_against
    >>> from outlay.policies import Frugal
    >>> memory, pulls, known = Pooled.empty(2), np.array([1, 1]), Certificate.start(2)
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
    marks, levels, leader = known.marks, known.levels, int(known.marks[LEADER])
    rates = {}
    for arm in arms:
        cost = memory.belief(arm).mean_cost if pulls[arm] > 0 else 0.0
        if not cost > 0.0:  # withdrawn, or without a price: rare, and then nothing is certain
            forget_certificate(known)
            return
        rates[arm] = memory.belief(arm).mean_reward / cost
    if leader < 0:
        return
    levels[RATE] = rates.pop(leader, levels[RATE])
    for arm, rate in rates.items():
        leave(known.boxes, arm)
        if rate > levels[RATE] and rate > levels[RUNNER_UP]:
            levels[RUNNER_UP] = max(levels[RATE], levels[RUNNER_UP])
            levels[RATE] = rate
            change_leader(known, arm)
        else:
            levels[RUNNER_UP] = max(rate, levels[RUNNER_UP])
            known.boxes.doubt[arm] = 0.0
            join(known.boxes, arm, DUE)
    marks[LAST] = marks[LEADER]  # whose rate is looked at once more: where another's may be as large, all are
