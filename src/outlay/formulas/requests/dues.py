"""Money and requests in one currency: what a pull is due, so that two budgets are compared as one is.

With λ the price of money and ν the worth of a request (`prices`), a pull that costs X takes λX + ν from what is left.
On the first edge of the hull ν is 0, and dues are costs: the paper's problem, in its own units. Elsewhere they are in
units of reward; then every arm of the edge earns 1 for each unit of its dues, and no other arm as much. So the dues
take the place of costs, and λ or 1 that of the best rate: Z = R − λX − ν is R − r·(dues).

These functions run in the interpreter and compiled.
"""

from typing import NamedTuple

from outlay.beliefs import Lead, Points, price_of
from outlay.formulas.requests.prices import NOTHING, Prices


class Dues(NamedTuple):
    """What money and a request count for, and what the arms of the edge earn for a unit of that."""

    money: float
    request: float
    rate: float
    worth: float  # ν


def dues(memory: Points, edge: Prices, usual: Lead) -> Dues:
    """The currency at the prices of an edge; `usual` has the extreme costs.

    While nothing has paid it is requests alone where the edge has a low end, that is, there is money for usual pulls.
    """
    if edge.worth > 0.0:
        return Dues(edge.price, edge.worth, 1.0, edge.worth)
    if edge.low != NOTHING:
        return Dues(0.0, 1.0, 0.0, 0.0)
    price = price_of(memory.belief(edge.high), usual.cost_min, usual.cost_max)
    return Dues(1.0, 0.0, float(memory.rewards[edge.high]) / price, 0.0)


def due(currency: Dues, money: float, requests: float) -> float:
    """So much money and so many requests, either of which may be infinite where it counts for nothing.

    >>> due(Dues(0.0, 2.0, 1.0, 2.0), money=float("inf"), requests=3.0)
    6.0
    """
    first = currency.money * money if currency.money > 0.0 else 0.0
    return first + currency.request * requests if currency.request > 0.0 else first
