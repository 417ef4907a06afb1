"""Compile a plain function the way the engine does, without the engine: helpers are replaced by compiled copies."""

import inspect
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit


@cache
def compiled(function: Callable[..., Any]) -> Any:
    """A compiled copy of `function` and of every plain outlay function it calls."""
    names = set(function.__code__.co_names)
    helpers = {
        name: compiled(value)
        for name, value in function.__globals__.items()
        if name in names and inspect.isfunction(value) and value.__module__.startswith("outlay.")
    }
    space = {**function.__globals__, **helpers}
    copy = types.FunctionType(function.__code__, space, function.__name__, function.__defaults__)
    return njit(error_model="numpy")(copy)
