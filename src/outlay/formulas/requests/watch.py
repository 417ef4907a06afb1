"""What is certain from one choice of `Ration` to the next, so that few arms need be looked at: exact, ties included.

Between two choices one arm was pulled, nearly always an end of the edge in use. What others have used of money and
requests is then as it was; both edges are kept as long as `kept` says so; and an arm whose excess is positive on all
terms of a box need not be compared while the terms are in it, as in `choices.certificate`. Arms that are certain in no
box are compared at every choice. docs/decisions/0025-lazy-with-requests.md has the reasons.

Everything here runs in the interpreter and compiled.
"""

from typing import NamedTuple

import numpy as np

from outlay.beliefs import Points
from outlay.beliefs.pooled import COST_MAX
from outlay.formulas.choices.boxes import DUE, Boxes, Floats, Ints, forget_boxes, join, leave
from outlay.formulas.requests.edges import after_exploring, cheapest_of, edge_in_use, explored
from outlay.formulas.requests.kept import forget_row, height_below, is_kept, keep_below, line, may_be_kept, survey
from outlay.formulas.requests.prices import NOTHING, Prices
from outlay.formulas.requests.terms import NUMBERS

# Entries of Watch.marks: the ends of the edge in use and of the one after exploring, the arm named last or −1 (nothing
# is known), and whether `levels` hold.
LOW, HIGH, AHEAD_LOW, AHEAD_HIGH, LAST, SUMMED = range(6)
# Entries of Watch.levels: what exploring has used, the least mean cost above 0 of arms off the edge, the dearest pull.
USED_MONEY, USED_REQUESTS, CHEAPEST, DEAREST = range(4)
UNKNOWN = -2  # in place of an end


class Watch(NamedTuple):
    """What is certain about the edges and the other arms: scratch space for one run at a time."""

    marks: Ints
    levels: Floats
    rows: Floats  # [edge in use or after exploring]: how far its line may move, see `kept`
    boxes: Boxes

    @staticmethod
    def start(arms: int) -> "Watch":
        """Room for this many arms."""
        return Watch(np.zeros(6, np.int64), np.zeros(4), np.zeros((2, 3)), Boxes.start(arms, NUMBERS))


def forget_watch(known: Watch) -> None:
    """Begin anew: another run, or the same one with its memory changed."""
    known.marks[LAST] = -1


def begin_watch(memory: Points, known: Watch) -> None:
    """Begin with no arm certain; every arm that was pulled will be compared."""
    known.marks[:] = UNKNOWN
    known.marks[SUMMED] = 0
    forget_row(known.rows[0])
    forget_row(known.rows[1])
    forget_boxes(known.boxes)
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] > 0:
            join(known.boxes, arm, DUE)
    known.levels[DEAREST] = memory.arms.extremes[COST_MAX]


def take_note(memory: Points, known: Watch) -> None:
    """Take note of the pull since the last choice: whose point has moved."""
    marks, dearest = known.marks, memory.arms.extremes[COST_MAX]
    if marks[LAST] < 0:
        begin_watch(memory, known)
        return
    if is_off_edge(known, int(marks[LAST])):
        marks[SUMMED] = 0
    if dearest != known.levels[DEAREST]:  # it may stand in for the costs of some arms
        known.levels[DEAREST] = dearest
        marks[SUMMED] = 0
        forget_row(known.rows[0])
        forget_row(known.rows[1])


def find_edge(memory: Points, known: Watch, per_request: float, usual_price: float) -> Prices:
    """`edges.edge_in_use`, for the money for a request that there is."""
    marks, row = known.marks, known.rows[0]
    low, high = int(marks[LOW]), int(marks[HIGH])
    if may_be_kept(memory, low, high, per_request, row):
        edge, last = line(memory, low, high), int(marks[LAST])
        if is_off_edge(known, last):
            keep_below(memory, edge, last, row)
        if is_kept(memory, edge, row):
            return edge
    edge = edge_in_use(memory, per_request, usual_price)
    survey(memory, edge, NOTHING, NOTHING, row)
    if edge.low != marks[LOW] or edge.high != marks[HIGH]:
        change_ends(memory, known, LOW, edge)
        marks[SUMMED] = 0
        forget_row(known.rows[1])
    return edge


def find_ahead(
    memory: Points, known: Watch, edge: Prices, money: float, left: float, made: float, usual_price: float
) -> Prices:
    """`edges.edge_in_use`, for the money for a request that exploring will leave; `edge` is the one in use."""
    marks, levels, row = known.marks, known.levels, known.rows[1]
    if marks[SUMMED] == 0:
        sum_up(memory, known, edge)
    later = after_exploring(levels[USED_MONEY], levels[USED_REQUESTS], money, left, made)
    low, high = int(marks[AHEAD_LOW]), int(marks[AHEAD_HIGH])
    if is_in_use(memory, known, edge, later):
        ahead = edge
        forget_row(row)
    else:
        if may_be_kept(memory, low, high, later, row):
            ahead, last = line(memory, low, high), int(marks[LAST])
            if last not in (edge.low, edge.high, low, high):
                keep_below(memory, ahead, last, row)
            if is_kept(memory, ahead, row) and both_below(memory, edge, ahead):
                return ahead
        ahead = edge_in_use(memory, later, usual_price)
        survey(memory, ahead, edge.low, edge.high, row)
    if ahead.low != low or ahead.high != high:
        change_ends(memory, known, AHEAD_LOW, ahead)
    return ahead


def find_then(memory: Points, known: Watch, edge: Prices, per_request: float, usual_price: float) -> Prices:
    """`edges.edge_in_use` once more; often it is the one in use."""
    return edge if is_in_use(memory, known, edge, per_request) else edge_in_use(memory, per_request, usual_price)


def is_in_use(memory: Points, known: Watch, edge: Prices, per_request: float) -> bool:
    """Whether the edge in use is so for another amount of money for a request, too."""
    row = known.rows[0]
    return may_be_kept(memory, edge.low, edge.high, per_request, row) and is_kept(memory, edge, row)


def both_below(memory: Points, edge: Prices, ahead: Prices) -> bool:
    """Whether the ends of the edge in use are surely below the line of the other, or its ends, too."""
    for arm in (edge.low, edge.high):
        if arm not in (NOTHING, ahead.low, ahead.high) and not height_below(memory, arm, ahead) > 0.0:
            return False
    return True


def sum_up(memory: Points, known: Watch, edge: Prices) -> None:
    """Bring `levels` up to date."""
    levels = known.levels
    levels[USED_MONEY], levels[USED_REQUESTS] = explored(memory, edge)
    levels[CHEAPEST] = cheapest_of(memory, edge.low, edge.high)
    known.marks[SUMMED] = 1


def change_ends(memory: Points, known: Watch, first: int, edge: Prices) -> None:
    """Note the ends of an edge: they are no longer compared, and those of the one before are again."""
    marks, boxes = known.marks, known.boxes
    former = marks[first], marks[first + 1]
    marks[first], marks[first + 1] = edge.low, edge.high
    for arm in former:
        if arm >= 0 and not is_end(known, arm) and memory.pulls[arm] > 0 and boxes.ring[arm] < 0:
            join(boxes, arm, DUE)
            boxes.doubt[arm] = 0.0
    for arm in (edge.low, edge.high):
        if arm >= 0:
            leave(boxes, arm)


def is_off_edge(known: Watch, arm: int) -> bool:
    """Whether an arm is no end of the edge in use."""
    return bool(arm != known.marks[LOW] and arm != known.marks[HIGH])


def is_end(known: Watch, arm: int) -> bool:
    """Whether an arm is an end of one of the two edges."""
    marks = known.marks
    return bool(arm == marks[LOW] or arm == marks[HIGH] or arm == marks[AHEAD_LOW] or arm == marks[AHEAD_HIGH])


def cheapest_known(memory: Points, known: Watch, edge: Prices) -> float:
    """The least mean cost above 0 of an arm so far: `edges.cheapest_of`."""
    cheapest = float(known.levels[CHEAPEST])
    for arm in (edge.low, edge.high):
        if arm != NOTHING and memory.costs[arm] > 0.0:
            cheapest = min(cheapest, float(memory.costs[arm]))
    return cheapest


def pulls_of(memory: Points, edge: Prices) -> int:
    """How often the ends of an edge were pulled."""
    pulls = 0
    for arm in (edge.low, edge.high):
        if arm != NOTHING:
            pulls += memory.pulls[arm]
    return pulls
