"""Which budgets a simulation has: one rule for `simulate` and for experiment files."""

import numpy as np
from numpy.typing import ArrayLike

from outlay.checks import Vector, real, vector
from outlay.errors import BadParameter

_LEAST = 1e-300


def checked_budgets(owner: str, budgets: ArrayLike | None, budget: float | None) -> Vector:
    """The budgets as given, or those that one `budget` stands for; BadParameter in the name of `owner`.

    >>> checked_budgets("simulate", [10, 20], None)
    array([10., 20.])
    >>> checked_budgets("simulate", [20, 10], None)
    Traceback (most recent call last):
    outlay.errors.BadParameter: budgets of simulate must be in rising order, each once; got [20, 10]
    """
    if (budgets is None) == (budget is None):
        raise BadParameter(owner, "budgets or budget", "given, and not both", (budgets, budget))
    if budgets is None:
        top = real(owner, "budget", budget, above=0)
        if top < _LEAST:
            allowed = f"≥ {_LEAST:g}, so that a thousandth of it is a number"
            raise BadParameter(owner, "budget", allowed, budget)
        return usual_budgets(top)
    limits = vector(owner, "budgets", budgets, above=0)
    if (np.diff(limits) <= 0).any():
        raise BadParameter(owner, "budgets", "in rising order, each once", budgets)
    return np.array(limits)


def usual_budgets(top: float) -> Vector:
    """What `budget=top` stands for: 25 budgets evenly spaced in the logarithm, from a thousandth of it."""
    return np.geomspace(top / 1000, top, 25)
