"""Where a run stands: the edges of the hull that matter, and the terms on which arms are compared.

These functions run in the interpreter and compiled.
"""

from typing import NamedTuple

from outlay.beliefs import Lead, Points
from outlay.formulas.choices.choose import Now
from outlay.formulas.requests.dues import due, dues
from outlay.formulas.requests.edges import after_exploring, cheapest_of, edge_in_use, explored, per_request
from outlay.formulas.requests.prices import NOTHING, Prices
from outlay.formulas.requests.terms import Terms, scarcity, terms_in_use
from outlay.formulas.requests.watch import Watch, cheapest_known, find_ahead, find_edge, take_note


class Bearings(NamedTuple):
    """What arms are compared with: the edge in use and the one after exploring, the currency, and the lead in it."""

    money: float  # that is left
    left: float  # requests
    per_request: float
    usual: Lead  # what all arms are like, in money
    edge: Prices
    ahead: Prices
    total: float  # all that may be used, in dues
    spent: float  # in dues
    terms: Terms


def bearings(budget: float, requests: float, memory: Points, now: Now) -> Bearings:
    """Where a run with this budget and so many requests stands."""
    money, left = max(0.0, budget - now.spent), max(1.0, requests - now.pulls)
    c, usual = per_request(money, left), memory.lead(0)
    edge = edge_in_use(memory, c, usual.usual_price)
    used_money, used_requests = explored(memory, edge)
    later = after_exploring(used_money, used_requests, money, left, float(now.pulls))
    ahead = edge_in_use(memory, later, usual.usual_price)
    return taken(budget, requests, memory, now, money, left, usual, edge, ahead, cheapest_of(memory, NOTHING, NOTHING))


def taken(
    budget: float, requests: float, memory: Points, now: Now, money: float, left: float, usual: Lead, edge: Prices,
    ahead: Prices, cheapest: float,
) -> Bearings:  # fmt: skip
    """The bearings that are taken from two edges; `cheapest` is the least mean cost above 0 of an arm so far."""
    currency = dues(memory, ahead, usual)
    total, spent = due(currency, budget, requests), currency.money * now.spent + currency.request * now.pulls
    c = per_request(money, left)
    terms = terms_in_use(memory, usual, ahead, currency, total, spent, scarcity(cheapest, c, currency.worth))
    return Bearings(money, left, c, usual, edge, ahead, total, spent, terms)


def bearings_lazily(budget: float, requests: float, memory: Points, now: Now, known: Watch) -> Bearings:
    """`bearings`, by what is known."""
    money, left = max(0.0, budget - now.spent), max(1.0, requests - now.pulls)
    usual = memory.lead(0)
    take_note(memory, known)
    edge = find_edge(memory, known, per_request(money, left), usual.usual_price)
    ahead = find_ahead(memory, known, edge, money, left, float(now.pulls), usual.usual_price)
    cheapest = cheapest_known(memory, known, edge)
    return taken(budget, requests, memory, now, money, left, usual, edge, ahead, cheapest)
