"""Money and requests in one currency: what a pull is due, so that two budgets are compared as one is.

With λ the price of money and ν the worth of a request (`prices`), a pull that costs X takes λX + ν from what is left.
On the first edge of the hull ν is 0, and dues are costs: the paper's problem, in its own units. Elsewhere they are in
units of reward; then every arm of the edge earns 1 for each unit of its dues, and no other arm as much. So the dues
take the place of costs, and λ or 1 that of the best rate: Z = R − λX − ν is R − r·(dues).

These functions run in the interpreter and compiled.
"""

from typing import NamedTuple

from outlay.beliefs import Belief, Lead, Points
from outlay.formulas.choices.choose import Now
from outlay.formulas.requests.prices import NOTHING, Prices


class Dues(NamedTuple):
    """What money and a request count for, and what the arms of the edge earn for a unit of that."""

    money: float
    request: float
    rate: float
    worth: float  # ν


def dues(edge: Prices, best_rate: float) -> Dues:
    """The currency at the prices of the edge in use, where `best_rate` is the largest rate of an arm.

    While nothing has paid it is requests alone where the edge has a low end, that is, there is money for usual pulls.
    """
    if edge.worth > 0.0:
        return Dues(edge.price, edge.worth, 1.0, edge.worth)
    if edge.low != NOTHING:
        return Dues(0.0, 1.0, 0.0, 0.0)
    return Dues(1.0, 0.0, best_rate, 0.0)


def due(currency: Dues, money: float, requests: float) -> float:
    """So much money and so many requests, either of which may be infinite where it counts for nothing.

    >>> due(Dues(0.0, 2.0, 1.0, 2.0), money=float("inf"), requests=3.0)
    6.0
    """
    first = currency.money * money if currency.money > 0.0 else 0.0
    return first + currency.request * requests if currency.request > 0.0 else first


def in_dues(belief: Belief, currency: Dues) -> Belief:
    """What is known of an arm, with its dues in place of its costs."""
    money = currency.money
    return Belief(
        belief.arm,
        belief.pulls,
        money * belief.mean_cost + currency.request,
        belief.mean_reward,
        money * money * belief.var_cost,
        belief.var_reward,
        money * belief.cov,
    )


def lead_in_dues(memory: Points, leader: Lead, edge: Prices, currency: Dues, now: Now) -> Lead:
    """What arms are compared with: both ends of the edge together, in dues; `leader` is the lead of the best rate."""
    everything = memory.arms.belief(len(memory.pulls))
    spend, pulls = 0.0, 0
    for arm in (edge.low, edge.high):
        if arm != NOTHING:
            spend += memory.pulls[arm] * (currency.money * memory.costs[arm] + currency.request)
            pulls += memory.pulls[arm]
    usual_price = currency.money * leader.usual_price + currency.request
    price = currency.rate * currency.money  # λ
    spread = everything.var_reward - 2.0 * price * everything.cov + price * price * everything.var_cost
    return Lead(
        currency.rate,
        float(spend),
        float(spend) / pulls if spend > 0.0 else usual_price,
        leader.arms,
        leader.reward_max - currency.worth,  # so that no R − λX − ν is larger than `largest_seen` says
        currency.money * leader.cost_min,
        currency.money * leader.cost_max,
        max(0.0, spread),
        leader.size,
        leader.opened,
        usual_price,
        leader.usual_rate * leader.usual_price / usual_price,
        currency.money * now.spent + currency.request * now.pulls,
    )
