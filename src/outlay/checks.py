"""Checks of what a user passed: the value as the formulas read it, or one sentence."""

import math
import operator
import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from outlay.errors import BadFile, BadParameter

Vector = NDArray[np.float64]
_OVERRIDES = frozenset("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")  # letters that turn what follows

LIMITS = {  # that a number can have, with the words for them
    "above": (operator.gt, ">"),
    "at_least": (operator.ge, "≥"),
    "below": (operator.lt, "<"),
    "at_most": (operator.le, "≤"),
}


def real(owner: str, name: str, value: object, **limits: float) -> float:
    """A finite number within `limits` (above, at_least, below, at_most).

    >>> real("UCBB1", "alpha", 3, above=2)
    3.0
    """
    try:
        number = float(value) if _is_number(value) else math.nan  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise BadParameter(owner, name, "a finite number" + _words(limits), value)
    if not _within(number, limits):
        raise BadParameter(owner, name, _words(limits).lstrip(), value)
    return number


def whole(owner: str, name: str, value: object, **limits: float) -> int:
    """An integer within `limits`; 3.0 is one, 3.5, "3" and True are not."""
    allowed = "a whole number" + _words(limits)
    try:
        number = real(owner, name, value)
    except BadParameter:
        raise BadParameter(owner, name, allowed, value) from None
    if number != int(number) or not _within(number, limits):
        raise BadParameter(owner, name, allowed, value)
    return int(value)  # type: ignore[call-overload, no-any-return]


def word(owner: str, name: str, value: object, words: Sequence[str]) -> str:
    """One of the words that are allowed."""
    if not isinstance(value, str) or value not in words:
        raise BadParameter(owner, name, f"one of {', '.join(words)}", value)
    return words[words.index(value)]  # a plain one, whatever kind of string came


def line(owner: str, name: str, value: object) -> str:
    r"""Text to be shown on one line: a label, a title.

    >>> line("write_report", "title", "two\nlines")
    Traceback (most recent call last):
    outlay.errors.BadParameter: title of write_report must be a string of one line, not empty; got 'two\nlines'
    """
    if isinstance(value, str) and value.strip():
        kinds = set(map(unicodedata.category, value))  # controls, halves of letters and ends of lines break one
        if kinds.isdisjoint(("Cc", "Cs", "Zl", "Zp")) and _OVERRIDES.isdisjoint(value):
            return value
    raise BadParameter(owner, name, "a string of one line, not empty", value)


def vector(owner: str, name: str, values: ArrayLike, **limits: float) -> Vector:
    """One number or a sequence of them, as a read-only 1-D array; every one finite and within `limits`.

    >>> vector("UCBB1", "var_cost", [0.1, 0.2], at_least=0)
    array([0.1, 0.2])
    """
    allowed = "a number or a sequence of finite numbers" + _words(limits)
    try:
        given = np.asarray(values)
        if given.dtype.kind == "O":  # whole numbers beyond 64 bits, fractions, or no numbers at all
            given = np.array([real(owner, name, value) for value in given.flat]).reshape(given.shape)
    except ValueError:
        raise BadParameter(owner, name, allowed, values) from None
    if given.dtype.kind not in "iuf" or isinstance(values, np.ma.MaskedArray):
        raise BadParameter(owner, name, allowed, values)
    array = np.array(given, dtype=np.float64, ndmin=1) + 0.0  # a copy of ours, without -0.0: equal arrays hash alike
    if array.ndim != 1 or array.size == 0:
        raise BadParameter(owner, name, f"{allowed}, in one dimension and not empty", values)
    good = np.isfinite(array)
    for key, limit in limits.items():
        good &= LIMITS[key][0](array, limit)
    if not good.all():
        first = int(np.argmin(good))
        where = f" at position {first}" if array.size > 1 else ""
        raise BadParameter(owner, name + where, "a finite number" + _words(limits), float(array[first]))
    array.setflags(write=False)
    return array


def _within(number: float, limits: dict[str, float]) -> bool:
    return all(LIMITS[key][0](number, limit) for key, limit in limits.items())


def _words(limits: dict[str, float]) -> str:
    words = " and ".join(f"{LIMITS[key][1]} {limit:g}" for key, limit in limits.items())
    return f" {words}" if words else ""


def _is_number(value: object) -> bool:
    """Whether it is one real number: `float` also reads text, bytes, truth values and masked ones."""
    if type(value) in (float, int):
        return True
    if isinstance(value, (bool, np.ma.MaskedArray)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        return False
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    return kind in ("i", "u", "f") and getattr(value, "ndim", 0) == 0


def checked_path(owner: str, value: object) -> Path:
    """The path that the user passed to `owner`."""
    try:
        path = Path(value)  # type: ignore[arg-type]
        good = b"\0" not in os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        good = False
    if not good:
        raise BadParameter(owner, "path", "a path, a string or a pathlib.Path", value)
    return path


@contextmanager
def _explained(doing: str, path: Path) -> Iterator[None]:
    """Turn what the system refuses while the file is read or written into BadFile."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"cannot {doing} {path}: {error.strerror or error}") from None


reading, writing = partial(_explained, "read"), partial(_explained, "write")


def check_writable(path: Path) -> None:
    """Raise BadFile where a file cannot be written, as far as can be told without writing."""
    with writing(path):
        exists = path.exists()
        if path.is_dir():
            raise BadFile(f"cannot write {path}: it is a folder")
        if exists and not path.is_file():
            raise BadFile(f"cannot write {path}: it is not an ordinary file")
        if not path.parent.is_dir():
            raise BadFile(f"cannot write {path}: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK | os.X_OK) or (exists and not os.access(path, os.W_OK)):
            raise BadFile(f"cannot write {path}: permission denied")


def check_folder(folder: Path) -> None:
    """Raise BadFile where something that is not a folder is in the way."""
    with writing(folder):
        for path in (folder, *folder.parents):
            if path.is_dir():
                return
            if path.exists():
                what = "it is a file" if path == folder else f"Not a directory: {path}"
                raise BadFile(f"cannot write {folder}: {what}")


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make the folder and those above it; where the work fails and leaves them empty, they are removed again."""
    check_folder(folder)
    with writing(folder):
        new = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty: what is there is kept
            for path in new:
                path.rmdir()
        raise
