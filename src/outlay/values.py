"""Values that hold arrays: when two are equal, and how they are hashed."""

import numpy as np


def equal(one: object, other: object) -> bool:
    """Equality by value that understands arrays, also inside tuples, lists and dicts; tuples differ where classes do.

    >>> equal((1, [np.array([1.0, 2.0])]), (1, [np.array([1.0, 2.0])]))
    True
    """
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
