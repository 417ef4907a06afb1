"""Records of parameters: checks with one sentence for a bad value, equality and repr that understand arrays.

Laws, policies and problems are tuples of parameters. `Record` makes such a tuple compare by value and print as the
call that makes it; `real`, `whole`, `line` and `vector` turn what a user passed into what the formulas read, or raise
`BadParameter`.
"""

import inspect
import math
import operator
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outlay.errors import BadParameter

Vector = NDArray[np.float64]

_LONGEST = 64  # numbers of an array in a repr
_FIRST = 6  # of a longer one
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
        return {name: getattr(self, name) for name in signature_of(type(self))}

    def _replace(self, **changes: Any) -> Self:
        return type(self)(**{**self.arguments(), **changes})

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(self.arguments().values())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), *map(_hashable, self)))

    def __repr__(self) -> str:
        return self.call(_LONGEST)

    def call(self, longest: float = math.inf) -> str:
        """The call that makes it; arrays of more than `longest` numbers are shown by their first few."""
        inner = ", ".join(f"{name}={_shown(value, longest)}" for name, value in self.arguments().items())
        return f"{type(self).__name__}({inner})"


@cache
def signature_of(cls: type) -> Mapping[str, inspect.Parameter]:
    """The parameters of a class's constructor; `inspect` takes its time, and files hold many laws of one class."""
    return inspect.signature(cls).parameters


def is_record(value: object) -> bool:
    """Whether it is an instance of a NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def equal(one: object, other: object) -> bool:
    """Equality by value that understands arrays, also inside tuples and lists; tuples differ where their classes do.

    >>> equal((1, [np.array([1.0, 2.0])]), (1, [np.array([1.0, 2.0])]))
    True
    """
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def real(owner: str, name: str, value: object, **limits: float) -> float:
    """A finite number within `limits` (above, at_least, below, at_most).

    >>> real("UCBB1", "alpha", 3, above=2)
    3.0
    """
    try:
        number = float(value) if _is_number(value) else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadParameter(owner, name, "a finite number" + _words(limits), value)
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


def place_of(owner: str, name: str, value: object, words: Sequence[str]) -> int:
    """The place of a word among those that are allowed: compiled code has no strings.

    >>> place_of("Fieller", "form", "plugin", ("student", "plugin"))
    1
    """
    if not isinstance(value, str) or value not in words:
        raise BadParameter(owner, name, f"one of {', '.join(words)}", value)
    return words.index(value)


def line(owner: str, name: str, value: object) -> str:
    r"""Text to be shown on one line: a label, a title.

    >>> line("write_report", "title", "two\nlines")
    Traceback (most recent call last):
    outlay.errors.BadParameter: title of write_report must be a string of one line, not empty; got 'two\nlines'
    """
    if isinstance(value, str) and value.strip() and not any(map(_breaks, value)):
        return value
    raise BadParameter(owner, name, "a string of one line, not empty", value)


def _breaks(letter: str) -> bool:
    """Whether it breaks a line or turns what follows: controls, halves of letters, ends of lines, overrides."""
    return (
        unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
        or letter in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068"
    )


def vector(owner: str, name: str, values: ArrayLike, **limits: float) -> Vector:
    """One number or a sequence of them, as a read-only 1-D array; every one finite and within `limits`.

    >>> vector("UCBB1", "var_cost", [0.1, 0.2], at_least=0)
    array([0.1, 0.2])
    """
    allowed = "a number or a sequence of finite numbers" + _words(limits)
    try:
        given = np.asarray(values)
        if given.dtype.kind == "O":  # whole numbers beyond 64 bits, fractions, or no numbers at all
            given = np.array([real(owner, name, value) for value in given.flat]).reshape(given.shape)
    except ValueError:
        raise BadParameter(owner, name, allowed, values) from None
    if given.dtype.kind not in "iuf" or isinstance(values, np.ma.MaskedArray):
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


def _is_number(value: object) -> bool:
    """Whether it is one real number: `float` also reads text, bytes, truth values and masked ones."""
    if type(value) in (float, int):
        return True
    if isinstance(value, (bool, np.ma.MaskedArray)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    return kind in ("i", "u", "f") and getattr(value, "ndim", 0) == 0


def _hashable(value: object) -> object:
    """The value with its arrays as tuples, so that what is equal hashes alike."""
    if isinstance(value, np.ndarray):
        return tuple(value.ravel().tolist())
    return tuple(map(_hashable, value)) if isinstance(value, (tuple, list)) else value


def _shown(value: object, longest: float) -> str:
    if isinstance(value, Record):
        return value.call(longest)
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= longest:
        return repr(value.tolist())
    return f"[{', '.join(map(repr, value[:_FIRST].tolist()))}, <{len(value) - _FIRST} more>]"
