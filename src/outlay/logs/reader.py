"""A log, one stretch of rows at a time, checked; CSV, JSON lines and Parquet are told apart by their first bytes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.errors import BadFile, BadParameter
from outlay.extras import require
from outlay.files import checked_path, reading
from outlay.logs.cells import marks, names, numbers
from outlay.logs.columns import OTHER, Columns, More, sounds_like_time
from outlay.logs.json_lines import json_batches, looks_like_json
from outlay.logs.sources import (
    BLOCK,
    FRAME,
    ArrowTable,
    Batches,
    PandasFrame,
    csv_batches,
    frame_batches,
    parquet_batches,
)
from outlay.logs.times import dates, times

_PARQUET = b"PAR1"
_NO_MORE: Mapping[str, NDArray[np.float64]] = {}
MOST_MARKED = 1_000_000  # rows, up to which columns that nobody asked for are looked at


class Stretch(NamedTuple):
    """Some rows of a log, in its order, without those that have an empty cell."""

    names: list[str]  # of arms; some may have no row here
    codes: NDArray[np.int64]  # of each row, the index of its arm in `names`
    costs: NDArray[np.float64]
    rewards: NDArray[np.float64]
    left_out: NDArray[np.int64]  # the numbers of the rows that have an empty cell; a header is row 1
    done: float = 1.0  # the part of the log that has been read so far
    times: NDArray[np.float64] | None = None  # where a column of times is wanted
    dates: Mapping[str, NDArray[np.float64]] = _NO_MORE  # of columns that nobody asked for; nan where a cell is no date
    marks: Mapping[str, NDArray[np.float64]] = _NO_MORE  # equal where cells are equal, nan where empty; by column


def name_of(source: object) -> str:
    """What to call the log in a sentence."""
    return str(source).encode(errors="replace").decode() if isinstance(source, (str, Path)) else FRAME


def stretches(source: object, columns: Columns, owner: str, more: More | None = None) -> Iterator[Stretch]:
    """The rows of a file (CSV, JSON lines, Parquet) or of a frame (pandas, Arrow), for `owner`; BadFile in a sentence.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"arm": ["a", "b"], "cost": [1, 2], "reward": [0.5, None]})
    >>> [(rows.names, rows.costs.tolist(), rows.left_out) for rows in stretches(frame, Columns(), "advise")]
    [(['a', 'b'], [1.0], array([2]))]
    """
    where, more = name_of(source), more or More()
    if isinstance(source, (PandasFrame, ArrowTable)):
        with _explained(where):
            yield from _converted(frame_batches(source, columns, more, owner), columns, where, first=1)
        return
    if not isinstance(source, (str, Path)) or source == "":
        raise BadParameter(owner, "log", "the path of a file, a pandas frame or an Arrow table", source)
    path = checked_path(owner, source)
    with reading(path), _explained(where):
        start = _start(path)
        if start == _PARQUET:
            yield from _converted(parquet_batches(path, columns, more, owner), columns, where, first=1)
        elif looks_like_json(path, start):
            yield from _converted(json_batches(path, start, columns, more, owner), columns, where, first=1)
        else:
            yield from _converted(csv_batches(path, start, columns, more, owner), columns, where, first=2)


def _start(path: Path) -> bytes:
    """The first bytes of a file."""
    if path.is_dir():
        raise BadFile(f"{path} is a folder; a log is one CSV, JSON lines or Parquet file")
    if not path.exists():
        raise BadFile(f"there is no file {path}")
    if not path.is_file():
        raise BadFile(f"{path} is not an ordinary file, which a log must be: it is read more than once")
    with path.open("rb") as file:
        start = file.read(len(_PARQUET))
    if not start:
        raise BadFile(f"{path} is empty")
    return start


def _converted(batches: Batches, columns: Columns, where: str, first: int) -> Iterator[Stretch]:
    """Batches of columns, named by their roles, as numbers and names; `first` is the number of the first row."""
    empty = True
    for batch, done in batches:
        arms, codes = names(batch.column("arm"), f"{columns.arm} of {where}", first)
        costs = numbers(batch.column("cost"), f"{columns.cost} of {where}", first)
        rewards = numbers(batch.column("reward"), f"{columns.reward} of {where}", first)
        good = (codes >= 0) & ~np.isnan(costs) & ~np.isnan(rewards)
        when = None
        if "time" in batch.schema.names:
            when = times(batch.column("time"), f"time of {where}", first)
            good &= ~np.isnan(when)
            when = when[good]
        found = {
            name: marks(batch.column(name))[good]
            for name in batch.schema.names
            if name == "instance" or (name.startswith(OTHER) and first < MOST_MARKED)
        }
        timely = [] if when is not None else filter(_timely, batch.schema.names)
        maybe = {name.removeprefix(OTHER): dates(batch.column(name))[good] for name in timely}
        left_out = first + np.flatnonzero(~good)
        yield Stretch(arms, codes[good], costs[good], rewards[good], left_out, done, when, maybe, found)
        first, empty = first + len(good), empty and not len(good)
    if empty:
        raise BadFile(f"{where} has no rows")


def _timely(name: str) -> bool:
    return name.startswith(OTHER) and sounds_like_time(name.removeprefix(OTHER))


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """What Arrow refuses, as BadFile."""
    require("reading a log", "pyarrow")
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).removeprefix("CSV parse error: ").replace("Row #", "row ")
        if reason.startswith("Empty CSV file"):
            reason = "it has a header and no rows, or a quote in it is not closed"
        if reason.startswith("straddling object"):
            reason = f"a row is longer than {BLOCK >> 20} MB, or a quote is not closed"
        raise BadFile(f"{where} cannot be read: {reason[:200]}") from None
