"""Whether an edge of the hull is still in use, without looking at every arm.

An edge stays in use while the money for a request stays between its ends and every other arm, and the origin, below its
line. Pulls of its ends move the line a little; the points of other arms stay where they are. So it is enough to know
how far the price of money and the worth of a request may move (a `row`) before the first of those points might reach
the line. That all of them are below by a margin makes `prices.prices` find this edge: the arm farthest above any line
that it tries is then an end of this edge, or lies beyond one (docs/decisions/0025-lazy-with-requests.md).

Everything here runs in the interpreter and compiled.
"""

import math

from outlay.beliefs import Points
from outlay.formulas.choices.boxes import Floats
from outlay.formulas.requests.prices import NOTHING, Prices

SURE = 1e-9  # of the numbers that a height is made of: rounding moves none by as much
PRICE_FROM, PRICE_UNTIL, WORTH_FROM = range(3)  # entries of a row


def forget_row(row: Floats) -> None:
    """Say that nothing is known."""
    row[PRICE_FROM] = math.inf


def may_be_kept(memory: Points, low: int, high: int, per_request: float, row: Floats) -> bool:
    """Whether something is known of this edge, and so much money for a request is between its ends."""
    return bool(
        row[PRICE_FROM] < math.inf
        and (low == NOTHING or memory.costs[low] <= per_request)
        and (high == NOTHING or memory.costs[high] > per_request)
    )


def line(memory: Points, low: int, high: int) -> Prices:
    """The price of money and the worth of a request on an edge, as `prices.prices` computes them, bit for bit."""
    costs, rewards = memory.costs, memory.rewards
    if high == NOTHING:
        return Prices(0.0, float(rewards[low]), low, NOTHING)
    if low == NOTHING:
        return Prices(float(rewards[high] / costs[high]), 0.0, NOTHING, high)
    price = (rewards[high] - rewards[low]) / (costs[high] - costs[low])
    return Prices(float(price), max(0.0, float(rewards[low] - price * costs[low])), low, high)


def is_kept(memory: Points, edge: Prices, row: Floats) -> bool:
    """Whether the edge, which has this line now, is in use for certain, if it may be."""
    return bool(
        row[PRICE_FROM] <= edge.price <= row[PRICE_UNTIL]
        and row[WORTH_FROM] <= edge.worth
        and (edge.low == NOTHING or edge.high == NOTHING or not_on_a_ray(memory, edge))
    )


def not_on_a_ray(memory: Points, edge: Prices) -> bool:
    """Whether the two ends are surely not on one ray from the origin."""
    low, high = memory.costs[edge.low], memory.costs[edge.high]
    return bool(edge.worth * (high - low) > SURE * abs(memory.rewards[edge.low]) * high)


def survey(memory: Points, edge: Prices, one: int, other: int, row: Floats) -> None:
    """Find out how far the line of an edge may move; the arms `one` and `other` are left out.

    The line may fall by half of what the nearest point is below, and turn by what changes its height over each point
    by another half. It may rise, and so it may turn away from points on either side of the origin.
    """
    forget_row(row)
    low, high, price, worth = edge.low, edge.high, edge.price, edge.worth
    if not (price > 0.0 or (high == NOTHING and worth > 0.0)):
        return
    row[PRICE_FROM], row[PRICE_UNTIL], row[WORTH_FROM] = 0.5 * price, math.inf, -math.inf
    if low != NOTHING:  # the origin is below the line, too
        row[WORTH_FROM] = 0.5 * (worth + SURE * (abs(memory.rewards[low]) + price * abs(memory.costs[low])))
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] > 0 and arm != low and arm != high and arm != one and arm != other:
            keep_below(memory, edge, arm, row)


def keep_below(memory: Points, edge: Prices, arm: int, row: Floats) -> None:
    """Let the line move no farther than leaves an arm below it; nothing is known if that is not so now."""
    half, cost = 0.5 * height_below(memory, arm, edge), memory.costs[arm]
    if not half > 0.0:
        forget_row(row)
        return
    row[WORTH_FROM] = max(row[WORTH_FROM], edge.worth - half)
    if cost > 0.0:
        row[PRICE_FROM] = max(row[PRICE_FROM], edge.price - half / cost)
    elif cost < 0.0:
        row[PRICE_UNTIL] = min(row[PRICE_UNTIL], edge.price - half / cost)


def height_below(memory: Points, arm: int, edge: Prices) -> float:
    """By how much an arm is surely below the line."""
    own, charged = float(memory.rewards[arm]), edge.price * float(memory.costs[arm])
    return edge.worth + charged - own - SURE * (abs(own) + abs(charged) + edge.worth)
