"""What money and a request are worth, when so much money is left for each request that is left.

Each arm is a point (mean cost, mean reward), and so is a request that is not served: the origin. Requests can be shared
out among them, so all that a request can bring at a mean cost of c is f(c), the upper concave hull of the points, flat
to the right. At c it has a slope λ, the price of money, and an intercept ν, the worth of a request: f(c) = ν + λc, and
no arm lies above that line. On the first edge from the origin λ is the best rate and ν = 0, the paper's problem; on the
flat part λ = 0 and ν is the largest mean reward, the classical bandit. docs/requests.md has the problem and the proofs.

This runs in the interpreter and compiled.
"""

import math
from typing import NamedTuple

from outlay.checks import Vector

TIE = 1e-12  # relative difference of two numbers that only rounding tells apart
NOTHING = -1  # in place of an arm: the origin, or no arm at all


class Prices(NamedTuple):
    """The edge of the hull over c, as a line and as the arms at its ends."""

    price: float  # λ ≥ 0
    worth: float  # ν ≥ 0
    low: int  # the arm at the left end, of cost ≤ c; NOTHING for the origin
    high: int  # the arm at the right end, of cost > c; NOTHING on the flat part


def prices(mean_costs: Vector, mean_rewards: Vector, per_request: float) -> Prices:
    """The price of money λ and the worth of a request ν at c = `per_request` ≥ 0, with the arms of the edge.

    At a vertex it is the edge to its right. Where both ends lie on one ray from the origin, but for rounding, it is the
    first edge, and ν is exactly 0: what theory asks of better laws depends on that. Free arms (mean cost 0) and
    refunding ones (below 0) are points like the others; one with a mean reward of −∞ takes no part.

    Start with the line from the origin to the largest reward; while some arm is above the line, let the one farthest
    above replace the end on its side of c. It lies between the ends (or is the first to replace the origin), because an
    arm that has replaced an end was the farthest above a line that was steeper (left) or less steep (right) than all
    that follow: so each step leaves fewer arms between the ends, and there are no more steps than arms.

    >>> import numpy as np
    >>> costs, rewards = np.array([0.1, 0.4, 1.0]), np.array([0.3, 0.6, 0.9])
    >>> found = prices(costs, rewards, 0.25)
    >>> round(found.price, 9), round(found.worth, 9), found.low, found.high
    (1.0, 0.2, 0, 1)
    >>> prices(costs, rewards, 2.0)
    Prices(price=0.0, worth=0.9, low=2, high=-1)
    """
    high = most_paid(mean_costs, mean_rewards)
    if high == NOTHING:
        return Prices(0.0, 0.0, NOTHING, NOTHING)
    if mean_costs[high] <= per_request:
        return Prices(0.0, float(mean_rewards[high]), high, NOTHING)
    low, least = NOTHING, -math.inf
    x, y = 0.0, 0.0  # the left end
    while True:
        price = (mean_rewards[high] - y) / (mean_costs[high] - x)
        above, farthest = NOTHING, 0.0
        for arm in range(len(mean_costs)):
            if least < mean_costs[arm] < mean_costs[high]:
                height = (mean_rewards[arm] - y) - price * (mean_costs[arm] - x)
                if height > farthest:
                    above, farthest = arm, height
        if above == NOTHING:
            rate = mean_rewards[high] / mean_costs[high]
            if abs(y - rate * x) <= TIE * abs(y):
                return Prices(float(rate), 0.0, NOTHING, high)
            return Prices(float(price), max(0.0, float(y - price * x)), low, high)
        if mean_costs[above] <= per_request:
            low, least, x, y = above, mean_costs[above], mean_costs[above], mean_rewards[above]
        else:
            high = above


def most_paid(mean_costs: Vector, mean_rewards: Vector) -> int:
    """The arm with the largest mean reward, the cheapest of several; NOTHING where none is above 0."""
    best = NOTHING
    for arm in range(len(mean_costs)):
        if not mean_rewards[arm] > 0.0:
            continue
        if (
            best == NOTHING
            or mean_rewards[arm] > mean_rewards[best]
            or (mean_rewards[arm] == mean_rewards[best] and mean_costs[arm] < mean_costs[best])
        ):
            best = arm
    return best
