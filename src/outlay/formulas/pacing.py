"""What money is worth where requests differ: the price at which the last requests would have used what is left.

Served each by the arm with the largest hope − λ·cost, requests cost less on average the larger λ is, and are worth
less. λ is the smallest price at which they cost what is left for each request, or are worth nothing: then money alone
is scarce, and λ is the best rate, the largest reward for its cost that any choice of arms has for all of them. Both
fall as λ rises, so the answer on a grid does not depend on where the search starts; from the price of the request
before it takes two looks, as a rule.

These functions run in the interpreter and compiled.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FINEST = 32.0  # prices are exp(i/32), from i = LEAST + 1 to MOST, and 0
LEAST, MOST = -1024, 1024

Array = NDArray[np.float64]


def price_at(index: int) -> float:
    """A price of the grid.

    >>> price_at(0), price_at(LEAST), round(price_at(32), 3)
    (1.0, 0.0, 2.718)
    """
    return math.exp(index / FINEST) if index > LEAST else 0.0


def served(hopes: Array, costs: Array, price: float) -> tuple[float, float]:
    """What requests (columns) cost on average, and are worth, if each goes to the arm (row) with the largest worth.

    >>> served(np.array([[1.0, 3.0], [2.0, 9.0]]), np.array([[1.0, 1.0], [4.0, 4.0]]), price=1.0)
    (2.5, 2.5)
    """
    best, spent = hopes[0] - price * costs[0], costs[0]
    for arm in range(1, len(hopes)):
        worth = hopes[arm] - price * costs[arm]
        spent = np.where(worth > best, costs[arm], spent)
        best = np.maximum(worth, best)
    return float(np.cumsum(spent)[-1]) / len(best), float(np.cumsum(best)[-1]) / len(best)


def enough(hopes: Array, costs: Array, per_request: float, index: int) -> bool:
    """Whether money lasts at this price, or is not worth spending at it."""
    cost, worth = served(hopes, costs, price_at(index))
    return cost <= per_request or worth <= 0.0


def price_index(hopes: Array, costs: Array, per_request: float, start: int) -> int:
    """The least price of the grid that is enough, by its index: in steps that double from `start`, then halve.

    >>> hopes, costs = np.array([[0.3], [0.6]]), np.array([[0.1], [0.4]])
    >>> price_index(hopes, costs, 0.25, start=500), price_index(hopes, costs, 9.0, start=0)  # λ = 1; 0
    (0, -1024)
    >>> round(price_at(price_index(hopes, costs, 0.0, start=0)))  # no number of requests: the best rate, 0.3 / 0.1
    3
    """
    low, high, step = start - 1, start, 1
    while high < MOST and not enough(hopes, costs, per_request, high):
        low, high, step = high, min(high + step, MOST), 2 * step
    while low >= LEAST and enough(hopes, costs, per_request, low):
        low, high, step = max(low - step, LEAST - 1), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if enough(hopes, costs, per_request, middle):
            high = middle
        else:
            low = middle
    return high


def best_at(hopes: Array, costs: Array, request: int, price: float) -> int:
    """The arm with the largest worth for one request, ties to the first."""
    best = 0
    for arm in range(1, len(hopes)):
        if hopes[arm, request] - price * costs[arm, request] > hopes[best, request] - price * costs[best, request]:
            best = arm
    return best


def paced(hopes: Array, costs: Array, request: int, money: float, per_request: float, index: int, rng: Any) -> int:
    """The arm for one request at the price of an index, or at the next below it, as often as uses the money up.

    Where a few requests could have an arm that costs more than all the money that is left, none has it.
    """
    arm, dearer, more, span = either(hopes, costs, request, money, per_request, index)
    return dearer if more >= 0.0 and rng.random() * span < more else arm


def either(
    hopes: Array, costs: Array, request: int, money: float, per_request: float, index: int
) -> tuple[int, int, float, float]:
    """Both arms, and the two numbers whose ratio is the chance of the second; the first of these is −1 for no chance.

    >>> hopes, costs = np.array([[0.3], [0.6]]), np.array([[0.1], [0.4]])
    >>> either(hopes, costs, 0, 9.0, 0.25, index=0)[:2]
    (0, 1)
    """
    arm = best_at(hopes, costs, request, price_at(index))
    if index == LEAST:
        return arm, arm, -1.0, 1.0
    dearer = best_at(hopes, costs, request, price_at(index - 1))
    if dearer != arm and costs[dearer, request] <= money:
        low, _ = served(hopes, costs, price_at(index))
        high, _ = served(hopes, costs, price_at(index - 1))
        if low <= per_request:
            return arm, dearer, per_request - low, high - low
    return arm, arm, -1.0, 1.0
