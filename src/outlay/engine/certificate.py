"""`choose.best_by_excess` without comparing every arm: exact, ties included.

Between two pulls of an arm, what it is compared with changes with every pull of the leader, but slowly. A policy's
`excess(belief, low, high)` is a lower bound over all leads between two (its value where they are one), so one round of
bounds certifies the leader for as long as the lead stays in a box: its rate above the others', its spend not much
larger, the extremes as they are. Until then a pull costs one lead and no logarithm, whatever the number of arms.

The box is widened when a certificate is had and narrowed when it is refused. Bounds carry a margin, since rounding may
put an excess a little below where the formula has it. Everything here runs in the interpreter and compiled.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead
from outlay.formulas.choose import Counts, leader_of, least_excess, without_price
from outlay.policies.protocol import Compared, Leads

MARGIN = 1e-6  # of an excess: after a billion pulls rounding leaves it no more certain
FIRST, WIDEST = 0.02, 0.5  # the width of a box, as a share of each number: at first, and at most
WORTHWHILE = 3.0  # pulls that a certificate must be expected to serve

# Entries of Box.marks: the leader, and whether it has a certificate.
LEADER, CERTIFIED = 0, 1


class Box(NamedTuple):
    """The leader's certificate: scratch space for one run at a time, forgotten whenever a run is left."""

    marks: NDArray[np.int64]
    width: NDArray[np.float64]  # [1]: of the next box to be tried
    edges: NDArray[np.float64]  # [low or high, number of a lead]

    @staticmethod
    def start() -> "Box":
        """No certificate yet."""
        return Box(np.zeros(2, np.int64), np.zeros(1), np.zeros((2, len(Lead._fields))))


def forget_box(box: Box) -> None:
    """Begin anew: another run, or the same one with its memory changed."""
    box.marks[LEADER] = -1
    box.marks[CERTIFIED] = 0


def lazy_against(policy: Compared, memory: Leads, pulls: Counts, box: Box) -> int:
    """`choose.best_by_excess`: the same arm."""
    leader = int(box.marks[LEADER])
    if box.marks[CERTIFIED] > 0 and inside(memory.lead(leader), box.edges):
        return leader
    return compare_all(policy, memory, pulls, box)


def compare_all(policy: Compared, memory: Leads, pulls: Counts, box: Box) -> int:
    """`choose.best_by_excess`, and a certificate for what follows where there is one."""
    before = box.marks[LEADER]
    box.marks[CERTIFIED] = 0
    free = without_price(memory, pulls)
    if free < len(pulls):
        return free
    leader, runner_up = leader_of(memory, pulls)
    lead = memory.lead(leader)
    arm, excess = least_excess(policy, memory, pulls, leader, lead, lead)
    if excess <= 0.0:
        return arm
    if before < 0:
        box.width[0] = FIRST
    box.marks[LEADER] = leader
    # What is enough grows with the logarithm of the leader's spend: a box wider than the least excess is too wide. And
    # whoever has just taken the lead will lose it, often as not.
    level = max(float(box.width[0]), WORTHWHILE / pulls[leader])
    width = min(level, excess)
    if leader == before and lead.rate > runner_up and width * pulls[leader] >= WORTHWHILE and width <= WIDEST:
        low, high = box_around(lead, runner_up, width)
        _, least = least_excess(policy, memory, pulls, leader, low, high)
        box.width[0] = min(WIDEST, 2.0 * level) if least > MARGIN else 0.5 * level
        if least > MARGIN:
            box.marks[CERTIFIED] = 1
            for i in range(len(low)):
                box.edges[0, i] = low[i]
                box.edges[1, i] = high[i]
    return leader


def box_around(lead: Lead, runner_up: float, width: float) -> tuple[Lead, Lead]:
    """Two leads between which the leader leads, the extremes are what they are, and the rest may move a little."""
    step = width * abs(lead.rate)
    least, most = max(lead.rate - step, lead.rate - 0.5 * (lead.rate - runner_up)), lead.rate + step
    fixed = lead.arms, lead.reward_max, lead.cost_min, lead.cost_max
    less, more = 1.0 - width, 1.0 + width
    low = Lead(least, less * lead.spend, less * lead.price, *fixed, less * lead.spread, less * lead.size)
    high = Lead(most, more * lead.spend, more * lead.price, *fixed, more * lead.spread, more * lead.size)
    return low, high


def inside(lead: Lead, edges: NDArray[np.float64]) -> bool:
    """Whether every number of the lead is between those of the box."""
    for i in range(len(lead)):  # noqa: SIM110 (compiled: no generators)
        if not edges[0, i] <= lead[i] <= edges[1, i]:
            return False
    return True
