"""The budget as a formula reads it, in policies that are told it."""

import math

from outlay.parameters import Draft


def budget_or_infinity(given: Draft) -> float:
    """The parameter `budget`; ∞ while it is None, that is, until `simulate` or a campaign fills it in."""
    return math.inf if given.budget is None else float(given.budget)
