"""`choose.best_by_excess` and `choose.best_of_opened` without comparing every arm: exact, ties included.

Between two pulls of an arm, what it is compared with changes with every pull of the leader, but slowly. A policy's
`excess(belief, low, high)` is a lower bound over all leads between two (its value where they are one), so an arm whose
excess is positive between the edges of a box need not be compared while the lead stays in it. There are several boxes,
from wide to narrow (`choices.boxes`); an arm is asked again only when it was pulled or when the lead leaves its box.
Arms that are certain in no box are compared at every pull. So a pull costs one lead, and as many comparisons as there
are arms that are really close, whatever the number of arms.

Who leads is known from the last pull alone, or found in a tree of winners (`choices.ranking`) where it fell behind.
`choices.asking` puts arms into boxes and compares those that are due. Everything here runs in the interpreter and
compiled.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.beliefs import Lead
from outlay.formulas.choices.asking import MARGIN, Memory, Policy, ask, ask_ring, least_of_due
from outlay.formulas.choices.boxes import (
    BOXES,
    DUE,
    LASTING,
    WIDTHS,
    Boxes,
    Floats,
    Ints,
    edge,
    forget_boxes,
    join,
    leave,
    meet,
    within,
)
from outlay.formulas.choices.choose import AT_ONCE, PATIENCE, Counts, best_by_excess, best_of_opened, number
from outlay.formulas.choices.ranking import Ranking, note, rank, rank_all, runner_up

FRESH_TIMES = (16.0, 2.0, 1.2, 1.02)  # how many times the total spend no arm may have to be opened

# Entries of Certificate.marks: the leader or −1, the arm named last or −1, the first arm that may never have been
# pulled, the box in which it is certain that none is to be opened, and the only arm that has cost nothing in all or −1.
LEADER, LAST, UNPULLED, FRESH_BOX, FREE = range(5)
# Entries of Certificate.levels: the leader's rate, the largest that another's may be, and the total spend between which
# no arm need be opened.
RATE, RUNNER_UP, OPEN_FROM, OPEN_UNTIL = range(4)


class Certificate(NamedTuple):
    """What is certain about the leader and the others: scratch space for one run at a time."""

    marks: Ints
    levels: Floats
    ranking: Ranking
    boxes: Boxes

    @staticmethod
    def start(arms: int) -> "Certificate":
        """Room for this many arms."""
        return Certificate(np.zeros(5, np.int64), np.zeros(4), Ranking.start(arms), Boxes.start(arms))


def forget_certificate(known: Certificate) -> None:
    """Begin anew: another run, or the same one with its memory changed."""
    known.marks[LEADER] = known.marks[LAST] = known.marks[FREE] = -1
    known.marks[UNPULLED] = 0


def lazy_against(policy: Policy, memory: Memory, pulls: Counts, known: Certificate) -> int:
    """`choose.best_by_excess`: the same arm."""
    arm = first_unpulled(pulls, known)
    if arm == len(pulls):
        leader = follow(memory, pulls, known)
        if leader < 0:
            arm = best_by_excess(policy, memory, pulls)
        elif known.marks[FREE] >= 0:
            arm = int(known.marks[FREE])
        else:
            lead = memory.lead(leader)
            settle(policy, memory, pulls, known, leader, lead)
            arm, excess = least_of_due(policy, memory, pulls, known.boxes, leader, lead)
            arm = arm if excess <= 0.0 else leader
    known.marks[LAST] = arm
    return arm


def lazy_among(policy: Policy, memory: Memory, pulls: Counts, known: Certificate) -> int:
    """`choose.best_of_opened`: the same arm."""
    arm: int = memory.unopened()
    if arm == len(pulls) or memory.opened() >= AT_ONCE:
        leader = follow(memory, pulls, known)
        if leader < 0:
            arm = best_of_opened(policy, memory, pulls)
        elif known.marks[FREE] >= 0:
            arm = int(known.marks[FREE])
        else:
            arm = opened_or_fresh(policy, memory, pulls, known, leader, arm)
    known.marks[LAST] = arm
    return arm


def opened_or_fresh(policy: Policy, memory: Memory, pulls: Counts, known: Certificate, leader: int, fresh: int) -> int:
    """The leader, its challenger, or the arm to be opened next, if there is one."""
    lead, wanted = memory.lead(leader), math.inf
    settle(policy, memory, pulls, known, leader, lead)
    if fresh < len(pulls) and not none_to_open(known, lead):
        wanted = -number(-policy.excess_of_new_arm(lead, lead))
        if wanted == -math.inf:
            return fresh
        if wanted > 0.0:
            certify_fresh(policy, known, lead)
    arm, excess = least_of_due(policy, memory, pulls, known.boxes, leader, lead)
    if wanted <= 0.0 and wanted <= excess:
        return fresh
    return arm if excess <= 0.0 else leader


def first_unpulled(pulls: Counts, known: Certificate) -> int:
    """The first arm that was never pulled, or the number of arms."""
    arm = int(known.marks[UNPULLED])
    while arm < len(pulls) and pulls[arm] > 0:
        arm += 1
    known.marks[UNPULLED] = arm
    return arm


def follow(memory: Memory, pulls: Counts, known: Certificate) -> int:
    """Who leads, by what the last pull changed; −1 if every arm must be looked at.

    An arm that has cost nothing in all has no rate: while it is the only one it is noted as free.
    """
    marks, levels, ranking = known.marks, known.levels, known.ranking
    leader, last = int(marks[LEADER]), int(marks[LAST])
    if leader < 0:
        return find_leader(memory, pulls, known)
    belief = memory.belief(last)
    marks[FREE] = -1
    if not belief.mean_cost > 0.0:
        if pulls[last] < PATIENCE and last != leader:
            marks[FREE] = last
            return leader
        marks[LEADER] = -1
        return -1
    note(ranking, last, belief)
    rate = float(ranking.rates[last])
    if last == leader and rate > levels[RUNNER_UP]:
        levels[RATE] = rate
        return leader
    first = rank(ranking, pulls, last)
    if first != leader or last == leader:
        levels[RATE], levels[RUNNER_UP] = ranking.rates[first], runner_up(ranking, first)
        change_leader(known, first, pulls[first])
    else:
        levels[RUNNER_UP] = max(rate, float(levels[RUNNER_UP]))
    return first


def find_leader(memory: Memory, pulls: Counts, known: Certificate) -> int:
    """Who leads, by a look at every arm; −1 while one that was pulled has cost nothing in all."""
    ranking, boxes = known.ranking, known.boxes
    if not rank_all(ranking, memory, pulls):
        return -1
    forget_boxes(boxes)
    for arm in range(len(pulls)):
        if pulls[arm] > 0:
            join(boxes, arm, DUE)
    leader = int(ranking.winners[1])
    known.levels[RATE], known.levels[RUNNER_UP] = ranking.rates[leader], runner_up(ranking, leader)
    known.levels[OPEN_FROM] = math.inf
    known.marks[LAST] = leader
    known.marks[FREE] = -1
    change_leader(known, leader, pulls[leader])
    return leader


def change_leader(known: Certificate, leader: int, pulls: int) -> None:
    """Compare the former leader, too, and no longer the new one."""
    boxes, former = known.boxes, int(known.marks[LEADER])
    leave(boxes, leader)
    known.marks[LEADER] = leader
    if former >= 0 and former != leader:
        join(boxes, former, DUE)
        boxes.doubt[former] = 0.0
    if former != leader and WIDTHS[1] * pulls >= LASTING:
        arm = int(boxes.ahead[len(boxes.ring) + DUE])
        while arm < len(boxes.ring):  # what boxes took away from an excess they took under the former leader
            boxes.doubt[arm] = 0.0
            arm = int(boxes.ahead[arm])


def settle(policy: Policy, memory: Memory, pulls: Counts, known: Certificate, leader: int, lead: Lead) -> None:
    """Ask the arms of the boxes that the lead has left, and the arm that was pulled last."""
    boxes, last = known.boxes, int(known.marks[LAST])
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
            ask_ring(policy, memory, boxes, box, lead, pulls[leader])
    if last != leader:
        leave(boxes, last)
        ask(policy, memory, boxes, last, 0, lead, pulls[leader])


def none_to_open(known: Certificate, lead: Lead) -> bool:
    """Whether it is certain that no arm need be opened, the lead being in all boxes that are drawn."""
    return bool(known.levels[OPEN_FROM] <= lead.spent <= known.levels[OPEN_UNTIL])


def certify_fresh(policy: Policy, known: Certificate, lead: Lead) -> None:
    """Find a box, and how far the total spend may move, such that no arm need be opened while the lead is in it."""
    boxes, levels = known.boxes, known.levels
    levels[OPEN_FROM] = math.inf
    for box in range(BOXES):
        if boxes.drawn[box] > 0:
            for times in FRESH_TIMES:
                limit = times * lead.spent
                low, high = edge(boxes, box, 0), edge(boxes, box, 1)
                if limit > lead.spent and policy.excess_of_new_arm(spent(low, lead.spent), spent(high, limit)) > MARGIN:
                    known.marks[FRESH_BOX] = box
                    levels[OPEN_FROM], levels[OPEN_UNTIL] = lead.spent, limit
                    return


def spent(lead: Lead, total: float) -> Lead:
    """The same lead after another total spend."""
    return Lead(
        lead.rate, lead.spend, lead.price, lead.arms, lead.reward_max, lead.cost_min, lead.cost_max, lead.spread,
        lead.size, lead.opened, lead.usual_price, lead.usual_rate, total,
    )  # fmt: skip
