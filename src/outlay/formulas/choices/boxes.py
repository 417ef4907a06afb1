"""Boxes around the lead, from wide to narrow, and which arms are certain in which: the memory of `certificate`.

A box is two leads; an arm belongs to the widest in which its excess is surely positive. When the lead leaves a box,
only its arms are asked anew: those far behind sit in wide boxes and are seldom asked, those close behind in narrow
ones. The arms of a box are a ring of links, so that one can leave it in no time. Everything here runs in the
interpreter and compiled.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Numbers = tuple[float, ...]

# How far each number of the lead may move, as a share of it, and how many times its spend: the widest box first.
WIDTHS = (0.4, 0.15, 0.06, 0.025, 0.01, 0.004, 0.0015, 0.0006, 0.0002, 0.00007)
TIMES = (16.0, 2.5, 1.5, 1.2, 1.08, 1.03, 1.012, 1.005, 1.0015, 1.0005)
BOXES = len(WIDTHS)
ANY_PRICE = 4.0  # in the widest box, which is to hold many leaders one after another
DUE = BOXES  # the ring of arms that are certain in no box
NUMBERS = len(Lead._fields)
LASTING = 2.0  # a box is drawn if it is this many times as wide as one pull of the leader may move the lead, or more


class Boxes(NamedTuple):
    """The boxes, and rings of arms: scratch space for one run at a time, forgotten whenever a run is left."""

    edges: Floats  # [box, low or high, number of a lead]; after the last, where all boxes that are drawn meet
    drawn: Ints  # [box]: whether it is
    ahead: Ints  # [arm, then box, then DUE]: the next in the ring
    behind: Ints  # likewise the one before
    ring: Ints  # [arm]: the box it belongs to, DUE, or −1
    doubt: Floats  # [arm]: the excess at which an arm that is due is worth asking for a box

    @staticmethod
    def start(arms: int, numbers: int = NUMBERS) -> "Boxes":
        """Room for this many arms, and boxes in so many numbers."""
        links = arms + BOXES + 1
        return Boxes(
            np.zeros((BOXES + 1, 2, numbers)),
            np.zeros(BOXES, np.int64),
            np.zeros(links, np.int64),
            np.zeros(links, np.int64),
            np.zeros(arms, np.int64),
            np.zeros(arms),
        )


def forget_boxes(boxes: Boxes) -> None:
    """Begin with no box, and no arm in any ring."""
    for i in range(len(boxes.ahead)):
        boxes.ahead[i] = boxes.behind[i] = i
    boxes.ring[:] = -1
    boxes.doubt[:] = 0.0
    boxes.drawn[:] = 0
    meet(boxes)


def leave(boxes: Boxes, arm: int) -> None:
    """Take an arm out of its ring."""
    if boxes.ring[arm] >= 0:
        before, after = boxes.behind[arm], boxes.ahead[arm]
        boxes.ahead[before], boxes.behind[after] = after, before
        boxes.ring[arm] = -1


def join(boxes: Boxes, arm: int, ring: int) -> None:
    """Put an arm that is in no ring at the beginning of one."""
    head = len(boxes.ring) + ring
    first = boxes.ahead[head]
    boxes.ahead[head], boxes.behind[arm] = arm, head
    boxes.ahead[arm], boxes.behind[first] = first, arm
    boxes.ring[arm] = ring


def draw_box(boxes: Boxes, box: int, lead: Lead) -> None:
    """Draw a box around the lead."""
    low, high = box_around(lead, WIDTHS[box], TIMES[box], ANY_PRICE if box == 0 else 1.0)
    put_box(boxes, box, low, high)


def put_box(boxes: Boxes, box: int, low: Numbers, high: Numbers) -> None:
    """Draw a box between two leads, or other tuples of numbers."""
    edges = boxes.edges
    for i in range(len(low)):
        edges[box, 0, i], edges[box, 1, i] = low[i], high[i]
        edges[BOXES, 0, i] = max(low[i], edges[BOXES, 0, i])
        edges[BOXES, 1, i] = min(high[i], edges[BOXES, 1, i])
    boxes.drawn[box] = 1


def box_around(lead: Lead, width: float, times: float, dearer: float = 1.0) -> tuple[Lead, Lead]:
    """Two leads: the extremes are what they are, all else may move by `width`; the leader's spend may fall, or grow.

    Its price may be `dearer` times as high or low on top of that, as another leader's is. The total spend may grow;
    where that is not positive, a box says nothing about what follows.
    """
    step, less, more = width * abs(lead.rate), 1.0 - width, 1.0 + width
    seen = lead.reward_max, lead.cost_min, lead.cost_max
    low = Lead(
        lead.rate - step, 0.0, less * lead.price / dearer, lead.arms, *seen, less * less * lead.spread,
        less * lead.size, lead.opened, less * lead.usual_price, lead.usual_rate - step, lead.spent,
    )  # fmt: skip
    high = Lead(
        lead.rate + step, times * lead.spend, more * lead.price * dearer, lead.arms, *seen, more * more * lead.spread,
        more * lead.size, more * lead.opened + 1.0, more * lead.usual_price, lead.usual_rate + step, times * lead.spent,
    )  # fmt: skip
    return low, high


def meet(boxes: Boxes) -> None:
    """Find where all boxes that are drawn meet: a lead in there is in each of them."""
    edges = boxes.edges
    edges[BOXES, 0, :], edges[BOXES, 1, :] = -np.inf, np.inf
    for box in range(BOXES):
        if boxes.drawn[box] > 0:
            for i in range(edges.shape[2]):
                edges[BOXES, 0, i] = max(edges[BOXES, 0, i], edges[box, 0, i])
                edges[BOXES, 1, i] = min(edges[BOXES, 1, i], edges[box, 1, i])


def within(boxes: Boxes, box: int, lead: Numbers) -> bool:
    """Whether the lead is in a box."""
    edges = boxes.edges
    for i in range(len(lead)):  # noqa: SIM110 (compiled: no generators)
        if not edges[box, 0, i] <= lead[i] <= edges[box, 1, i]:
            return False
    return True


def edge(boxes: Boxes, box: int, side: int) -> Lead:
    """The low or the high edge of a box."""
    e = boxes.edges[box, side]
    return Lead(e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8], e[9], e[10], e[11], e[12])
