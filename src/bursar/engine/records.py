"""Policies and laws as the compiler needs them: tuples whose fields have one type each, whatever the user passed."""

import functools
import typing
from typing import Any

import numpy as np


def is_record(value: object) -> bool:
    """Whether it is an instance of a NamedTuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def coerced(record: Any) -> Any:
    """The same record with each field as its annotation says: 1 becomes 1.0 for a float, a list an array.

    Numba compiles anew for an int where it saw a float, and for a strided or read-only array: so that compilation
    depends on the classes alone, all of that is settled here.
    """
    cls: Any = type(record)
    if not record:
        return tuple.__new__(_padded(cls), (0.0,))
    hints = _hints(cls)
    return tuple.__new__(
        type(record), (_coerced(value, hints.get(name)) for name, value in zip(record._fields, record, strict=True))
    )


def shape(record: Any) -> str:
    """Equal for records of one class whose fields have equal types: what one compilation serves."""
    cls = type(record)
    fields = ",".join(shape(value) if is_record(value) else _kind(value) for value in record)
    return f"{cls.__module__}.{cls.__qualname__}#{id(cls)}({fields})"


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags = value.flags
        return f"{value.dtype.str}[{value.ndim}]{'C' if flags.c_contiguous else 'A'}{'' if flags.writeable else 'r'}"
    return type(value).__name__


def _coerced(value: Any, hint: Any) -> Any:
    if is_record(value):
        return coerced(value)
    if hint in (float, int, bool) and isinstance(value, (bool, int, float, np.generic)):
        number = hint(value)
        return number if number == value or value != value else value
    if isinstance(value, np.ndarray) or (typing.get_origin(hint) or hint) is np.ndarray:
        wanted = _dtype(hint)
        return np.array(value, dtype=wanted if wanted is not None else np.asarray(value).dtype, order="C")
    return value


def _dtype(hint: Any) -> Any:
    """The dtype an NDArray[...] annotation names; float64 for a bare array; None without an annotation."""
    if hint is np.ndarray:
        return np.float64
    for argument in typing.get_args(hint):
        inner = typing.get_args(argument)
        if typing.get_origin(argument) is np.dtype and inner and isinstance(inner[0], type):
            return inner[0]
    return None


@functools.cache
def _padded(cls: type) -> type:
    """The same class with a field: numba has no empty tuples."""
    return type(cls.__name__, (cls,), {"__slots__": (), "_fields": ("padding",)})


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):  # an annotation that cannot be evaluated here says nothing about the type
        return dict(getattr(cls, "__annotations__", {}))
