"""The edge of the hull that is in use: which arms it has, what exploring leaves of it, and which end is pulled next.

These functions run in the interpreter and compiled.
"""

import math

from outlay.beliefs import Points
from outlay.formulas.choices.choose import leader_of
from outlay.formulas.requests.prices import NOTHING, Prices, prices

RESERVE = 3.0  # what exploring is taken to need yet at first, as a multiple of what it has used
NEAR = 4.0  # variances of what is left: a mean cost that is nearer to the money for a request is not told from it


def per_request(money: float, requests: float) -> float:
    """The money that is left for each request that is left; 0 where requests have no limit.

    >>> per_request(3.0, 6.0), per_request(math.inf, 6.0), per_request(math.inf, math.inf)
    (0.5, inf, 0.0)
    """
    return money / requests if requests < math.inf else 0.0


def edge_in_use(memory: Points, per_request: float, usual_price: float) -> Prices:
    """The edge over so much money for each request, of the arms' points so far; it always has an arm.

    On the first edge that is the arm with the best rate. While nothing has paid it is that arm, too, or the one with
    the largest mean reward where there is enough money for usual pulls.
    """
    found = prices(memory.costs, memory.rewards, per_request)
    if found.low != NOTHING:
        return found
    if found.high == NOTHING and usual_price <= per_request:
        return Prices(0.0, 0.0, most_rewarding(memory), NOTHING)
    leader, _ = leader_of(memory, memory.pulls)
    return Prices(found.price, 0.0, NOTHING, leader)


def most_rewarding(memory: Points) -> int:
    """The arm with the largest mean reward, ties to the fewest pulls."""
    best = 0
    for arm in range(len(memory.pulls)):
        mine, top = memory.rewards[arm], memory.rewards[best]
        if mine > top or (mine == top and memory.pulls[arm] < memory.pulls[best]):
            best = arm
    return best


def explored(memory: Points, edge: Prices) -> tuple[float, float]:
    """The money and the requests that arms which are not on the edge have used."""
    money, requests = 0.0, 0.0
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] > 0 and arm != edge.low and arm != edge.high:
            money += memory.pulls[arm] * memory.costs[arm]
            requests += memory.pulls[arm]
    return money, requests


def cheapest_of(memory: Points, one: int, other: int) -> float:
    """The least mean cost above 0 of an arm so far, but for two; ∞ if there is none."""
    cheapest = math.inf
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] > 0 and arm != one and arm != other and memory.costs[arm] > 0.0:
            cheapest = min(cheapest, float(memory.costs[arm]))
    return cheapest


def after_exploring(used_money: float, used_requests: float, money: float, requests: float, made: float) -> float:
    """The money for each request that arms on the edge will have, if exploring goes on for a while: at most now's.

    What is kept for that is in proportion to the requests that are left of all: near the end nearly nothing, or else
    all money would seem to be spoken for, and arms would be compared as if requests were worth nothing.
    """
    reserve = RESERVE * requests / (requests + made) if requests < math.inf else RESERVE
    then = per_request(max(0.0, money - reserve * used_money), max(1.0, requests - reserve * used_requests))
    return min(per_request(money, requests), then)


def on_edge(memory: Points, edge: Prices, per_request: float, requests: float) -> int:
    """The end of the edge to pull: the two in the proportion that uses up money and requests together.

    Near a vertex, where chance moves the money for a request more than that, the arm at the vertex is pulled alone.
    """
    low, high = edge.low, edge.high
    if low == NOTHING or high == NOTHING:
        return high if low == NOTHING else low
    above, below = memory.costs[high] - per_request, per_request - memory.costs[low]
    near, distance = (high, above) if above < below else (low, below)
    if distance <= 0.0 or distance * distance * requests <= NEAR * memory.belief(near).var_cost:
        return near
    return high if memory.pulls[high] * above <= memory.pulls[low] * below else low
