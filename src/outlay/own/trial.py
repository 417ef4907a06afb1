"""A method of the user's, called once in the interpreter: a mistake is told by class, method and line.

Compilers report what they cannot type, some screens long, and where they stumbled is seldom where the mistake is. One
call of the plain method says more, and takes microseconds. Where Python refuses arithmetic (dividing by 0, a logarithm
of 0), machine code goes on with infinities: that is no mistake, and is left to the run.
"""

import inspect
import math
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from outlay.errors import BadCode
from outlay.own.places import in_words, is_own, place_of, what_failed
from outlay.text import meant


class Returned(NamedTuple):
    """What a method must return: in words, and as a test."""

    words: str
    good: Callable[[Any], bool]


def is_number(value: object) -> bool:
    """Whether compiled code would take a value for a real number.

    >>> [is_number(value) for value in (1, True, float("inf"), np.float32(2), "1", None, 1j, np.ones(1))]
    [True, True, True, True, False, False, False, False]
    """
    return isinstance(value, (int, float, np.bool_, np.integer, np.floating))


NUMBER = Returned("a number", is_number)
WHOLE = Returned("a whole number", lambda value: isinstance(value, (int, np.integer)))
NOTHING = Returned("anything", lambda _value: True)


def tried(owner: object, method: str, takes: str, arguments: tuple[Any, ...], returns: Returned = NOTHING) -> Any:
    """What a method returns, called as a run would call it; BadCode says what is wrong with it, and where.

    `takes` names the arguments. Classes of outlay are called as they are. None where Python refuses the arithmetic.
    """
    function = getattr(owner, method)
    if not is_own(type(owner)):
        return function(*arguments)
    place = place_of(type(owner), method)
    wanted = f"(self, {takes})"
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        its = inspect.signature(getattr(type(owner), method))
        raise BadCode(f"{place} must take {wanted}; it takes {its}") from None
    try:
        with np.errstate(all="ignore"):
            value = function(*arguments)
    except (ArithmeticError, ValueError):
        return None
    except Exception as error:
        raise BadCode(f"{what_failed(error)}{_hint(error)}") from error
    if not returns.good(value):
        code = getattr(getattr(type(owner), method), "__code__", None)
        line = None if code is None else _returned_at(function, arguments, code)
        if code is not None and line:
            place = in_words(f"{type(owner).__name__}.{method}", code.co_filename, line)
        forgot = ": does a `return` lack?" if value is None else ""
        raise BadCode(f"{place} must return {returns.words}; it returned {_shown(value)}{forgot}")
    return value


def _returned_at(function: Callable[..., object], arguments: tuple[Any, ...], code: CodeType) -> int | None:
    """The line of a function at which it returns, found by calling it once more; a debugger is put back."""
    lines: list[int] = []

    def look(frame: FrameType, event: str, _value: object) -> Any:
        if frame.f_code is code and event == "return":
            lines.append(frame.f_lineno)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        function(*arguments)
    except Exception:  # it draws at random, and went another way
        return None
    finally:
        sys.settrace(before)
    return lines[-1] if lines else None


def _hint(error: BaseException) -> str:
    """The name that was probably meant, where a field or a function is unknown."""
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        return meant(error.name, [name for name in dir(error.obj) if not name.startswith("_")])
    return ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…, of type {type(value).__name__}"


def pair_of(value: object) -> bool:
    """Whether it is a cost and a reward.

    >>> pair_of((1.0, 2)), pair_of(1.0), pair_of((1.0, "high")), pair_of((1.0, 2.0, 3.0)), pair_of((1.0, math.nan))
    (True, False, False, False, False)
    """
    return (
        isinstance(value, tuple) and len(value) == 2 and all(is_number(each) and math.isfinite(each) for each in value)
    )


def instead_of_class(cls: type) -> str:
    """The call that was probably meant where somebody passed a class.

    >>> class Mine:
    ...     def __init__(self, width=1.0): ...
    >>> class Other:
    ...     def __init__(self, width): ...
    >>> instead_of_class(Mine), instead_of_class(Other)
    ('an object, not its class (did you mean Mine()?)', 'an object, not its class (did you mean Other(…)?)')
    """
    try:
        wanted = inspect.signature(cls).parameters.values()
        needs = any(one.default is one.empty and one.kind is not one.VAR_KEYWORD for one in wanted)
    except (TypeError, ValueError):
        needs = True
    return f"an object, not its class (did you mean {cls.__name__}({'…' * needs})?)"
