"""In which box an arm is certain, and who of those that are certain in none is to be pulled: the work of `certificate`.

Bounds carry a margin, since rounding may put an excess a little below where the formula has it. An arm that is due is
asked for a box again once its excess is above a doubt, which fades from comparison to comparison: asking costs more
than comparing. Everything here runs in the interpreter and compiled.
"""

import math
from typing import Any

from outlay.beliefs import Lead, price_of
from outlay.formulas.choices.boxes import BOXES, DUE, LASTING, WIDTHS, Boxes, draw_box, edge, join, leave
from outlay.formulas.choices.choose import Counts, leads, number

# `policies.protocol`, which may import this and not the other way round, says what these must be.
Policy = Any  # with `excess`; for `lazy_among` with `excess_of_new_arm` too
Memory = Any  # with `lead`; for `lazy_among` with `opened` and `unopened` too

MARGIN = 1e-6  # of an excess: after a billion pulls rounding leaves it no more certain
TAKEN = 4.0  # of an excess, by a box, as a multiple of its width, where little is taken
FADING = 0.9  # of the doubt about an arm that is due, at each comparison
HOPELESS = 100.0  # the most that doubt can be


def ask_ring(policy: Policy, memory: Memory, boxes: Boxes, box: int, lead: Lead, pulls: int) -> None:
    """Ask all arms of a box that is to be drawn anew."""
    head = len(boxes.ring) + box
    arm = boxes.ahead[head]
    boxes.ahead[boxes.behind[head]] = head
    boxes.ahead[head] = boxes.behind[head] = head
    while arm != head:
        after = boxes.ahead[arm]
        boxes.ring[arm] = -1
        ask(policy, memory, boxes, arm, max(0, box - 1), lead, pulls)
        arm = after


def ask(policy: Policy, memory: Memory, boxes: Boxes, arm: int, first: int, lead: Lead, pulls: int) -> None:
    """Put an arm that is in no ring into the widest box, from the first on, in which it is certain, or among the due.

    `pulls` are the leader's: few, and a narrow box would be left at once.
    """
    belief, value = memory.belief(arm), 0.0
    for box in range(first, BOXES):
        if box > 0 and WIDTHS[box] * pulls < LASTING:
            break
        if boxes.drawn[box] == 0:
            draw_box(boxes, box, lead)
        value = policy.excess(belief, edge(boxes, box, 0), edge(boxes, box, 1))
        if value > MARGIN:
            join(boxes, arm, box)
            return
    join(boxes, arm, DUE)
    boxes.doubt[arm] = value - 1.0 if value <= 0.0 else -1.0


def least_of_due(
    policy: Policy, memory: Memory, pulls: Counts, boxes: Boxes, leader: int, lead: Lead
) -> tuple[int, float]:
    """The arm with the least excess, if that is ≤ 0; otherwise some excess above 0."""
    arms = len(pulls)
    best, least, spend = leader, math.inf, math.inf
    arm = int(boxes.ahead[arms + DUE])
    while arm < arms:
        after = int(boxes.ahead[arm])
        belief = memory.belief(arm)
        excess = -number(-policy.excess(belief, lead, lead))
        mine = belief.pulls * price_of(belief, lead.cost_min, lead.cost_max)
        same = excess == least and mine == spend and pulls[arm] == pulls[best]
        if leads(-excess, mine, pulls[arm], -least, spend, pulls[best]) or (same and arm < best):
            best, least, spend = arm, excess, mine
        if excess > 0.0:
            if boxes.doubt[arm] < 0.0:  # as it was asked: now it is known what the narrowest box takes away
                boxes.doubt[arm] = min(excess - (boxes.doubt[arm] + 1.0), HOPELESS)
            elif excess > boxes.doubt[arm]:
                leave(boxes, arm)
                ask(policy, memory, boxes, arm, widest_for(excess), lead, pulls[leader])
            else:
                boxes.doubt[arm] *= FADING
        arm = after
    return best, least


def widest_for(excess: float) -> int:
    """The first box that may hold an arm with this excess: a guess, by what boxes take away as a rule."""
    box = 0
    while box < BOXES - 1 and TAKEN * WIDTHS[box] > excess:
        box += 1
    return box
