"""The terms on which arms are compared, in dues: plain numbers, so that two terms span a box as two leads do.

Beside what a `Lead` has, the currency itself moves from pull to pull: what money and a request count for. Everything
here runs in the interpreter and compiled.
"""

import math
from typing import NamedTuple

from outlay.beliefs import Belief, Lead, Points, price_of
from outlay.formulas.choices.boxes import Floats
from outlay.formulas.requests.dues import Dues
from outlay.formulas.requests.prices import NOTHING, Prices
from outlay.formulas.thrift import Priced


class Terms(NamedTuple):
    """The currency, the lead in it, and what may be used in all; extremes are those of costs and rewards themselves."""

    money: float
    request: float
    worth: float  # ν, or 0 where requests are free
    rate: float
    spend: float  # on both ends of the edge
    price: float  # of them
    reward_max: float
    cost_min: float
    cost_max: float
    spread: float
    size: float
    opened: float
    usual_price: float
    usual_rate: float
    horizon: float  # all that may be used; what has been, where that has no end
    rest: float  # what is left of it
    scarce: float  # how far requests are


NUMBERS = len(Terms._fields)
PLENTY = 4.0  # pulls of the cheapest arm: where four requests have the money for one, requests are scarce


def scarcity(cheapest: float, per_request: float, worth: float) -> float:
    """How far requests are scarce, from 0, where money alone is, to 1: by the money that each has for the cheapest arm.

    >>> scarcity(1.0, 0.1, 0.0), scarcity(1.0, 0.3, 0.0), scarcity(1.0, 0.1, 0.2)
    (0.4, 1.0, 1.0)
    """
    return min(1.0, PLENTY * per_request / cheapest) if worth == 0.0 and cheapest < math.inf else 1.0


def terms_in_use(
    memory: Points, usual: Lead, edge: Prices, currency: Dues, total: float, spent: float, scarce: float
) -> Terms:
    """What arms are compared with: both ends of the edge together; `usual` is what all arms are like, in money."""
    everything = memory.arms.belief(len(memory.pulls))
    spend, pulls = 0.0, 0
    for arm in (edge.low, edge.high):
        if arm != NOTHING:
            spend += memory.pulls[arm] * (currency.money * memory.costs[arm] + currency.request)
            pulls += memory.pulls[arm]
    usual_price = currency.money * usual.usual_price + currency.request
    price = currency.rate * currency.money  # λ
    spread = everything.var_reward - 2.0 * price * everything.cov + price * price * everything.var_cost
    return Terms(
        currency.money,
        currency.request,
        currency.worth,
        currency.rate,
        float(spend),
        float(spend) / pulls if spend > 0.0 else usual_price,
        usual.reward_max,
        usual.cost_min,
        usual.cost_max,
        max(0.0, spread),
        usual.size,
        usual.opened,
        usual_price,
        usual.usual_rate * usual.usual_price / usual_price,
        total if total < math.inf else spent,
        total - spent,
        scarce,
    )


def lead_on(terms: Terms, money: float, spent: float) -> Lead:
    """The lead in dues, with the extreme costs where a unit of money counts for `money`."""
    return Lead(
        terms.rate,
        terms.spend,
        terms.price,
        0.0,
        terms.reward_max - terms.worth,  # so that no R − λX − ν is larger than `largest_seen` says
        money * terms.cost_min,
        money * terms.cost_max,
        terms.spread,
        terms.size,
        terms.opened,
        terms.usual_price,
        terms.usual_rate,
        spent,
    )


def priced(belief: Belief, low: Terms, high: Terms) -> Priced:
    """What a pull of an arm is due, on all terms between two."""
    one, other = low.money * belief.mean_cost, high.money * belief.mean_cost
    cheap, dear = min(one, other) + low.request, max(one, other) + high.request
    return Priced(
        cheap, stand_in(cheap, belief.pulls, low), stand_in(dear, belief.pulls, low), low.money, high.money
    )  # fmt: skip


def stand_in(due: float, pulls: int, terms: Terms) -> float:
    """What an arm is due, or its price where that is 0 or less."""
    belief = Belief(0, pulls, due, 0.0, 0.0, 0.0, 0.0)
    return price_of(belief, terms.money * terms.cost_min, terms.money * terms.cost_max)


def terms_around(terms: Terms, width: float, times: float, dearer: float) -> tuple[Terms, Terms]:
    """Two terms: the extremes are what they are, all else may move by `width`; the spend on the edge may fall, or grow.

    Prices may move by as much as changes the dues of the edge by `width`, and each by that much alone: one that is
    nearly 0 may well double. Where dues are money, or requests, that stays so.
    """
    less, more = 1.0 - width, 1.0 + width
    step = width * abs(terms.rate)
    money, request, rate, grows, rest = 0.0, 0.0, step, more, -math.inf
    if terms.worth > 0.0:
        paid = terms.price - terms.request
        money = width * terms.money * (terms.price / paid if paid > 0.0 else 1.0)
        request, rate = width * terms.price, 0.0
    if terms.rest == math.inf:
        grows, rest = times, math.inf
    worth = max(0.0, terms.worth - request)
    low = Terms(
        max(0.0, terms.money - money), max(0.0, terms.request - request), worth, terms.rate - rate, 0.0,
        less * terms.price / dearer, terms.reward_max, terms.cost_min, terms.cost_max, less * less * terms.spread,
        less * terms.size, terms.opened, less * terms.usual_price, terms.usual_rate - step, less * terms.horizon, rest,
        0.0,
    )  # fmt: skip
    high = Terms(
        terms.money + money, terms.request + request, terms.worth + request, terms.rate + rate, times * terms.spend,
        more * terms.price * dearer, terms.reward_max, terms.cost_min, terms.cost_max, more * more * terms.spread,
        more * terms.size, more * terms.opened + 1.0, more * terms.usual_price, terms.usual_rate + step,
        grows * terms.horizon, more * max(0.0, terms.rest), min(1.0, more * terms.scarce),
    )  # fmt: skip
    return low, high


def as_terms(e: Floats) -> Terms:
    """Terms from a row of numbers."""
    return Terms(
        float(e[0]), float(e[1]), float(e[2]), float(e[3]), float(e[4]), float(e[5]), float(e[6]), float(e[7]),
        float(e[8]), float(e[9]), float(e[10]), float(e[11]), float(e[12]), float(e[13]), float(e[14]), float(e[15]),
        float(e[16]),
    )  # fmt: skip


def known_cost(memory: Points, arm: int) -> Belief:
    """What is known of an arm, with a cost that does not vary where its mean was told: only rewards are in doubt."""
    belief = memory.belief(arm)
    if math.isnan(memory.told[arm]):
        return belief
    return Belief(arm, belief.pulls, belief.mean_cost, belief.mean_reward, 0.0, belief.var_reward, 0.0)
