"""The budget and the requests as a formula reads them, in policies that are told them."""

import math

from outlay.parameters import Draft


def budget_or_infinity(given: Draft) -> float:
    """The parameter `budget`; ∞ while it is None, that is, until `simulate` or a campaign fills it in."""
    return math.inf if given.budget is None else float(given.budget)


def requests_or_infinity(given: Draft) -> float:
    """The parameter `requests`, likewise."""
    return math.inf if given.requests is None else float(given.requests)
