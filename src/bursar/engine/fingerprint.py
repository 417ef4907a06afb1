"""What code does a class reach? The answer decides what may be taken from a cache and what must be compiled anew.

Numba freezes whatever a compiled method reads: helper functions, constants, defaults, closures. So two compilations
are interchangeable only if all of that is equal. `Reach` walks it and writes it down.
"""

import builtins
import hashlib
import inspect
import sys
import types
from typing import Any

import numpy as np

# The methods that the compiled loop calls: the whole protocol, with the number of arguments after self.
PROTOCOL = {
    "score": 2, "sample": 3, "choose": 3, "observe": 3, "belief": 1, "full": 0, "draw": 1, "pull": 2,
}  # fmt: skip

# Modules whose functions numba brings its own versions of; their versions are part of the cache's name.
_KNOWN = ("math", "cmath", "numpy", "numba")


class Reach:
    """Everything that some functions, or the protocol's methods of some classes, read: as text, and what is in it."""

    def __init__(self, *roots: Any) -> None:
        self.parts: list[str] = []
        self.classes: list[type] = []
        self.functions: list[Any] = []  # plain Python ones, which numba must be told of
        self.portable = True  # False: it holds something that another process could not recognise
        self.kept_alive: list[object] = []  # whose ids stand in `parts`
        self._seen: set[int] = set()
        for root in roots:
            self._value(root)

    @property
    def digest(self) -> str:
        """A short name for all of it."""
        return hashlib.sha256("\n".join(self.parts).encode()).hexdigest()[:24]

    def _class(self, cls: type) -> None:
        if id(cls) in self._seen:
            return
        self._seen.add(id(cls))
        self.classes.append(cls)
        if _importable(cls):
            self.parts.append(f"class {cls.__module__}.{cls.__qualname__} {getattr(cls, '_fields', ())}")
        else:
            self._opaque(cls)
        for name in PROTOCOL:
            method = getattr(cls, name, None)
            if inspect.isfunction(method):
                self._function(method)

    def _function(self, function: types.FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        self.functions.append(function)
        names = self._code(function.__code__)
        self._value(function.__defaults__)
        self._value(tuple(sorted((function.__kwdefaults__ or {}).items())))
        for cell in function.__closure__ or ():
            self._value(cell.cell_contents)
        for name in names:
            if name in function.__globals__:
                self.parts.append(f"global {name}")
                value = function.__globals__[name]
                if inspect.ismodule(value) and not _known(value.__name__):
                    self._module(value, names)
                else:
                    self._value(value)

    def _module(self, module: types.ModuleType, names: list[str]) -> None:
        """A user's module, used as `module.name`: what is read of it can only be one of the function's names."""
        self.parts.append(f"module {module.__name__}")
        for name in names:
            if hasattr(module, name):
                self._value(getattr(module, name))

    def _code(self, code: types.CodeType) -> list[str]:
        self.parts.append(f"code {code.co_name} {code.co_varnames} {code.co_names} {code.co_code.hex()}")
        names = list(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                names += self._code(constant)
            else:
                self._value(constant)
        return names

    def _value(self, value: object) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.parts.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
            self.parts.append(f"array {value.dtype} {value.shape} {value.tobytes().hex()}")
        elif type(value) is tuple:
            for item in value:
                self._value(item)
        elif inspect.ismodule(value) and _known(value.__name__):
            self.parts.append(f"module {value.__name__}")
        elif isinstance(value, type) and issubclass(value, tuple):
            self._class(value)
        elif inspect.isfunction(getattr(value, "py_func", None)):  # the user gave it to njit: followed, not registered
            self.parts.append(f"njit {sorted(value.targetoptions.items())}")  # type: ignore[attr-defined]
            inner = Reach(value.py_func)  # type: ignore[attr-defined]
            self.parts += inner.parts
            self.portable &= inner.portable
        elif (
            _known(getattr(value, "__module__", None)) or getattr(builtins, getattr(value, "__name__", ""), 0) is value
        ):
            self.parts.append(f"{getattr(value, '__module__', '')}.{getattr(value, '__name__', repr(value))}")
        elif inspect.isfunction(value):
            self._function(value)
        else:
            self._opaque(value)

    def _opaque(self, value: object) -> None:
        self.portable = False
        self.kept_alive.append(value)
        self.parts.append(f"object {id(value)}")


def _known(module: object) -> bool:
    return isinstance(module, str) and module.split(".")[0] in _KNOWN


def _builtin(value: object) -> bool:
    return getattr(builtins, getattr(value, "__name__", ""), None) is value


def _importable(cls: type) -> bool:
    """Whether another process that imports the class's module would find this very class."""
    if cls.__module__ == "__main__":
        return False
    found: object = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is cls
