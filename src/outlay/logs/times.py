"""When rows were logged: numbers, or dates as ISO 8601 writes them, as seconds."""

import math
import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outlay.errors import BadFile
from outlay.logs.cells import EMPTY

ArrowColumn = Any  # pyarrow has no types to name
_DATE = re.compile(r"\d{4}-\d\d-\d\d(\D|$)")


def times(column: ArrowColumn, what: str, first: int) -> NDArray[np.float64]:
    """The cells as numbers that rise with time, nan where empty; `first` is the number of the first row.

    Numbers stay as they are; dates become seconds since 1970, in UTC where they name no zone.

    >>> import pyarrow as pa
    >>> times(pa.array(["1970-01-02", "1970-01-01T00:01:00Z", ""]), "time of log.csv", 2)
    array([8.64e+04, 6.00e+01,      nan])
    >>> times(pa.array([3, 1, 2]), "time of log.csv", 2)
    array([3., 1., 2.])
    >>> times(pa.array(["2024-05-01", "May"]), "time of log.csv", 2)
    Traceback (most recent call last):
    outlay.errors.BadFile: the time of log.csv must be a number or a date like 2026-01-31 in every row; row 3 has 'May'
    """
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        stamps = column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64(), safe=False)
        return np.asarray(stamps.to_numpy(zero_copy_only=False) / 1e6, np.float64)
    try:
        values = column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    except pa.ArrowException:
        values = np.array([_seconds(cell, what, row) for row, cell in enumerate(column.to_pylist(), first)])
    return np.where(np.isinf(values), np.nan, values)


def dates(column: ArrowColumn) -> NDArray[np.float64]:
    """The cells that are dates, as seconds since 1970; nan for all others, so also for numbers.

    >>> import pyarrow as pa
    >>> dates(pa.array(["1970-01-02", "3600", "soon", None]))
    array([86400.,    nan,    nan,    nan])
    """
    import pyarrow as pa

    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return times(column, "", 0)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    found: NDArray[np.float64] = np.array([*map(_date, encoded.dictionary.to_pylist()), math.nan])[codes]
    return found


def _date(cell: object) -> float:
    """A cell with a date in it, such as 2026-01-31T12:00Z."""
    text = str(cell).strip()
    return _stamp(text) if _DATE.match(text) else math.nan


def _stamp(text: str) -> float:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _seconds(cell: object, what: str, row: int) -> float:
    """One cell, read with patience."""
    text = "" if cell is None else str(cell).strip()
    if text.lower() in EMPTY:
        return math.nan
    try:
        return float(text)
    except ValueError:
        pass
    if not math.isnan(found := _stamp(text)):
        return found
    said = repr(text if len(text) <= 40 else text[:39] + "…")
    wanted = f"a number or a date like {date(2026, 1, 31)}"
    raise BadFile(f"the {what} must be {wanted} in every row; row {row:,} has {said}")
