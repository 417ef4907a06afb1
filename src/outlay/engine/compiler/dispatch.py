"""From plain Python to machine code: a formula is written once, and the compiled loop calls the same method.

`overload_method` tells numba that `x.score(...)` on any NamedTuple is that tuple's class's own `score`. The loop is
then compiled once per set of classes. What makes this safe:

- The entry point of one compilation is kept and called, never numba's dispatcher: the dispatcher tells NamedTuples
  apart by name and field types only, and would run the old code for a class that was redefined.
- What a compilation reads is walked (`fingerprint`), plain helper functions are registered on the way, and the
  result is reused only for equal code. Where the same object is met again with other code behind it (a helper
  redefined in a notebook, a constant changed), or where another process could not find the class, the loop is
  compiled for stand-ins: copies of the classes and functions that nothing has compiled before.
"""

import inspect
import re
import shutil
import threading
import types as python
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from outlay.engine import loop
from outlay.engine.compiler import cache
from outlay.engine.compiler.fingerprint import PROTOCOL, Reach
from outlay.engine.compiler.records import described, shape
from outlay.engine.compiler.untyped import FieldTuple, NumbaType
from outlay.engine.compiler.vocabulary import OPTIONS, counting_play, learn
from outlay.engine.compiler.world import law_at
from outlay.parameters import is_record

_GENERATOR = numba.typeof(np.random.default_rng(0))

_lock = threading.RLock()
_entries: dict[tuple[object, ...], tuple[Callable[..., None], Reach]] = {}
_first_met: dict[object, str] = {}  # class or function -> the digest of what it reached when it was first compiled


class CannotCompile(Exception):
    """Numba refuses the policy, its memory or a law; the message says why, in one line."""


def compiled(policy: FieldTuple, memory: FieldTuple, world: FieldTuple) -> Callable[..., None]:
    """`loop.play`, compiled for these classes: from this process, from disk, or now.

    Raises CannotCompile with the reason, in one line, where numba refuses.
    """
    things = (policy, memory, world)
    with _lock:
        reach = Reach(*(cls for thing in things for cls in classes_of(thing)))
        key = (shape(things), reach.digest)
        if key not in _entries:
            _entries[key] = _compile(things, reach), reach
        return _entries[key][0]


def _compile(things: tuple[FieldTuple, FieldTuple, FieldTuple], reach: Reach) -> Callable[..., None]:
    if not reach.portable or _changed(reach):
        copies = StandIns(reach)
        for function in copies.functions:
            learn(function)
        return _entry(_signature(*things, copies.of))
    for function in reach.functions:
        learn(function)
    signature = _signature(*things, lambda cls: cls)
    where = cache.folder(f"{reach.digest} {described(shape(things))}")
    if where is None:
        return _entry(signature)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(where)
    try:
        return _entry(signature, cache=True)
    except CannotCompile:
        raise
    except Exception:  # a damaged cache can fail in any way; if it was not the cache, compiling without it fails too
        shutil.rmtree(where, ignore_errors=True)
        return _entry(signature)
    finally:
        numba.config.CACHE_DIR = before


def _entry(signature: tuple[NumbaType, ...], **options: bool) -> Callable[..., None]:
    """Compile without reference counts; with them where that fails, as it does for code that makes arrays."""
    for play in (loop.play, counting_play):
        try:
            entry: Callable[..., None] = numba.njit(nogil=True, **OPTIONS, **options)(play).compile(signature)
        except NumbaError as error:
            refusal = error
        else:
            return entry
    raise CannotCompile(reason_of(str(refusal))) from refusal


def _signature(
    policy: FieldTuple, memory: FieldTuple, world: FieldTuple, stand_in: Callable[[type], type]
) -> tuple[NumbaType, ...]:
    """The numba types of `play`'s arguments."""

    def type_of(value: FieldTuple) -> NumbaType:
        if is_record(value):
            return types.BaseTuple.from_types([type_of(field) for field in value], stand_in(type(value)))
        return numba.typeof(value)

    words = np.zeros(1, np.uint64)
    starts = loop.Starts(words[None], words, words, words, words)
    passages = loop.Passages.blank(1, 1, 1)
    arguments = world, policy, memory, starts, loop.Standing.start(1), passages
    numbers = types.float64[::1], types.int64, types.int64, types.int64
    return (_GENERATOR, *map(type_of, arguments), *numbers)


def classes_of(value: FieldTuple) -> list[type]:
    """The class of a record and of every record inside it."""
    if not is_record(value):
        return []
    return [type(value), *(cls for field in value for cls in classes_of(field))]


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
            if function is not law_at:  # whose compiled version is not its own code
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


def reason_of(report: str) -> str:
    """Which line of the user's numba stumbled over, and what it said there: one line out of some hundred."""
    report = re.sub(r"\x1b\[[0-9;]*m", "", report)
    where_pattern = r'([^\n]*\S)\s*\n\s*File "([^"]+)", line (\d+):\n(?:(?! *File ")[^\n]*\n)*?([^\n]*)\n *\^'
    for found in re.finditer(where_pattern, report):
        said, path, line, code = (part.strip() for part in found.groups())
        if not re.search(r"[\\/](numba|outlay)[\\/]", path):
            why = f" ({said.rstrip('.')})" if said and not said.startswith("During") else ""
            return f"numba refuses {code!r} in {path.rsplit('/', 1)[-1]}, line {line}{why}"
    telling = (line.strip() for line in report.splitlines() if re.search(r"Unknown|Cannot|annot |nvalid|ntyped", line))
    return f"numba says {next(telling, 'nothing helpful')!r}"
