"""A look at the others on the GPU: who is to be pulled, by the certificate of `formulas.certificate`.

The counterpart of `lazy_against` and `lazy_among`, cut into steps of one comparison each: threads of a warp wait for
each other, and one that must compare many arms may not hold up the others. Arms that are to be asked for a box wait in
a ring of their own, each with the number of the box in place of its doubt; then arms that are due are compared in turn.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from outlay.beliefs import Lead, price_of
from outlay.formulas.boxes import BOXES, DUE, LASTING, WIDTHS, Boxes, draw_box, edge, join, leave, meet, within
from outlay.formulas.certificate import (
    FADING,
    FREE,
    FRESH_BOX,
    HOPELESS,
    LAST,
    LEADER,
    MARGIN,
    OPEN_FROM,
    Certificate,
    certify_fresh,
    first_unpulled,
    follow,
    none_to_open,
    spent,
    widest_for,
)
from outlay.formulas.choose import AT_ONCE, Counts, best_by_excess, best_of_opened, leads, number
from outlay.policies.protocol import Compared, Leads, MemoryTuple, Opening, Opens, WayName

WAITING = DUE + 1  # the ring of arms that are to be asked for a box
RINGS = WAITING + 1
BEGIN, SETTLE, COMPARE, DECIDED = range(4)
Drawing = Any


def blank_certificate(arms: int) -> Certificate:
    """A certificate before the first pull, with room for the ring of those that wait."""
    known = Certificate.start(arms)
    ahead, behind = np.zeros((2, arms + RINGS), np.int64)
    return known._replace(boxes=known.boxes._replace(ahead=ahead, behind=behind))


class Look(NamedTuple):
    """Where a look stands."""

    stage: int
    arm: int  # the next of those that are due, or none of the arms; in the end, the one to pull
    best: int  # the arm with the least excess so far
    least: float  # its excess
    spend: float  # what was spent on it
    fresh: float  # the excess of the arm that would be opened next


def step(
    policy: Compared, memory: MemoryTuple, pulls: Counts, known: Certificate, look: Look, n: int, rng: Drawing
) -> Look:
    """Compare one arm at most, with the lead or with a box around it, and see whether the arm to pull is known."""
    stage, arm, best, least, spend, fresh = look
    arms, boxes = len(pulls), known.boxes
    if stage == BEGIN:
        arm = begin(policy, memory, pulls, known, n, rng)
        if arm >= 0:
            return decided(known, arm)
        stage, arm, best, least, spend, fresh = SETTLE, arms, int(known.marks[LEADER]), math.inf, math.inf, math.inf
    leader = int(known.marks[LEADER])
    lead = memory.lead(leader)
    lead = spent(lead, lead.spent)  # of the class that boxes are of: the compiler tells a memory's own from it
    if look.stage == BEGIN:
        settle(pulls, known, leader, lead)
    due = arm < arms
    other = arm if due else int(boxes.ahead[arms + WAITING])
    if other < arms:
        low, high, box = lead, lead, 0
        if not due:
            box = int(boxes.doubt[other])
            if boxes.drawn[box] == 0:
                draw_box(boxes, box, lead)
            low, high = edge(boxes, box, 0), edge(boxes, box, 1)
        belief = memory.belief(other)
        value = policy.excess(belief, low, high)
        if due:
            arm = int(boxes.ahead[other])
            excess = -number(-value)
            mine = belief.pulls * price_of(belief, lead.cost_min, lead.cost_max)
            same = excess == least and mine == spend and pulls[other] == pulls[best]
            if leads(-excess, mine, pulls[other], -least, spend, pulls[best]) or (same and other < best):
                best, least, spend = other, excess, mine
            if excess > 0.0:
                reconsider(boxes, other, excess, pulls[leader])
        else:
            answer(boxes, other, box, value, pulls[leader])
    if arm >= arms and boxes.ahead[arms + WAITING] == arms + WAITING:
        if stage == SETTLE:
            stage, arm = COMPARE, int(boxes.ahead[arms + DUE])
            fresh = excess_of_fresh(policy, memory, pulls, known, lead)
        if fresh == -math.inf or (arm >= arms and fresh <= 0.0 and fresh <= least):
            return decided(known, next_to_open(memory))
        if arm >= arms:
            return decided(known, best if least <= 0.0 else leader)
    return Look(stage, arm, best, least, spend, fresh)


def decided(known: Certificate, arm: int) -> Look:
    """The look at its end."""
    known.marks[LAST] = arm
    return Look(DECIDED, arm, arm, 0.0, 0.0, 0.0)


def settle(pulls: Counts, known: Certificate, leader: int, lead: Lead) -> None:
    """Have the arms of the boxes that the lead has left wait, and the arm that was pulled last."""
    boxes, last = known.boxes, int(known.marks[LAST])
    arms = len(boxes.ring)
    if not within(boxes, BOXES, lead):
        first_left = BOXES
        for box in range(BOXES - 1, -1, -1):
            if boxes.drawn[box] > 0 and not within(boxes, box, lead):
                boxes.drawn[box] = 0
                first_left = box
                if known.marks[FRESH_BOX] == box:
                    known.levels[OPEN_FROM] = math.inf
        meet(boxes)
        for box in range(first_left, BOXES):
            arm = int(boxes.ahead[arms + box])
            while arm < arms:
                after = int(boxes.ahead[arm])
                leave(boxes, arm)
                have_wait(boxes, arm, max(0, box - 1), -1.0, pulls[leader])
                arm = after
    if last != leader:
        leave(boxes, last)
        have_wait(boxes, last, 0, -1.0, pulls[leader])


def have_wait(boxes: Boxes, arm: int, box: int, doubt: float, pulls: int) -> None:
    """Let an arm that is in no ring wait to be asked for a box; where none would last, it is due, with this doubt."""
    lasts = box == 0 or (box < BOXES and WIDTHS[min(box, BOXES - 1)] * pulls >= LASTING)
    join(boxes, arm, WAITING if lasts else DUE)
    boxes.doubt[arm] = float(box) if lasts else doubt


def answer(boxes: Boxes, arm: int, box: int, value: float, pulls: int) -> None:
    """Put an arm that was waiting into the box, if it is certain there; otherwise the next one is asked for."""
    leave(boxes, arm)
    if value > MARGIN:
        join(boxes, arm, box)
    else:
        have_wait(boxes, arm, box + 1, value - 1.0 if value <= 0.0 else -1.0, pulls)


def reconsider(boxes: Boxes, arm: int, excess: float, pulls: int) -> None:
    """See whether an arm that is due, and has this excess, is worth asking for a box."""
    if boxes.doubt[arm] < 0.0:  # as it was asked: now it is known what the narrowest box takes away
        boxes.doubt[arm] = min(excess - (boxes.doubt[arm] + 1.0), HOPELESS)
    elif excess > boxes.doubt[arm]:
        leave(boxes, arm)
        have_wait(boxes, arm, widest_for(excess), -1.0, pulls)
    else:
        boxes.doubt[arm] *= FADING


def begin(policy: Compared, memory: Leads, pulls: Counts, known: Certificate, n: int, rng: Drawing) -> int:
    """The arm to pull, if that is clear without a comparison with the leader, or else −1: one of the two below."""
    raise NotImplementedError("only compiled code decides on the device")


def begin_with_all(policy: Compared, memory: Leads, pulls: Counts, known: Certificate, n: int, rng: Drawing) -> int:  # noqa: ARG001
    """`begin` for a policy with `excess`."""
    arm = first_unpulled(pulls, known)
    if arm < len(pulls):
        return arm
    if follow(memory, pulls, known) < 0:
        return best_by_excess(policy, memory, pulls)
    return int(known.marks[FREE])


def begin_with_opened(policy: Opening, memory: Opens, pulls: Counts, known: Certificate, n: int, rng: Drawing) -> int:
    """`begin` for a policy with `excess` and `fresh`."""
    if n == 0:
        memory.shuffle(rng)
    arm = memory.unopened()
    if arm < len(pulls) and memory.opened() < AT_ONCE:
        return arm
    if follow(memory, pulls, known) < 0:
        return best_of_opened(policy, memory, pulls)
    return int(known.marks[FREE])


def excess_of_fresh(policy: Any, memory: Opens, pulls: Counts, known: Certificate, lead: Lead) -> float:
    """The excess of the arm to be opened next, or ∞ if none need be, for certain; what is certain is noted."""
    if memory.unopened() == len(pulls) or none_to_open(known, lead):
        return math.inf
    excess = -number(-policy.fresh(lead, lead))
    if excess > 0.0:
        certify_fresh(policy, known, lead)
    return excess


def next_to_open(memory: Opens) -> int:
    """The arm to be opened next."""
    return memory.unopened()


def none_is_fresh(policy: Compared, memory: Leads, pulls: Counts, known: Certificate, lead: Lead) -> float:  # noqa: ARG001
    """`excess_of_fresh` where all arms are open from the start."""
    return math.inf


def none_to_be_opened(memory: Leads) -> int:  # noqa: ARG001
    """`next_to_open`, likewise: never asked for."""
    return -1


# For each way of `protocol.WAYS` that compares arms with the leader.
BEGIN_WITH: dict[WayName, Callable[..., int]] = {"excess": begin_with_all, "opening": begin_with_opened}
