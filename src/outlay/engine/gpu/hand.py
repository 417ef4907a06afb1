"""What a thread of the GPU holds in hand of the leader, and how long it may go on pulling it.

A policy that compares every arm with the leader (`formulas.certificate`) need not do so while the lead stays in a box.
As long, a pull of the leader changes its own sums and those of all pulls and reads nothing else: the two rows lie in
registers, and the box beside them. That is so for the memories `Pooled` and `Opened`; others are never held, and then
the certificate is asked at every pull. `gpu.code` tells them apart when it compiles, by the class.
"""

from typing import NamedTuple

from outlay.beliefs import Lead
from outlay.beliefs.pooled import COST_MAX, COST_MIN, REWARD_MAX
from outlay.engine.loop import Floats
from outlay.formulas.boxes import BOXES, DUE
from outlay.formulas.certificate import OPEN_FROM, OPEN_UNTIL, RUNNER_UP, Certificate
from outlay.policies.protocol import MemoryTuple

# The numbers of a lead that a pull of the leader may change, but for the extremes: the rate first, then those that are
# of interest only where arms are opened one by one, of these what was spent in all last.
MOVING = tuple(map(Lead._fields.index, ("rate", "spend", "price", "spread", "size")))
USUAL = tuple(map(Lead._fields.index, ("usual_price", "usual_rate", "spent")))
SIDES = len(MOVING) + len(USUAL)
LOW, HIGH = 0, 1


class Hand(NamedTuple):
    """The leader's sums and those of all pulls, what else a pull of the leader changes, and the box of the lead."""

    rows: Floats  # [2, 8]: the leader's, and those of all pulls
    extremes: Floats  # [3]
    usual: Floats  # [2], where arms are opened one by one
    box: Floats  # [low or high, one of MOVING or USUAL]


def at_rest(known: Certificate) -> bool:
    """Whether no arm is to be compared as long as the lead stays in all boxes."""
    due = len(known.boxes.ring) + DUE
    return bool(known.boxes.ahead[due] == due)


def pick_up_lead(memory: MemoryTuple, hand: Hand, leader: int, known: Certificate) -> bool:
    """Take in hand what a pull of the leader changes and where all boxes meet; whether this can be held at all."""
    everything, edges = len(memory.stats) - 1, known.boxes.edges
    for i in range(8):
        hand.rows[0, i] = memory.stats[leader, i]
        hand.rows[1, i] = memory.stats[everything, i]
    for i in range(3):
        hand.extremes[i] = memory.extremes[i]
    for i in range(len(MOVING)):
        hand.box[LOW, i], hand.box[HIGH, i] = edges[BOXES, LOW, MOVING[i]], edges[BOXES, HIGH, MOVING[i]]
    hand.box[LOW, 0] = max(float(hand.box[LOW, 0]), float(known.levels[RUNNER_UP]))
    pick_up_usual(memory, hand, known)
    return True


def pick_up_usual(memory: MemoryTuple, hand: Hand, known: Certificate) -> None:
    """Likewise where arms are opened one by one; the box ends where the next may have to be opened."""
    edges, first = known.boxes.edges, len(MOVING)
    hand.usual[0], hand.usual[1] = memory.usual[0], memory.usual[1]
    for i in range(len(USUAL)):
        hand.box[LOW, first + i], hand.box[HIGH, first + i] = edges[BOXES, LOW, USUAL[i]], edges[BOXES, HIGH, USUAL[i]]
    if memory.unopened() < len(known.boxes.ring):
        hand.box[LOW, SIDES - 1] = max(float(hand.box[LOW, SIDES - 1]), float(known.levels[OPEN_FROM]))
        hand.box[HIGH, SIDES - 1] = min(float(hand.box[HIGH, SIDES - 1]), float(known.levels[OPEN_UNTIL]))


def put_down_lead(memory: MemoryTuple, hand: Hand, leader: int) -> None:
    """Copy what was held back into the memory."""
    everything = len(memory.stats) - 1
    for i in range(8):
        memory.stats[leader, i] = hand.rows[0, i]
        memory.stats[everything, i] = hand.rows[1, i]
    for i in range(3):
        memory.extremes[i] = hand.extremes[i]
    put_down_usual(memory, hand)


def put_down_usual(memory: MemoryTuple, hand: Hand) -> None:
    """Likewise where arms are opened one by one."""
    memory.usual[0], memory.usual[1] = hand.usual[0], hand.usual[1]


def lead_on(memory: MemoryTuple, hand: Hand, leader: int, cost: float, reward: float) -> bool:
    """Take in a pull of the leader; whether it is certain that it is to be pulled again.

    A box has room for no other extremes than those that it was drawn with.
    """
    held, extremes = of_hand(memory, hand, leader), hand.extremes
    leads = reward <= extremes[REWARD_MAX] and extremes[COST_MIN] <= cost <= extremes[COST_MAX]
    held.observe(0, cost, reward)
    lead = held.lead(0)
    leads = leads and held.belief(0).mean_cost > 0.0 and lead[MOVING[0]] > hand.box[LOW, 0]
    for i in range(len(MOVING)):
        leads = leads and hand.box[LOW, i] <= lead[MOVING[i]] <= hand.box[HIGH, i]
    return bool(leads and as_usual(memory, hand, lead))


def as_usual(memory: MemoryTuple, hand: Hand, lead: Lead) -> bool:  # noqa: ARG001
    """Whether the lead is in the box as to what is of interest where arms are opened one by one."""
    inside, first = True, len(MOVING)
    for i in range(len(USUAL)):
        inside = inside and hand.box[LOW, first + i] <= lead[USUAL[i]] <= hand.box[HIGH, first + i]
    return bool(inside)


def of_hand(memory: MemoryTuple, hand: Hand, leader: int) -> MemoryTuple:
    """A memory of the leader alone; the compiler's version is made from the memory's type in `gpu.code`."""
    raise NotImplementedError("only compiled code holds a lead in registers")


def nothing_usual(memory: MemoryTuple, hand: Hand, *_: object) -> bool:  # noqa: ARG001
    """The functions `…_usual` where all arms are open from the start."""
    return True


def never_held(memory: MemoryTuple, hand: Hand, *_: object) -> bool:  # noqa: ARG001
    """`pick_up_lead`, and what follows from it, for a memory that is not held in hand."""
    return False
