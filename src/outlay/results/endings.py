"""What ended the runs of a result, as an axis and in words: the budget, requests, or both."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from outlay.text import counted

if TYPE_CHECKING:
    from outlay.results.result import Result


def axis_of(result: Result) -> tuple[str, NDArray[Any]]:
    """What regret is drawn over, with its name: "budget", or "requests" where the budget is always the same."""
    budgets, requests = result.budgets, result.requests
    if requests is None or len(set(budgets.tolist())) > 1 or (math.isfinite(budgets[0]) and len(budgets) == 1):
        return "budget", budgets
    return "requests", requests


def last_of(result: Result, number: Callable[[float], str] = "{:,g}".format) -> str:
    """The last budget in words: "budget 10,000", "budget 10,000 and 500 requests" or "500 requests"."""
    requests = None if result.requests is None else int(result.requests[-1])
    return ended(float(result.budgets[-1]), requests, number)


def ended(budget: float, requests: int | None, number: Callable[[float], str] = "{:,g}".format) -> str:
    """A budget with its requests in words.

    >>> ended(1e4, None), ended(1e4, 500), ended(math.inf, 1)
    ('budget 10,000', 'budget 10,000 and 500 requests', '1 request')
    """
    if requests is None:
        return f"budget {number(budget)}"
    served = counted(requests, "request")
    return served if budget == math.inf else f"budget {number(budget)} and {served}"


def beside(mode: str) -> str:
    """What follows the limits in a title: the mode, unless it is the one that was always there.

    >>> beside("until_exceeded"), beside("hard")
    ('', ', hard mode')
    """
    return "" if mode == "until_exceeded" else f", {mode} mode"


def best_heading(result: Result) -> str:
    """The heading over the shares of pulls on arms without a gap: of a mix there are two, as a rule."""
    return "best arm" if result.requests is None else "best arms"
