"""What a thread of the GPU holds in hand of the leader, and how long it may go on pulling it.

A policy that compares every arm with the leader (`engine.certificate`) need not do so while the lead stays in a box. As
long, a pull of the leader changes its own sums and those of all pulls, and the rest of the memory is not looked at: the
two rows lie in registers, and the box beside them. Other memories than `Pooled` and `Opened` stay where they are, and
the functions `…_there` serve those; `gpu.code` picks when it compiles, by the class of the memory.
"""

from typing import NamedTuple

from outlay.beliefs import Belief, Lead
from outlay.engine.boxes import BOXES, DUE, NUMBERS, SPENT
from outlay.engine.certificate import OPEN_FROM, OPEN_UNTIL, RUNNER_UP, Certificate
from outlay.engine.loop import Floats
from outlay.policies.protocol import Leads, MemoryTuple, Opens

ARMS = Lead._fields.index("arms")  # of which a memory in hand has one
LOW, HIGH = 0, 1


class Hand(NamedTuple):
    """The leader's sums and those of all pulls, what else a pull of the leader changes, and the box of the lead."""

    rows: Floats  # [2, 8]: the leader's, and those of all pulls
    extremes: Floats  # [3]
    usual: Floats  # [2], of a memory that opens arms one by one
    box: Floats  # [low or high, number of a lead]
    runner_up: Floats  # [1]: the largest rate that another arm may have


def at_rest(known: Certificate) -> bool:
    """Whether no arm is to be compared as long as the lead stays in all boxes."""
    due = len(known.boxes.ring) + DUE
    return bool(known.boxes.ahead[due] == due)


def see_box(memory: MemoryTuple, hand: Hand, known: Certificate) -> None:
    """Take in hand where all boxes meet."""
    for i in range(NUMBERS):
        hand.box[LOW, i] = known.boxes.edges[BOXES, LOW, i]
        hand.box[HIGH, i] = known.boxes.edges[BOXES, HIGH, i]
    hand.runner_up[0] = known.levels[RUNNER_UP]
    limit_spend(memory, hand, known)


def limit_spend(memory: Opens, hand: Hand, known: Certificate) -> None:
    """Let the box of a memory that opens arms one by one end where the next may have to be opened."""
    if memory.unopened() < len(known.boxes.ring):
        hand.box[LOW, SPENT], hand.box[HIGH, SPENT] = known.levels[OPEN_FROM], known.levels[OPEN_UNTIL]


def no_limit(memory: Leads, hand: Hand, known: Certificate) -> None:
    """`limit_spend` where all arms are open from the start: nothing."""


def still_leads(hand: Hand, belief: Belief, lead: Lead) -> bool:
    """Whether the leader, of which this is the belief, is to be pulled again, and nobody need be asked."""
    leads = belief.mean_cost > 0.0 and lead.rate > hand.runner_up[0]
    for i in range(NUMBERS):
        leads = leads and (i == ARMS or hand.box[LOW, i] <= lead[i] <= hand.box[HIGH, i])
    return leads


def pick_up_lead(memory: MemoryTuple, hand: Hand, leader: int) -> None:
    """Copy what a pull of the leader changes into the hand."""
    everything = len(memory.stats) - 1
    for i in range(8):
        hand.rows[0, i] = memory.stats[leader, i]
        hand.rows[1, i] = memory.stats[everything, i]
    for i in range(3):
        hand.extremes[i] = memory.extremes[i]
    pick_up_usual(memory, hand)


def put_down_lead(memory: MemoryTuple, hand: Hand, leader: int) -> None:
    """Copy it back."""
    everything = len(memory.stats) - 1
    for i in range(8):
        memory.stats[leader, i] = hand.rows[0, i]
        memory.stats[everything, i] = hand.rows[1, i]
    for i in range(3):
        memory.extremes[i] = hand.extremes[i]
    put_down_usual(memory, hand)


def pick_up_usual(memory: MemoryTuple, hand: Hand) -> None:
    """Of a memory that opens arms one by one, copy what all of them are like."""
    hand.usual[0], hand.usual[1] = memory.usual[0], memory.usual[1]


def put_down_usual(memory: MemoryTuple, hand: Hand) -> None:
    """Copy it back."""
    memory.usual[0], memory.usual[1] = hand.usual[0], hand.usual[1]


def nothing_usual(memory: MemoryTuple, hand: Hand) -> None:
    """The last two for a memory that knows no such thing."""


def lead_on(memory: MemoryTuple, hand: Hand, leader: int, cost: float, reward: float) -> bool:
    """Take in a pull of the leader; whether it is to be pulled again for certain."""
    held = of_hand(memory, hand, leader)
    held.observe(0, cost, reward)
    return still_leads(hand, held.belief(0), held.lead(0))


def of_hand(memory: MemoryTuple, hand: Hand, leader: int) -> MemoryTuple:
    """A memory of the leader alone; the compiler's version is made from the memory's type in `gpu.code`."""
    raise NotImplementedError("only compiled code holds a lead in registers")


def leave_lead(memory: MemoryTuple, hand: Hand, leader: int) -> None:
    """`pick_up_lead` and `put_down_lead` of a memory that stays where it is: nothing."""


def lead_on_there(memory: Leads, hand: Hand, leader: int, cost: float, reward: float) -> bool:
    """`lead_on` of such a memory."""
    memory.observe(leader, cost, reward)
    return still_leads(hand, memory.belief(leader), memory.lead(leader))
