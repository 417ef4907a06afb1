"""Tuples of parameters: each declared once, with its check beside it.

    class CUCB(Parameters):
        alpha: float = number(default=0.125, above=0)
        form: Literal["wide", "narrow"] = choice("wide", "narrow", default="wide")
        cost_bound: float | None = number(default=None, above=0)

        narrow: bool = derived(lambda given: given.form == "narrow")
        largest: float = derived(lambda given: math.inf if given.cost_bound is None else given.cost_bound)

The constructor takes the declared parameters in their order (`help`, an IDE and mypy know it), checks each, and raises
`BadParameter` in one sentence. What a user reads back is what was given. The instance is a tuple that numba compiles:
it holds the numbers, arrays and derived fields (`_fields`), so a compiled formula reads those. Compiled code has no
None and no strings: a parameter that can be None, or is a string, is kept beside the tuple, and a formula reads a field
derived from it.
"""

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from operator import itemgetter
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, Self, dataclass_transform, overload

import numpy as np
from numpy.typing import ArrayLike

from outlay.checks import LIMITS, Vector, real, vector, whole, word

REQUIRED: Any = inspect.Parameter.empty
_LONGEST = 64  # numbers of an array in a repr
_FIRST = 6  # of a longer one

Draft = SimpleNamespace  # the parameters while they are put together
Check = Callable[..., Any]  # owner, name, value → the value as it is kept; or it raises BadParameter
Limit = float | Callable[[Draft], float]  # a number, or what follows from the parameters declared before


class Array:
    """The type of a parameter that is given as a number or a sequence of numbers and read as a vector."""

    @overload
    def __get__(self, record: None, owner: type) -> "Array": ...
    @overload
    def __get__(self, record: object, owner: type) -> Vector: ...
    def __get__(self, record: object, owner: type) -> Any:
        """Only for type checkers: classes of parameters read their fields by position."""
        raise NotImplementedError

    def __set__(self, record: object, value: ArrayLike) -> None:
        """Only for type checkers, who learn from it what the constructor takes."""
        raise NotImplementedError


class _Declared(NamedTuple):
    """One parameter, or one derived field."""

    check: Check | None = None  # None: derived
    relative: bool = False  # the check also takes the parameters declared before
    default: Any = REQUIRED
    beside: bool = False  # the tuple does not hold it
    make: Callable[[Draft], Any] | None = None


def parameter(check: Check, *, default: Any = REQUIRED, relative: bool = False) -> Any:
    """Declare a parameter by its check, which takes the owner's name, the parameter's name and the value.

    Where the default is None, None is allowed and nothing checks it. A `relative` check takes a fourth argument: the
    parameters declared before, each checked.
    """
    optional = default is None
    return _Declared(partial(_unless_none, check) if optional else check, relative, default, beside=optional)


def number(*, default: float | None = REQUIRED, **limits: Limit) -> Any:
    """Declare a finite number within `limits` (above, at_least, below, at_most).

    >>> class Interval(Parameters):
    ...     low: float = number()
    ...     high: float = number(at_least=lambda given: given.low)
    >>> Interval(2, 1)
    Traceback (most recent call last):
    outlay.errors.BadParameter: high of Interval must be ≥ 2; got 1
    """
    return _within(real, limits, default)


def integer(*, default: int | None = REQUIRED, **limits: Limit) -> Any:
    """Declare a whole number within `limits`."""
    return _within(whole, limits, default)


def array(*, default: ArrayLike | None = REQUIRED, **limits: Limit) -> Any:
    """Declare a number or a sequence of numbers within `limits`, kept as a vector; annotate it as `Array`."""
    return _within(vector, limits, default)


def choice(*words: str, default: str = REQUIRED) -> Any:
    """Declare one of some words; annotate it as their `Literal`."""
    return _Declared(partial(word, words=words), default=default, beside=True)


def derived(make: Callable[[Draft], Any] | None = None, *, init: Literal[False] = False) -> Any:  # noqa: ARG001
    """Declare a field that follows from the parameters: by `make`, or set in `complete`.

    `init` is there for type checkers: the constructor does not take the field.
    """
    return _Declared(make=make)


_PADDING = _Declared(make=lambda _given: 0.0)  # where a tuple would be empty: numba has no such tuples


@dataclass_transform(field_specifiers=(parameter, number, integer, array, choice, derived))
class Parameters(tuple[object, ...]):
    """A tuple of parameters: equal by value (arrays included), printed as the call that makes it, never changed.

    >>> class Law(Parameters):
    ...     mean: float = number(above=0)
    ...     sd: float = number(default=1.0, at_least=0)
    >>> Law(2).sd, Law(2) == Law(mean=2.0, sd=1.0), Law(2)._replace(sd=3)
    (1.0, True, Law(mean=2.0, sd=3.0))
    >>> Law(0)
    Traceback (most recent call last):
    outlay.errors.BadParameter: mean of Law must be > 0; got 0
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _declared: ClassVar[Mapping[str, _Declared]] = {}
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        if "_fields" in vars(cls):  # somebody knows better
            return
        mine = {name: value for name, value in vars(cls).items() if isinstance(value, _Declared)}
        inherited = [vars(base).get("_declared", {}) for base in reversed(cls.__mro__[1:])]
        declared = {name: entry for part in (*inherited, mine) for name, entry in part.items() if entry is not _PADDING}
        _check_declarations(cls, mine, declared)
        if all(entry.beside for entry in declared.values()):
            declared["padding"] = _PADDING
        cls._declared = declared
        cls._fields = tuple(name for name, entry in declared.items() if not entry.beside)
        for position, name in enumerate(cls._fields):
            setattr(cls, name, property(itemgetter(position)))
        for name in declared.keys() - set(cls._fields):
            setattr(cls, name, property(partial(_beside, name)))
        cls.__match_args__ = tuple(name for name, entry in declared.items() if entry.check)  # type: ignore[misc]
        if "__new__" not in vars(cls):
            cls.__new__ = _constructor(cls)  # type: ignore[method-assign]

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Check what only holds together, and set derived fields; `given` has the parameters, each checked."""

    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments, in its order."""
        return {name: getattr(self, name) for name in self.__match_args__}

    def _asdict(self) -> dict[str, Any]:
        """As NamedTuple has it; numba knows by it that the tuple has named fields."""
        return self.arguments()

    def _replace(self, **changes: Any) -> Self:
        return type(self)(**{**self.arguments(), **changes})

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(self.arguments().values())

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} cannot be changed; _replace({name}=…) makes another")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameters) or type(self) is not type(other):
            return False
        return all(map(equal, self.arguments().values(), other.arguments().values()))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), *map(hashable, self.arguments().values())))

    def __repr__(self) -> str:
        return self.call(_LONGEST)

    def call(self, longest: float = math.inf) -> str:
        """The call that makes it; arrays of more than `longest` numbers are shown by their first few."""
        inner = ", ".join(f"{name}={_shown(value, longest)}" for name, value in self.arguments().items())
        return f"{type(self).__name__}({inner})"


def _beside(name: str, record: Parameters) -> Any:
    """What stands beside the tuple; only the copies that compiled code gets have nothing there."""
    try:
        return vars(record)[name]
    except KeyError:
        raise AttributeError(f"{name} is not known to compiled code: read a field derived from it") from None


def _check_declarations(cls: type, mine: Mapping[str, _Declared], declared: Mapping[str, _Declared]) -> None:
    """Refuse, when a class is made, what would only be noticed when it is used."""
    owner = cls.__name__
    for name in declared.keys() & (vars(cls).keys() - mine.keys()):
        raise TypeError(f"{name} of {owner} is a parameter: declare it anew, as {name}: float = number(default=…)")
    for name, kind in inspect.get_annotations(cls).items():
        if name not in declared and not name.startswith("_") and "ClassVar" not in str(kind):
            raise TypeError(f"{name} of {owner} is not declared: write {name}: … = number() or another declaration")
    for name in mine.keys() & {*vars(Parameters), "cls"}:
        raise TypeError(f"{name} cannot be the name of a parameter of {owner}: Parameters uses it")
    first = ""
    for name, entry in declared.items():
        if first and entry.check and entry.default is REQUIRED:
            raise TypeError(f"{name} of {owner} needs a default, since {first}, which is before it, has one")
        first = first or (name if entry.check and entry.default is not REQUIRED else "")


def _constructor(cls: type[Parameters]) -> Any:
    """`__new__` with the declared parameters as its own, so that Python itself binds arguments and names mistakes.

    It is written out and compiled as `namedtuple` does it: problems hold a hundred thousand laws, and a loop over the
    declarations would double the time that one takes to make.
    """
    given = {name: entry for name, entry in cls._declared.items() if entry.check}
    wanted = [name if entry.default is REQUIRED else f"{name}=_default_{name}" for name, entry in given.items()]
    lines = [f"def __new__({', '.join(['cls', *wanted])}):", "    _owner = cls.__name__"]
    before = ""
    for name, entry in given.items():
        others = f", _draft({before})" if entry.relative else ""
        lines.append(f"    {name} = _check_{name}(_owner, {name!r}, {name}{others})")
        before += f"{name}={name}, "
    plain = given.keys() == set(cls._fields) and cls.complete.__func__ is Parameters.complete.__func__  # type: ignore[attr-defined]
    fields = "".join(f"{name}, " for name in cls._fields)
    lines.append(f"    return _tuple(cls, ({fields}))" if plain else f"    return _made(cls, _draft({before}))")
    space: dict[str, Any] = {"_tuple": tuple.__new__, "_made": _made, "_draft": Draft}
    for name, entry in given.items():
        space |= {f"_check_{name}": entry.check, f"_default_{name}": entry.default}
    exec("\n".join(lines), space)  # noqa: S102
    new = space["__new__"]
    kinds = {name: kind for base in reversed(cls.__mro__) for name, kind in inspect.get_annotations(base).items()}
    new.__annotations__ = {name: kinds[name] for name in given if name in kinds}
    new.__qualname__ = cls.__qualname__  # for Python's own words about missing arguments
    new.__doc__ = "Check the parameters."
    return new


def _made(cls: type[Parameters], given: Draft) -> Parameters:
    """The tuple of the parameters, each checked, and of what follows from them."""
    cls.complete(given)
    for name, entry in cls._declared.items():
        if entry.make:
            setattr(given, name, entry.make(given))
    values = vars(given)
    if unset := [name for name in cls._fields if name not in values]:
        raise TypeError(f"complete of {cls.__name__} must set {', '.join(unset)}, which it declares as derived")
    made = tuple.__new__(cls, [values[name] for name in cls._fields])
    if len(cls._fields) < len(cls._declared):
        vars(made).update({name: values[name] for name, entry in cls._declared.items() if entry.beside})
    return made


def _unless_none(check: Check, owner: str, name: str, value: Any, *before: Draft) -> Any:
    return None if value is None else check(owner, name, value, *before)


def _within(check: Check, limits: Mapping[str, Limit], default: Any) -> Any:
    """Declare what `check` has within `limits`, some of which may depend on other parameters."""
    if unknown := limits.keys() - LIMITS.keys():
        raise TypeError(f"a limit of a parameter is one of {', '.join(LIMITS)}; got {', '.join(sorted(unknown))}")
    if any(map(callable, limits.values())):
        return parameter(partial(_limited, check, limits), default=default, relative=True)
    return parameter(partial(check, **limits), default=default)


def _limited(check: Check, limits: Mapping[str, Limit], owner: str, name: str, value: object, before: Draft) -> Any:
    known = {key: limit(before) if callable(limit) else limit for key, limit in limits.items()}
    return check(owner, name, value, **known)


@cache
def signature_of(cls: type) -> Mapping[str, inspect.Parameter]:
    """The parameters of a class's constructor; `inspect` takes its time, and files hold many laws of one class."""
    return inspect.signature(cls).parameters


def is_record(value: object) -> bool:
    """Whether it is a tuple with named fields: parameters, or an instance of a NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def records_in(*values: Any) -> Iterator[tuple[Any, ...]]:
    """The records among some values, each followed by those inside it."""
    for value in values:
        if is_record(value):
            yield value
            yield from records_in(*value)


def _shown(value: object, longest: float) -> str:
    if isinstance(value, Parameters):
        return value.call(longest)
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= longest:
        return repr(value.tolist())
    return f"[{', '.join(map(repr, value[:_FIRST].tolist()))}, <{len(value) - _FIRST} more>]"


def equal(one: object, other: object) -> bool:
    """Equality by value that understands arrays, also inside tuples, lists and dicts; tuples of two classes differ."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if _has_its_own(one, "__eq__"):
        return bool(one == other)
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def hashable(value: object) -> object:
    """The value with its arrays as tuples, so that what is `equal` hashes alike."""
    if _has_its_own(value, "__hash__"):
        return value
    if isinstance(value, np.ndarray):
        return tuple(value.ravel().tolist())
    return tuple(map(hashable, value)) if isinstance(value, (tuple, list)) else value


def _has_its_own(value: object, method: str) -> bool:
    """Whether it is a tuple that says itself when it is equal to another, as `Parameters` do."""
    return isinstance(value, tuple) and getattr(type(value), method) is not getattr(tuple, method)
