"""How an arm compares with the edge: `Thrifty`'s excess, in dues.

These functions run in the interpreter and compiled.
"""

import math

from outlay.beliefs import Belief
from outlay.formulas.requests.terms import Terms, lead_on, priced
from outlay.formulas.thrift import Asked, asked, excess_within, slope_at

STEEPER = 0.02  # by which the slope grows more than Thrifty's where a request is worth something
STEADY = 0.5  # of the usual variance: an arm that varies less is not taken to look Gaussian there


def asked_on(slope: float, low: Terms, high: Terms) -> Asked:
    """The most that is asked on any terms between two."""
    one, other, steady = lead_on(low, high.money, 0.0), lead_on(high, low.money, 0.0), 0.0
    if high.worth > 0.0:
        total = high.horizon if high.rest < math.inf else math.inf
        slope, steady = slope_at(slope, total, one, STEEPER), STEADY
    return asked(slope, steady, high.horizon, one, other)


def excess_on(of: Asked, belief: Belief, low: Terms, high: Terms) -> float:
    """Evidence against an arm less what is enough; where low and high differ, at most that on any terms between."""
    price = priced(belief, low, high)
    if not price.mean > 0.0 and (low.money != high.money or low.request != high.request):
        return -math.inf  # its price may be a stand-in on some of them: nothing is certain
    one, other = lead_on(low, high.money, 0.0), lead_on(high, low.money, 0.0)
    return excess_within(of, high.rest, belief, price, one, other)
