"""Numbers that floating point cannot hold, refused in one sentence."""

import math
from collections.abc import Callable

from outlay.errors import NotCovered


def finite(owner: str, compute: Callable[[], float]) -> float:
    """What `compute` gives, unless it or a step on the way is too large.

    >>> finite("late_passage", lambda: math.exp(1000.0))
    Traceback (most recent call last):
    outlay.errors.NotCovered: the value of late_passage is too large for a floating-point number
    """
    try:
        value = compute()
    except (OverflowError, ZeroDivisionError):
        value = math.inf
    if not math.isfinite(value):
        raise NotCovered(f"the value of {owner} is too large for a floating-point number")
    return value
