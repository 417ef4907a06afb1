"""Policies and laws as the compiler needs them: tuples whose fields have one type each, whatever the user passed."""

import functools
import typing
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from outlay.compiler.untyped import FieldTuple
from outlay.parameters import is_record

Shape = object  # classes, dtypes and layouts, in tuples as the value is


def coerced(record: FieldTuple) -> FieldTuple:
    """The same record with each field as its annotation says: 1 becomes 1.0 for a float, a list an array.

    Numba compiles anew for an int where it saw a float, and for a strided or read-only array: so that compilation
    depends on the classes alone, all of that is settled here. A value that its annotation would change stays as it is.
    """
    cls: Any = type(record)
    if not record:
        return tuple.__new__(_padded(cls), (0.0,))
    hints = _hints(cls)
    return tuple.__new__(
        cls, (_coerced(value, hints.get(name)) for name, value in zip(record._fields, record, strict=True))
    )


def shape(value: FieldTuple) -> Shape:
    """Equal for values that one compilation serves: of one class, with fields of equal types."""
    if is_record(value):
        return type(value), tuple(map(shape, value))
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return value.dtype, value.ndim, layout, value.flags.writeable, value.flags.aligned
    if type(value) is tuple:
        return tuple(map(shape, value))
    return type(value)


def described(shape: Shape) -> str:
    """A shape as text that another process would write in the same way."""
    if isinstance(shape, tuple):
        return f"({','.join(map(described, shape))})"
    if isinstance(shape, np.dtype):
        return repr(shape.descr)
    return f"{shape.__module__}.{shape.__qualname__}" if isinstance(shape, type) else repr(shape)


def _coerced(value: FieldTuple, hint: object) -> object:
    if is_record(value):
        return coerced(value)
    if hint in (float, int, bool) and isinstance(value, (bool, int, float, np.generic)):
        number = hint(value)
        return number if number == value or value != value else value
    if isinstance(value, np.ndarray) or (typing.get_origin(hint) or hint) is np.ndarray:
        given = np.asarray(value)
        array = np.array(given, dtype=_dtype(hint, given.dtype), order="C")
        return array if np.array_equal(array, given, equal_nan=given.dtype.kind in "fc") else np.array(given, order="C")
    return value


def _dtype(hint: object, default: DTypeLike) -> DTypeLike:
    """The dtype an NDArray[...] annotation names; float64 for a bare array; the array's own without an annotation."""
    if hint is np.ndarray:
        return np.float64
    for argument in typing.get_args(hint):
        inner = typing.get_args(argument)
        if typing.get_origin(argument) is np.dtype and inner and isinstance(inner[0], type):
            return inner[0]
    return default


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
