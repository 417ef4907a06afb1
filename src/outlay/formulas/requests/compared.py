"""How an arm compares with the edge: `Thrifty`'s excess, in dues.

These functions run in the interpreter and compiled.
"""

import math

from outlay.beliefs import Belief
from outlay.formulas.requests.terms import Terms, lead_on, priced
from outlay.formulas.thrift import GROWTH, Asked, asked, excess_within, length

STEEPER = 0.0125  # growth of the slope, beside Thrifty's, where requests are scarce: for each squared unit of length
STEADY = 0.5  # of the usual variance: an arm that varies less is not taken to look Gaussian there


def asked_on(slope: float, low: Terms, high: Terms) -> Asked:
    """The most that is asked on any terms between two."""
    one, other = lead_on(low, high.money, 0.0), lead_on(high, low.money, 0.0)
    steep = steepness(slope, high.scarce, length(high.horizon, one))
    return asked(steep, STEADY if high.scarce == 1.0 else 0.0, one, other)


def steepness(slope: float, scarce: float, length: float) -> float:
    """How much evidence is enough for each unit of l, over so long a horizon: `Thrifty`'s where only money is scarce.

    >>> [round(steepness(0.33, 1.0, math.log(n) - 6.0), 2) for n in (1e3, 1e4, 1e5, 1e6)]
    [0.38, 0.59, 0.93, 1.0]
    """
    return min(max(1.0, 2.0 * slope * scarce), slope + (GROWTH + scarce * STEEPER * length) * length)


def excess_on(of: Asked, belief: Belief, low: Terms, high: Terms) -> float:
    """Evidence against an arm less what is enough; where low and high differ, at most that on any terms between."""
    price = priced(belief, low, high)
    if not price.mean > 0.0 and (low.money != high.money or low.request != high.request):
        return -math.inf  # its price may be a stand-in on some of them: nothing is certain
    one, other = lead_on(low, high.money, 0.0), lead_on(high, low.money, 0.0)
    return excess_within(of, high.rest, belief, price, one, other)
