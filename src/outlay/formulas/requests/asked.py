"""In which box of terms an arm is certain, and which of those that are certain in none is to be pulled.

`choices.asking` does the same for arms that are compared with a leader, and says how a doubt fades. Everything here
runs in the interpreter and compiled.
"""

import math

from outlay.beliefs import Points
from outlay.formulas.choices.asking import FADING, HOPELESS, MARGIN, widest_for
from outlay.formulas.choices.boxes import (
    ANY_PRICE,
    BOXES,
    DUE,
    LASTING,
    TIMES,
    WIDTHS,
    Boxes,
    join,
    leave,
    meet,
    put_box,
    within,
)
from outlay.formulas.choices.choose import leads, number
from outlay.formulas.requests.compared import asked_on, excess_on
from outlay.formulas.requests.terms import Terms, as_terms, known_cost, priced, terms_around
from outlay.formulas.requests.watch import LAST, Watch, is_end

NOBODY = -1


def settle_terms(slope: float, memory: Points, known: Watch, terms: Terms, pulls: int) -> None:
    """Ask the arms of the boxes that the terms have left; the arm that was pulled last is compared."""
    boxes, last = known.boxes, int(known.marks[LAST])
    if not within(boxes, BOXES, terms):
        arm = take_out(boxes, terms)
        while arm != NOBODY:
            after, box = int(boxes.ahead[arm]), int(boxes.ring[arm])
            boxes.ring[arm] = -1
            ask_terms(slope, memory, known, arm, max(0, box - 1), terms, pulls)
            arm = after
    if last >= 0 and not is_end(known, last):
        leave(boxes, last)
        join(boxes, last, DUE)
        boxes.doubt[last] = 0.0


def take_out(boxes: Boxes, terms: Terms) -> int:
    """Take all arms out of the boxes that the terms have left: the first of a chain, each with the box it was in."""
    first = NOBODY
    for box in range(BOXES):
        if boxes.drawn[box] > 0 and not within(boxes, box, terms):
            boxes.drawn[box] = 0
            head = len(boxes.ring) + box
            arm = int(boxes.ahead[head])
            while arm != head:
                after = int(boxes.ahead[arm])
                boxes.ahead[arm] = first
                first, arm = arm, after
            boxes.ahead[head] = boxes.behind[head] = head
    meet(boxes)
    return first


def ask_terms(slope: float, memory: Points, known: Watch, arm: int, first: int, terms: Terms, pulls: int) -> None:
    """Put an arm that is in no ring into the widest box, from the first on, in which it is certain, or among the due.

    `pulls` are those of the edge: few, and a narrow box would be left at once.
    """
    boxes, belief, value = known.boxes, known_cost(memory, arm), 0.0
    for box in range(first, BOXES):
        if box > 0 and WIDTHS[box] * pulls < LASTING:
            break
        if boxes.drawn[box] == 0:
            low, high = terms_around(terms, WIDTHS[box], TIMES[box], ANY_PRICE if box == 0 else 1.0)
            put_box(boxes, box, low, high)
        low, high = as_terms(boxes.edges[box, 0]), as_terms(boxes.edges[box, 1])
        value = excess_on(asked_on(slope, low, high), belief, low, high)
        if value > MARGIN:
            join(boxes, arm, box)
            return
    join(boxes, arm, DUE)
    boxes.doubt[arm] = value - 1.0 if value <= 0.0 else -1.0


def least_of_due(slope: float, memory: Points, known: Watch, terms: Terms, pulls: int) -> tuple[int, float]:
    """The arm with the least excess, if that is ≤ 0; otherwise some excess above 0."""
    boxes, arms = known.boxes, len(memory.pulls)
    best, least, spend = 0, math.inf, math.inf
    arm = int(boxes.ahead[arms + DUE])
    if arm >= arms:
        return best, least
    asked = asked_on(slope, terms, terms)
    while arm < arms:
        after = int(boxes.ahead[arm])
        belief = known_cost(memory, arm)
        excess = -number(-excess_on(asked, belief, terms, terms))
        mine = belief.pulls * priced(belief, terms, terms).cheap
        same = excess == least and mine == spend and memory.pulls[arm] == memory.pulls[best]
        if leads(-excess, mine, memory.pulls[arm], -least, spend, memory.pulls[best]) or (same and arm < best):
            best, least, spend = arm, excess, mine
        if excess > 0.0:
            if boxes.doubt[arm] < 0.0:  # as it was asked: now it is known what the narrowest box takes away
                boxes.doubt[arm] = min(excess - (boxes.doubt[arm] + 1.0), HOPELESS)
            elif excess > boxes.doubt[arm]:
                leave(boxes, arm)
                ask_terms(slope, memory, known, arm, widest_for(excess), terms, pulls)
            else:
                boxes.doubt[arm] *= FADING
        arm = after
    return best, least
