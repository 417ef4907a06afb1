"""From plain Python to machine code: a formula is written once, and compiled code calls the same method.

`overload_method` tells numba that `x.score(...)` on any NamedTuple is that tuple's class's own `score`. A function that
calls it is then compiled once per set of classes. What makes this safe:

- The entry point of one compilation is kept and called, never numba's dispatcher: the dispatcher tells NamedTuples
  apart by name and field types only, and would run the old code for a class that was redefined.
- What a compilation reads is walked (`fingerprint`), plain helper functions are registered on the way, and the
  result is reused only for equal code. Where the same object is met again with other code behind it (a helper
  redefined in a notebook, a constant changed), or where another process could not find the class, the function is
  compiled for stand-ins: copies of the classes and functions that nothing has compiled before.
"""

import inspect
import os
import shutil
import threading
import types as python
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba import types
from numba.core.errors import NumbaError

from outlay.compiler import cache
from outlay.compiler.fingerprint import PROTOCOL, Reach
from outlay.compiler.reasons import reason_of
from outlay.compiler.records import described, shape
from outlay.compiler.untyped import FieldTuple, NumbaType
from outlay.compiler.vocabulary import OPTIONS, OWN, Function, learn
from outlay.parameters import is_record

TypeOf = Callable[[FieldTuple], NumbaType]  # the numba type of a value
Signature = Callable[[TypeOf], tuple[NumbaType, ...]]  # the numba types of a function's arguments

_lock = threading.RLock()
_entries: dict[tuple[object, ...], tuple[Function, Reach]] = {}
_first_met: dict[object, str] = {}  # class or function -> the digest of what it reached when it was first compiled


class CannotCompile(Exception):
    """Numba refuses the policy, its memory or a law; the message says why, in one line."""


def compiled(versions: tuple[Function, ...], things: tuple[FieldTuple, ...], signature: Signature) -> Function:
    """The first of some versions of a function that compiles, for the classes of `things`.

    It is taken from this process, from disk, or compiled now; it lets other threads run. Raises
    CannotCompile with the reason, in one line, where numba refuses all of them.
    """
    with _lock:
        reach = _reach(versions, things)
        key = (versions, shape(things), reach.digest)
        if key not in _entries:
            _entries[key] = _compile(versions, things, signature, reach), reach
        return _entries[key][0]


class Standing(NamedTuple):
    """What is known of a function for the classes of some things before it is compiled."""

    ready: bool  # in this process, or on disk
    portable: bool  # whether another process can compile it, and leave it where this one finds it
    weight: int  # how many functions it reaches


def standing(versions: tuple[Function, ...], things: tuple[FieldTuple, ...]) -> Standing:
    """Whether compiled code for these is there."""
    reach = _reach(versions, things)
    where = _folder(versions, things, reach) if reach.portable else None
    ready = (versions, shape(things), reach.digest) in _entries or (where is not None and _holds_code(where))
    return Standing(ready, where is not None and not _changed(reach), len(reach.functions))


def _holds_code(where: Path) -> bool:
    return any(where.rglob("*.nbc"))


def _reach(versions: tuple[Function, ...], things: tuple[FieldTuple, ...]) -> Reach:
    return Reach(*(cls for thing in things for cls in classes_of(thing)), *(v for v in versions if v not in OWN))


def _folder(versions: tuple[Function, ...], things: tuple[FieldTuple, ...], reach: Reach) -> Path | None:
    return cache.folder(f"{versions[0].__qualname__} {reach.digest} {described(shape(things))}")


def _compile(
    versions: tuple[Function, ...], things: tuple[FieldTuple, ...], signature: Signature, reach: Reach
) -> Function:
    if not reach.portable or _changed(reach):
        copies = StandIns(reach)
        for function in copies.functions:
            learn(function)
        types_of_copies = signature(lambda thing: type_of(thing, copies.of))
        return _entry(tuple(map(copies.of, versions)), types_of_copies, reach)
    for function in reach.functions:
        learn(function)
    types_of_arguments = signature(lambda thing: type_of(thing, lambda cls: cls))
    where = _folder(versions, things, reach)
    if where is None:
        return _entry(versions, types_of_arguments, reach)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(where)
    try:
        return _entry(versions, types_of_arguments, reach, cache=True)
    except CannotCompile:
        raise
    except Exception:  # a damaged cache can fail in any way; if it was not the cache, compiling without it fails too
        shutil.rmtree(where, ignore_errors=True)
        return _entry(versions, types_of_arguments, reach)
    finally:
        numba.config.CACHE_DIR = before


def _entry(versions: tuple[Function, ...], signature: tuple[NumbaType, ...], reach: Reach, **options: bool) -> Function:
    """Compile the first version that numba does not refuse."""
    for version in versions:
        try:
            entry: Function = numba.njit(nogil=True, **OPTIONS, **options)(version).compile(signature)
        except NumbaError as error:
            refusal = error
        else:
            return entry
    raise CannotCompile(reason_of(str(refusal), reach.functions)) from refusal


def type_of(value: FieldTuple, stand_in: Callable[[type], type]) -> NumbaType:
    """The numba type of a value, with another class in place of each record's."""
    if is_record(value):
        return types.BaseTuple.from_types([type_of(field, stand_in) for field in value], stand_in(type(value)))
    return numba.typeof(value)


def classes_of(value: FieldTuple) -> list[type]:
    """The class of a record and of every record inside it."""
    if not is_record(value):
        return []
    return [type(value), *(cls for field in value for cls in classes_of(field))]


def _after_fork() -> None:
    """Nobody holds the lock in a child: the thread that may have held it was not copied."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def _changed(reach: Reach) -> bool:
    """Whether anything here has been compiled before with other code behind it."""
    known = {item: Reach(item).digest for item in (*reach.classes, *reach.functions)}
    stale = any(_first_met.get(item, digest) != digest for item, digest in known.items())
    if not stale:
        _first_met.update(known)
    return stale


class StandIns:
    """Copies of classes and of the plain functions they reach: to numba, things it has never seen.

    A function that the user gave to njit is replaced by a plain copy of what was given: its own machine code is frozen,
    and its reference counts are not ours.
    """

    def __init__(self, reach: Reach) -> None:
        self._copies: dict[Any, Any] = {}
        for function in reach.functions:
            if function not in OWN:
                self._copies[function] = _bare_copy(function)
        for cls in reach.classes:
            self._copies[cls] = type(cls.__name__, (cls,), {"__slots__": ()})
        for module in reach.modules:
            self._copies[module] = python.ModuleType(module.__name__)
        for original, copy in self._copies.items():
            if isinstance(original, type):
                for name in PROTOCOL:
                    if inspect.isfunction(method := getattr(original, name, None)):
                        setattr(copy, name, self.of(method))
            elif inspect.ismodule(original):
                vars(copy).update({name: self.of(value) for name, value in vars(original).items()})
            else:
                copy.__globals__.update({name: self.of(value) for name, value in original.__globals__.items()})
                for cell, old in zip(copy.__closure__ or (), original.__closure__ or (), strict=True):
                    cell.cell_contents = self.of(old.cell_contents)

    @property
    def functions(self) -> list[Any]:
        """The copied functions."""
        return [copy for copy in self._copies.values() if inspect.isfunction(copy)]

    def of(self, value: Any) -> Any:
        """What stands in for a class, function or module; anything else as it is."""
        if inspect.isfunction(given := getattr(value, "py_func", None)):
            value = given
        copied = inspect.isfunction(value) or isinstance(value, type) or inspect.ismodule(value)
        return self._copies.get(value, value) if copied else value


def _bare_copy(function: Any) -> Any:
    """A copy with globals and cells of its own, both still to be filled."""
    cells = tuple(python.CellType() for _ in function.__closure__ or ()) or None
    copy = python.FunctionType(function.__code__, {}, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy
