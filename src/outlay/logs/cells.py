"""Cells of a log as numbers and names, or one sentence that says which is neither."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outlay.errors import BadFile

ArrowColumn = Any  # pyarrow has no types to name

LARGEST = 1e100  # squares of larger numbers leave the range of floating point
LONGEST = 200  # characters of a name
_TRUTH = {"true": 1.0, "false": 0.0}
_CURRENCIES = frozenset("$€£¥")
EMPTY = ("", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>")


def numbers(column: ArrowColumn, what: str, first: int) -> NDArray[np.float64]:
    """The cells as numbers, nan where empty; `first` is the number of the first row.

    >>> import pyarrow as pa
    >>> numbers(pa.array(["1", " 2.5", "NA", "True"]), "cost of log.csv", 2)
    array([1. , 2.5, nan, 1. ])
    >>> numbers(pa.array(["1", "two"]), "cost of log.csv", 2)
    Traceback (most recent call last):
    outlay.errors.BadFile: the cost of log.csv must be a number in every row; row 3 has 'two'
    """
    import pyarrow as pa

    _check_kind(column, what, "numbers")
    try:
        found = column.cast(pa.float64())
    except pa.ArrowException:
        found = _patiently(column, what, first)
    values: NDArray[np.float64] = found.to_numpy(zero_copy_only=False).astype(np.float64)
    if bad := np.flatnonzero(np.abs(values) > LARGEST)[:1].tolist():
        said = f"row {first + bad[0]:,} has {values[bad[0]]:g}"
        raise BadFile(f"the {what} must be a finite number within ±1e100 in every row; {said}")
    return values


def names(column: ArrowColumn, what: str, first: int) -> tuple[list[str], NDArray[np.int64]]:
    """The different names, and for each row the index of its name; −1 where the cell is empty.

    >>> import pyarrow as pa
    >>> names(pa.array(["a", "b ", "", "a"]), "arm of log.csv", 2)
    (['a', 'b'], array([ 0,  1, -1,  0]))
    """
    import pyarrow as pa

    _check_kind(column, what, "names")
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    given = ["" if name is None or name != name else str(name).strip() for name in encoded.dictionary.to_pylist()]
    for index, name in enumerate(given):
        if len(name) > LONGEST or not name.isprintable():
            row = first + int(np.argmax(codes == index))
            said = f"has {name[:40]!r}" + ("…" if len(name) > 40 else "")
            raise BadFile(f"the {what} must be a name of at most {LONGEST} printable characters; row {row:,} {said}")
    unique = {name: index for index, name in enumerate(sorted(set(given) - {""}))}
    indices = np.array([unique.get(name, -1) for name in given] + [-1])
    return list(unique), indices[codes]


def marks(column: ArrowColumn) -> NDArray[np.float64]:
    """A number for each cell, equal where cells are equal (but for 1 chance in 2⁵²) and nan where they are empty.

    >>> import pyarrow as pa
    >>> one, other, again, none = marks(pa.array(["x", "y", "x", None])).tolist()
    >>> (one == again, one == other, none)
    (True, False, nan)
    """
    import pyarrow as pa
    from pandas.util import hash_array

    if not pa.types.is_dictionary(column.type) and not _is_known(column.type):
        return np.full(len(column), np.nan)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    given = ["" if cell is None or cell != cell else str(cell).strip() for cell in encoded.dictionary.to_pylist()]
    hashes = (hash_array(np.array(given, object), categorize=False) >> np.uint64(12)).astype(np.float64)
    hashes[[text.lower() in EMPTY for text in given]] = np.nan
    found: NDArray[np.float64] = np.append(hashes, np.nan)[codes]
    return found


def _check_kind(column: ArrowColumn, what: str, wanted: str) -> None:
    """Numbers, text and truth can be read as names or numbers; times, lists and bytes cannot."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not _is_known(kind):
        raise BadFile(f"the {what} must be {wanted}; the column is of the kind {kind}")


def _is_known(kind: Any) -> bool:
    import pyarrow as pa

    known = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null
    texts = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(is_kind(kind) for is_kind in (*known, *texts))


def _patiently(column: ArrowColumn, what: str, first: int) -> ArrowColumn:
    """Cell by cell: spaces around a number, True, False and the usual words for nothing are allowed."""
    import pyarrow as pa

    values: list[float | None] = []
    for row, cell in enumerate(column.to_pylist(), first):
        text = "" if cell is None else str(cell).strip()
        try:
            values.append(None if text.lower() in EMPTY else _number(text))
        except ValueError:
            said = repr(text if len(text) <= 40 else text[:39] + "…")
            raise BadFile(f"the {what} must be a number in every row; row {row:,} has {said}{_hint(text)}") from None
    return pa.array(values, pa.float64())


def _number(text: str) -> float:
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    if "_" in text:
        raise ValueError(text)
    return math.inf if (number := float(text)) != number else number


def _hint(text: str) -> str:
    """How to write what people, but not programs, read as a number."""
    if not set(text) <= {*_CURRENCIES, *"0123456789.,+- "}:
        return ""
    if not _CURRENCIES.isdisjoint(text):
        return ": leave out the currency sign"
    return ": write decimals with a point, and thousands without a comma" if "," in text else ""
