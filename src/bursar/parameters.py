"""Records of parameters: checks with one sentence for a bad value, equality and repr that understand arrays.

Laws, policies and problems are tuples of parameters. `Record` makes such a tuple compare by value and print as the
call that makes it; `real`, `whole` and `vector` turn what a user passed into what the formulas read, or raise
`BadParameter`.
"""

import inspect
import math
import operator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.errors import BadParameter

Vector = NDArray[np.float64]

# The limits a number can have, with the words for them.
_LIMITS = {
    "above": (operator.gt, ">"),
    "at_least": (operator.ge, "≥"),
    "below": (operator.lt, "<"),
    "at_most": (operator.le, "≤"),
}


class Record(tuple[Any, ...]):
    """A mix-in for NamedTuples: equal by value (arrays included), printed as the call that makes it."""

    __slots__ = ()

    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments, in its order (derived fields left out)."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _replace(self, **changes: Any) -> Self:
        return type(self)(**{**self.arguments(), **changes})

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(self.arguments().values())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(map(_equal, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), *(value.tobytes() if isinstance(value, np.ndarray) else value for value in self)))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={_plain(value)!r}" for name, value in self.arguments().items())
        return f"{type(self).__name__}({inner})"


def real(owner: str, name: str, value: object, **limits: float) -> float:
    """A finite number within `limits` (above, at_least, below, at_most).

    >>> real("UCBB1", "alpha", 3, above=2)
    3.0
    """
    allowed = "a finite number" + _words(limits)
    if isinstance(value, (bool, str, bytes)) or getattr(value, "ndim", 0) != 0:
        raise BadParameter(owner, name, allowed, value)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(owner, name, allowed, value) from None
    if not math.isfinite(number):
        raise BadParameter(owner, name, allowed, value)
    if not _within(number, limits):
        raise BadParameter(owner, name, _words(limits).lstrip(), value)
    return number


def whole(owner: str, name: str, value: object, **limits: float) -> int:
    """An integer within `limits`; 3.0 is one, 3.5, "3" and True are not.

    >>> whole("simulate", "runs", 100, at_least=1)
    100
    """
    allowed = "a whole number" + _words(limits)
    try:
        number = real(owner, name, value)
    except BadParameter:
        raise BadParameter(owner, name, allowed, value) from None
    if number != int(number) or not _within(number, limits):
        raise BadParameter(owner, name, allowed, value)
    return int(value)  # type: ignore[call-overload, no-any-return]


def vector(owner: str, name: str, values: ArrayLike, **limits: float) -> Vector:
    """One number or a sequence of them, as a read-only 1-D array; every one finite and within `limits`.

    >>> vector("UCBB1", "var_cost", [0.1, 0.2], at_least=0)
    array([0.1, 0.2])
    """
    allowed = "a number or a sequence of finite numbers" + _words(limits)
    try:
        given = np.asarray(values)
    except ValueError:
        raise BadParameter(owner, name, allowed, values) from None
    if given.dtype.kind not in "iuf":
        raise BadParameter(owner, name, allowed, values)
    array = np.array(given, dtype=np.float64, ndmin=1) + 0.0  # a copy of ours, without -0.0: equal arrays hash alike
    if array.ndim != 1 or array.size == 0:
        raise BadParameter(owner, name, f"{allowed}, in one dimension and not empty", values)
    good = np.isfinite(array)
    for key, limit in limits.items():
        good &= _LIMITS[key][0](array, limit)
    if not good.all():
        first = int(np.argmin(good))
        where = f" at position {first}" if array.size > 1 else ""
        raise BadParameter(owner, name + where, "a finite number" + _words(limits), float(array[first]))
    array.setflags(write=False)
    return array


def _within(number: float, limits: dict[str, float]) -> bool:
    return all(_LIMITS[key][0](number, limit) for key, limit in limits.items())


def _words(limits: dict[str, float]) -> str:
    words = " and ".join(f"{_LIMITS[key][1]} {limit:g}" for key, limit in limits.items())
    return f" {words}" if words else ""


def _equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    return one == other


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value
