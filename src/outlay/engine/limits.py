"""What ends a run: budgets, and requests beside them. One rule for `simulate` and for experiment files."""

import math
from contextlib import suppress
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outlay.arms.problem import Problem, checked_problem
from outlay.checks import Vector, real, vector, whole
from outlay.errors import BadParameter

Counts = NDArray[np.int64]
Mode = Literal["until_exceeded", "hard"]
MODES: tuple[Mode, ...] = get_args(Mode)
UNLIMITED = 2**62  # requests, where their number is no limit: no run makes as many pulls

_LEAST = 1e-300
_MOST_REQUESTS = 2**53  # beyond which floats do not tell whole numbers apart
_UNLESS = ", unless requests is given"


class Limits(NamedTuple):
    """Pairs of a budget and a number of requests: a run ends for each when either is used up.

    They are in rising order: by budget, and where budgets are equal, by requests.
    """

    budgets: Vector  # math.inf: money is no limit
    requests: Counts
    laws: Counts  # the law of the first arm, in `Problem.laws`, until the limit is passed: arms may change in between

    @staticmethod
    def of(budgets: Vector, requests: Counts | None, laws: Counts | None = None) -> "Limits":
        """Budgets with the requests beside them, if there are any."""
        unlimited, same = np.full(len(budgets), UNLIMITED, np.int64), np.zeros(len(budgets), np.int64)
        return Limits(budgets, unlimited if requests is None else requests, same if laws is None else laws)

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
    limits = _checked_budgets(owner, budgets, budget, endless=requests is not None)
    if requests is None:
        if (np.diff(limits) <= 0).any():
            raise BadParameter(owner, "budgets", "in rising order, each once", budgets)
        return limits, None
    counts = _checked_counts(owner, requests)
    pairs = max(len(limits), len(counts))
    if len(limits) not in (1, pairs) or len(counts) not in (1, pairs):
        allowed = f"one number, or one for each of the {len(limits)} budgets"
        raise BadParameter(owner, "requests", allowed, requests)
    limits = np.repeat(limits, pairs // len(limits))
    numbers = np.repeat(counts, pairs // len(counts))
    same = limits[1:] == limits[:-1]
    if len(counts) > 1 and (same & (numbers[1:] <= numbers[:-1])).any():
        raise BadParameter(owner, "requests", "in rising order, each once, where the budget is the same", requests)
    if not ((limits[1:] > limits[:-1]) | (same & (len(counts) > 1))).all():
        raise BadParameter(owner, "budgets", "in rising order, each pair of a budget and requests once", budgets)
    return limits, numbers


def checked_world(owner: str, problem: object, requests: object) -> Problem:
    """The problem itself; its arms may cost nothing only where requests end a run, too."""
    try:
        return checked_problem(owner, problem, free=requests is not None, changing=True)
    except BadParameter as error:
        if not isinstance(problem, Problem):
            raise
        raise BadParameter(owner, error.name, error.allowed + _UNLESS, error.got) from None


def usual_budgets(top: float) -> Vector:
    """What `budget=top` stands for: 25 budgets evenly spaced in the logarithm, from a thousandth of it."""
    return np.geomspace(top / 1000, top, 25)


def _checked_budgets(owner: str, budgets: ArrayLike | None, budget: object, endless: bool) -> Vector:
    """The budgets as given, or those that one `budget` stands for; where they are `endless`, some may be infinite."""
    if endless and isinstance(budget, float) and budget == math.inf:
        return np.array([math.inf])
    infinite = np.zeros(1, bool)
    with suppress(ValueError):  # `vector` says what is wrong with them
        if endless and np.asarray(budgets).dtype.kind == "f":
            infinite = np.atleast_1d(np.asarray(budgets) == math.inf)
    try:
        if budgets is not None:
            rest = np.where(infinite, 1.0, np.asarray(budgets, float)) if infinite.any() else budgets
            return np.where(infinite, math.inf, vector(owner, "budgets", rest, above=0))
        top = real(owner, "budget", budget, above=0)
    except BadParameter as error:
        allowed = error.allowed.replace("finite ", "") if endless else error.allowed
        if isinstance(error.got, float) and error.got == math.inf:
            allowed += _UNLESS
        raise BadParameter(owner, error.name, allowed, error.got) from None
    if top < _LEAST:
        raise BadParameter(owner, "budget", f"≥ {_LEAST:g}, so that a thousandth of it is a number", budget)
    return usual_budgets(top)


def _checked_counts(owner: str, requests: ArrayLike) -> Counts:
    """Numbers of requests, one or more."""
    try:
        given = np.asarray(requests, dtype=object)  # each number as it came: True is none
    except ValueError:
        given = np.empty((0, 0), dtype=object)
    if given.ndim > 1 or given.size == 0 or isinstance(requests, np.ma.MaskedArray):
        raise BadParameter(owner, "requests", "a whole number ≥ 1, a sequence of them, or None", requests)
    found = []
    for i, value in enumerate(given.flat):
        name, none = (f"requests at position {i}", "") if given.size > 1 else ("requests", ", or None")
        try:
            found.append(whole(owner, name, value, at_least=1))
        except BadParameter as error:
            raise BadParameter(owner, name, error.allowed + none, value) from None
        if found[-1] > _MOST_REQUESTS:
            raise BadParameter(owner, name, f"≤ {_MOST_REQUESTS:,}", value)
    return np.array(found, dtype=np.int64)
