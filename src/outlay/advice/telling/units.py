"""Rates in a unit that makes them easy to read: per unit of cost, or per thousand or million where they are small."""

import math

from outlay.advice.records import Findings
from outlay.text import number

_SMALL = 0.1


def per(advice: Findings) -> float:
    """For how much cost rates are given: 1, 1000 or 1,000,000, so that the largest is not below 0.1.

    All rates of an advice have the same unit.
    """
    largest = max((abs(arm.rate) for arm in advice.arms if arm.rate), default=1.0)
    for cost in (1.0, 1e3):
        if not math.isfinite(largest) or largest * cost >= _SMALL:
            return cost
    return 1e6


def unit(advice: Findings) -> str:
    """The unit of rates, in words."""
    cost = per(advice)
    much = "unit" if cost == 1.0 else f"{cost:,.0f}"
    return f"{advice.reward_name} per {much} of {advice.cost_name}"


def scaled(advice: Findings, rate: float | None) -> float | None:
    """A rate in that unit."""
    return None if rate is None else rate * per(advice)


def rate_in_words(advice: Findings, rate: float | None) -> str:
    """A rate with its unit."""
    return f"{number(scaled(advice, rate))} of {unit(advice)}"
