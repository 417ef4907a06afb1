"""Cells of a log as numbers and names, or one sentence that says which is neither."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.errors import BadFile

LARGEST = 1e100  # squares of larger numbers leave the range of floating point
LONGEST = 200  # characters of a name
_TRUTH = {"true": 1.0, "false": 0.0}
_EMPTY = ("", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>")


def numbers(column: Any, what: str, first: int) -> NDArray[np.float64]:
    """The cells as numbers, nan where empty; `first` is the number of the first row.

    >>> import pyarrow as pa
    >>> numbers(pa.array(["1", " 2.5", "NA", "True"]), "cost of log.csv", 2)
    array([1. , 2.5, nan, 1. ])
    >>> numbers(pa.array(["1", "two"]), "cost of log.csv", 2)
    Traceback (most recent call last):
    bursar.errors.BadFile: the cost of log.csv must be a number in every row; row 3 has 'two'
    """
    import pyarrow as pa

    try:
        found = column.cast(pa.float64())
    except pa.ArrowException:
        found = _patiently(column, what, first)
    values: NDArray[np.float64] = found.to_numpy(zero_copy_only=False).astype(np.float64)
    if bad := np.flatnonzero(np.abs(values) > LARGEST)[:1].tolist():
        said = f"row {first + bad[0]:,} has {values[bad[0]]:g}"
        raise BadFile(f"the {what} must be a finite number within ±1e100 in every row; {said}")
    return values


def names(column: Any, what: str, first: int) -> tuple[list[str], NDArray[np.int64]]:
    """The different names, and of each row the place of its own; −1 where the cell is empty.

    >>> import pyarrow as pa
    >>> names(pa.array(["a", "b ", "", "a"]), "arm of log.csv", 2)
    (['a', 'b'], array([ 0,  1, -1,  0]))
    """
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    given = ["" if name is None else str(name).strip() for name in encoded.dictionary.to_pylist()]
    for place, name in enumerate(given):
        if len(name) > LONGEST or not name.isprintable():
            row = first + int(np.argmax(codes == place))
            said = f"has {name[:40]!r}" + ("…" if len(name) > 40 else "")
            raise BadFile(f"the {what} must be a name of at most {LONGEST} printable characters; row {row:,} {said}")
    unique = {name: place for place, name in enumerate(sorted(set(given) - {""}))}
    places = np.array([unique.get(name, -1) for name in given] + [-1])
    return list(unique), places[codes]


def _patiently(column: Any, what: str, first: int) -> Any:
    """Cell by cell: spaces around a number, True, False and the usual words for nothing are allowed."""
    import pyarrow as pa

    values: list[float | None] = []
    for row, cell in enumerate(column.to_pylist(), first):
        text = "" if cell is None else str(cell).strip()
        try:
            values.append(None if text.lower() in _EMPTY else _number(text))
        except ValueError:
            said = repr(text if len(text) <= 40 else text[:39] + "…")
            raise BadFile(f"the {what} must be a number in every row; row {row:,} has {said}") from None
    return pa.array(values, pa.float64())


def _number(text: str) -> float:
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if "_" in text:
        raise ValueError(text)
    return math.inf if (number := float(text)) != number else number
