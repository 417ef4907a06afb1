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

from bursar.engine import cache, loop
from bursar.engine.fingerprint import PROTOCOL, Reach
from bursar.engine.records import is_record
from bursar.engine.vocabulary import OPTIONS, counting_play, learn

_GENERATOR = numba.typeof(np.random.default_rng(0))

_lock = threading.RLock()
_entries: dict[tuple[Any, ...], tuple[Callable[..., None], Reach]] = {}
_first_met: dict[Any, str] = {}  # class or function -> the digest of what it reached when it was first compiled


class CannotCompile(Exception):
    """Numba refuses the policy, its memory or a law; the message says why, in a line."""


def compiled(policy: Any, memory: Any, world: Any) -> Callable[..., None]:
    """`loop.play`, compiled for these classes: from this process, from disk, or now.

    Raises CannotCompile with the reason, in one line, where numba refuses.
    """
    classes = list(dict.fromkeys(_classes(policy) + _classes(memory) + _classes(world)))
    with _lock:
        reach = Reach(*classes)
        copies = _StandIns(reach) if not reach.portable or _changed(reach) else None
        signature = _signature(policy, memory, world, copies)
        key = (tuple(classes), reach.digest, str(signature))
        if key not in _entries:
            _entries[key] = _compile(signature, reach, copies), reach
        return _entries[key][0]


def _compile(signature: tuple[Any, ...], reach: Reach, copies: "_StandIns | None") -> Callable[..., None]:
    for function in reach.functions:
        learn(copies.of_function(function) if copies else function)
    where = None if copies else cache.folder(f"{reach.digest} {signature}")
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


def _entry(signature: tuple[Any, ...], **options: Any) -> Callable[..., None]:
    """Compile without reference counts; with them where that fails, as it does for code that makes arrays."""
    for play in (loop.play, counting_play):
        try:
            entry: Callable[..., None] = numba.njit(nogil=True, **OPTIONS, **options)(play).compile(signature)
        except NumbaError as error:
            refusal = error
        else:
            return entry
    raise CannotCompile(_reason(str(refusal))) from refusal


def _signature(policy: Any, memory: Any, world: Any, copies: "_StandIns | None") -> tuple[Any, ...]:
    def type_of(value: Any) -> Any:
        if is_record(value):
            cls = copies.of_class(type(value)) if copies else type(value)
            return types.BaseTuple.from_types([type_of(field) for field in value], cls)
        return numba.typeof(value)

    runs = loop.Runs.start(1)
    outcome = loop.Outcome(np.empty((1, 1, 1), np.int64), np.empty((1, 1)), np.empty((1, 1)))
    return (
        types.UniTuple(_GENERATOR, loop.BATCH),
        type_of(world),
        type_of(policy),
        types.UniTuple(type_of(memory), loop.BATCH),
        type_of(runs),
        type_of(outcome),
        types.float64[::1],
        types.int64,
        types.int64,
    )


def _classes(value: Any) -> list[type]:
    if not is_record(value):
        return []
    return [type(value), *(cls for field in value for cls in _classes(field))]


def _changed(reach: Reach) -> bool:
    """Whether anything here has been compiled before with other code behind it."""
    known = {item: Reach(item).digest for item in (*reach.classes, *reach.functions)}
    stale = any(_first_met.get(item, digest) != digest for item, digest in known.items())
    if not stale:
        _first_met.update(known)
    return stale


class _StandIns:
    """Copies of classes and of the plain functions they reach: to numba, things it has never seen."""

    def __init__(self, reach: Reach) -> None:
        self._functions: dict[Any, Any] = {}
        self._classes: dict[type, type] = {}
        for function in reach.functions:
            if function.__module__.partition(".")[0] == "bursar":
                continue  # it reaches nothing of the user's
            cells = tuple(python.CellType() for _ in function.__closure__ or ()) or None
            code, space = function.__code__, dict(function.__globals__)
            copy = python.FunctionType(code, space, function.__name__, function.__defaults__, cells)
            copy.__kwdefaults__ = function.__kwdefaults__
            self._functions[function] = copy
        for function, copy in self._functions.items():
            for name, value in function.__globals__.items():
                copy.__globals__[name] = self.of_function(value)
            for cell, original in zip(copy.__closure__ or (), function.__closure__ or (), strict=True):
                cell.cell_contents = self.of_function(original.cell_contents)

    def of_class(self, cls: type) -> type:
        """The class that stands in for this one."""
        if cls not in self._classes:
            methods = {name: self.of_function(method) for name in PROTOCOL if (method := getattr(cls, name, None))}
            self._classes[cls] = type(cls.__name__, (cls,), {"__slots__": (), **methods})
        return self._classes[cls]

    def of_function(self, value: Any) -> Any:
        """The copy of a function; anything else, and bursar's own functions, as they are."""
        return self._functions.get(value, value) if inspect.isfunction(value) else value


def _reason(report: str) -> str:
    """Which line of the user's numba stumbled over, and what it said there: one line out of some hundred."""
    report = re.sub(r"\x1b\[[0-9;]*m", "", report)
    place_pattern = r'([^\n]*\S)\s*\n\s*File "([^"]+)", line (\d+):\n(?:(?! *File ")[^\n]*\n)*?([^\n]*)\n *\^'
    for place in re.finditer(place_pattern, report):
        said, path, line, code = (part.strip() for part in place.groups())
        if not re.search(r"[\\/](numba|bursar)[\\/]", path):
            why = f" ({said.rstrip('.')})" if said and not said.startswith("During") else ""
            return f"numba refuses {code!r} in {path.rsplit('/', 1)[-1]}, line {line}{why}"
    return f"numba says {report.strip().splitlines()[-1].strip()!r}"
