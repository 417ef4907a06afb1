"""What ends a run: budgets, and requests beside them. One rule for `simulate` and for experiment files."""

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outlay.checks import Vector, real, vector
from outlay.errors import BadParameter

Counts = NDArray[np.int64]
Mode = Literal["until_exceeded", "hard"]
MODES: tuple[Mode, ...] = get_args(Mode)
UNLIMITED = 2**62  # requests, where their number is no limit: no run makes as many pulls

_LEAST = 1e-300
_MOST_REQUESTS = 2**53  # beyond which floats do not tell whole numbers apart


class Limits(NamedTuple):
    """Pairs of a budget and a number of requests: a run ends for each when either is used up.

    They are in rising order: by budget, and where budgets are equal, by requests.
    """

    budgets: Vector  # math.inf: money is no limit
    requests: Counts

    @staticmethod
    def of(budgets: Vector, requests: Counts | None) -> "Limits":
        """Budgets with the requests beside them, if there are any."""
        return Limits(budgets, np.full(len(budgets), UNLIMITED, np.int64) if requests is None else requests)

    def parts(self, alone: bool) -> list[slice]:
        """Which pairs one run serves: all of them, unless each is to be `alone` or ends before one of lower budget.

        >>> Limits.of(np.array([10.0, 20.0, 30.0]), np.array([5, 9, 9])).parts(alone=False)
        [slice(None, None, None)]
        >>> Limits.of(np.array([10.0, 20.0]), np.array([9, 5])).parts(alone=False)
        [slice(0, 1, None), slice(1, 2, None)]
        """
        if not alone and (np.diff(self.requests) >= 0).all():
            return [slice(None)]
        return [slice(j, j + 1) for j in range(len(self.budgets))]


def checked_limits(
    owner: str, budgets: ArrayLike | None, budget: float | None, requests: ArrayLike | None
) -> tuple[Vector, Counts | None]:
    """Budgets and requests, one of each for every pair; BadParameter in the name of `owner`.

    >>> checked_limits("simulate", [10, 20], None, 1000)
    (array([10., 20.]), array([1000, 1000]))
    >>> checked_limits("simulate", math.inf, None, [100, 1000])
    (array([inf, inf]), array([ 100, 1000]))
    >>> checked_limits("simulate", [10, 20], None, None)
    (array([10., 20.]), None)
    """
    if (budgets is None) == (budget is None):
        raise BadParameter(owner, "budgets or budget", "given, and not both", (budgets, budget))
    if requests is None:
        return checked_budgets(owner, budgets, budget), None
    limits = _usual(owner, budget, endless=True) if budgets is None else _maybe_infinite(owner, budgets)
    counts = vector(owner, "requests", requests, at_least=1, at_most=_MOST_REQUESTS)
    if (counts != np.floor(counts)).any():
        raise BadParameter(owner, "requests", "whole numbers", requests)
    pairs = max(len(limits), len(counts))
    if len(limits) not in (1, pairs) or len(counts) not in (1, pairs):
        allowed = f"one number, or one for each of the {len(limits)} budgets"
        raise BadParameter(owner, "requests", allowed, requests)
    limits = np.repeat(limits, pairs // len(limits))
    numbers = np.repeat(counts.astype(np.int64), pairs // len(counts))
    later = (limits[1:] > limits[:-1]) | ((limits[1:] == limits[:-1]) & (numbers[1:] > numbers[:-1]))
    if not later.all():
        allowed = "in rising order, each pair of a budget and requests once"
        raise BadParameter(owner, "budgets", allowed, budgets)
    return limits, numbers


def checked_budgets(owner: str, budgets: ArrayLike | None, budget: float | None) -> Vector:
    """The budgets as given, or those that one `budget` stands for, where nothing else is limited.

    >>> checked_budgets("simulate", [20, 10], None)
    Traceback (most recent call last):
    outlay.errors.BadParameter: budgets of simulate must be in rising order, each once; got [20, 10]
    """
    if budgets is None:
        return _usual(owner, budget)
    limits = vector(owner, "budgets", budgets, above=0)
    if (np.diff(limits) <= 0).any():
        raise BadParameter(owner, "budgets", "in rising order, each once", budgets)
    return np.array(limits)


def usual_budgets(top: float) -> Vector:
    """What `budget=top` stands for: 25 budgets evenly spaced in the logarithm, from a thousandth of it."""
    return np.geomspace(top / 1000, top, 25)


def _usual(owner: str, budget: object, endless: bool = False) -> Vector:
    if endless and isinstance(budget, float) and budget == math.inf:
        return np.array([math.inf])
    top = real(owner, "budget", budget, above=0)
    if top < _LEAST:
        raise BadParameter(owner, "budget", f"≥ {_LEAST:g}, so that a thousandth of it is a number", budget)
    return usual_budgets(top)


def _maybe_infinite(owner: str, budgets: ArrayLike) -> Vector:
    """Budgets, of which some may be infinite."""
    try:
        given = np.asarray(budgets)
    except ValueError:
        return vector(owner, "budgets", budgets)  # which says what is wrong with them
    infinite = np.atleast_1d(given == math.inf) if given.dtype.kind == "f" else np.zeros(1, bool)
    finite = vector(owner, "budgets", np.where(given == math.inf, 1.0, given) if infinite.any() else budgets, above=0)
    return np.where(infinite, math.inf, finite)
