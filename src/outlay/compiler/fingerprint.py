"""What code does a class reach? The answer decides what may be taken from a cache and what must be compiled anew.

Numba freezes whatever a compiled method reads: helper functions, constants, defaults, closures. So two compilations
are interchangeable only if all of that is equal. `Reach` walks it and writes it down, every value in its place: what
was met before is written as a reference to where.
"""

import builtins
import hashlib
import inspect
import sys
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

# The methods that compiled code calls: the whole protocol, with the number of arguments after self.
PROTOCOL = {
    "score": 2,
    "sample": 3,
    "choose": 3,
    "choose_among": 4,
    "excess": 3,
    "excess_of_new_arm": 2,
    "phase": 1,
    "observe": 3,
    "belief": 1,
    "lead": 1,
    "opened": 0,
    "unopened": 0,
    "shuffle": 1,
    "full": 0,
    "draw": 1,
    "pull": 2,
    "room_for": 1,
}

# Modules whose functions numba brings its own versions of; their versions are part of the cache's name.
_KNOWN = ("math", "cmath", "numpy", "numba")


class Reach:
    """Everything that some functions, or the protocol's methods of some classes, read: as text, and what is in it."""

    def __init__(self, *roots: Any) -> None:
        self.parts: list[str] = []
        self.classes: list[type] = []
        self.functions: list[Any] = []  # plain Python ones, which numba must be told of
        self.modules: list[types.ModuleType] = []  # the user's, read as `module.name`
        self.portable = True  # False: it holds something that another process could not recognise
        self._seen: dict[Any, int] = {}
        self._alive: list[object] = []  # whose ids stand in `parts` or in `_seen`
        for root in roots:
            self._value(root)

    @property
    def digest(self) -> str:
        """A short name for all of it."""
        return hashlib.sha256("\n".join(self.parts).encode()).hexdigest()[:24]

    def _first_time(self, *things: object) -> bool:
        """Whether these are new; if not, a reference to where they were met is written."""
        key = tuple(map(id, things))
        if key in self._seen:
            self.parts.append(f"again {self._seen[key]}")
            return False
        self._seen[key] = len(self.parts)
        self._alive.extend(things)
        return True

    def _class(self, cls: type) -> None:
        if not self._first_time(cls):
            return
        self.classes.append(cls)
        if not _importable(cls):
            self._opaque(cls)
        self.parts.append(f"class {cls.__module__}.{cls.__qualname__} {getattr(cls, '_fields', ())}")
        for name in PROTOCOL:
            method = getattr(cls, name, None)
            if inspect.isfunction(method):
                self.parts.append(f"method {name}")
                self._function(method)

    def _function(self, function: types.FunctionType) -> None:
        if not self._first_time(function):
            return
        self.functions.append(function)
        self.parts.append(f"function {function.__qualname__}")
        names = self._code(function.__code__)
        self._value(function.__defaults__)
        self._value(tuple(sorted((function.__kwdefaults__ or {}).items())))
        self._values(cell.cell_contents for cell in function.__closure__ or ())
        for name in names:
            if name in function.__globals__:
                self.parts.append(f"global {name}")
                value = function.__globals__[name]
                if inspect.ismodule(value):
                    self._module(value, names)
                else:
                    self._value(value)

    def _module(self, module: types.ModuleType, names: tuple[str, ...]) -> None:
        """A module, used as `module.name`: what is read of a user's can only be one of the function's names."""
        self.parts.append(f"module {module.__name__}")
        if _known(module.__name__) or not self._first_time(module, names):
            return
        self.modules.append(module)
        for name in names:
            if hasattr(module, name):
                self.parts.append(f"attribute {name}")
                value = getattr(module, name)
                if inspect.ismodule(value):
                    self._module(value, names)
                else:
                    self._value(value)

    def _code(self, code: types.CodeType) -> tuple[str, ...]:
        """Write a function's code, nested ones included; the names it may look up."""
        self.parts.append(f"code {code.co_name} {code.co_varnames} {code.co_names} {code.co_code.hex()}")
        names = code.co_names
        self.parts.append(f"constants {len(code.co_consts)}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                names += self._code(constant)
            else:
                self._value(constant)
        return names

    def _values(self, values: Iterable[object]) -> None:
        values = list(values)
        self.parts.append(f"items {len(values)}")
        for value in values:
            self._value(value)

    def _value(self, value: Any) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.parts.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self.parts.append(f"array {value.dtype.descr} {value.shape} {value.tobytes().hex()}")
        elif isinstance(value, tuple):
            if type(value) is not tuple:
                self._class(type(value))
            self._values(value)
        elif type(value) is dict:  # compiled code reads none, but the interpreter's tables are code, too
            self.parts.append("dict")
            self._values(part for item in value.items() for part in item)
        elif isinstance(value, type) and issubclass(value, tuple):
            self._class(value)
        elif inspect.isfunction(getattr(value, "py_func", None)):
            # The user gave it to njit: it is compiled by itself, with constants and options of its own. Compiled code
            # gets a plain copy of what was given, so what it reads is followed like anything else.
            self.portable = False
            self._function(value.py_func)
        elif _known(getattr(value, "__module__", None)) or _builtin(value):
            self.parts.append(f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', repr(value))}")
        elif inspect.isfunction(value):
            self._function(value)
        else:
            self._opaque(value)

    def _opaque(self, value: object) -> None:
        self.portable = False
        self._alive.append(value)
        self.parts.append(f"object {id(value)}")


def _known(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] in _KNOWN


def _builtin(value: object) -> bool:
    name = getattr(value, "__name__", None)
    return isinstance(name, str) and getattr(builtins, name, None) is value


def _importable(cls: type) -> bool:
    """Whether another process that imports the class's module would find this very class."""
    if cls.__module__ == "__main__":
        return False
    found: object = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls
