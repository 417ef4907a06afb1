"""A log on disk or in memory, a stretch of rows at a time: arm, cost and reward, checked.

CSV (also gzipped; separated by commas, semicolons, tabs or bars) and Parquet are told apart by their first bytes.
Numbers are read as text and converted here, so that a bad one is named with its row.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.advice.cells import names, numbers
from bursar.errors import BadFile, BadParameter
from bursar.files import place, reading

BLOCK = 2 << 20  # bytes of CSV that are parsed at a time; Arrow reads 32 of them ahead
BATCH = 1 << 17  # rows of Parquet or of a frame
_SEPARATORS = ",;\t|"
_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"


class Columns(NamedTuple):
    """The names of the three columns in the log."""

    arm: str = "arm"
    cost: str = "cost"
    reward: str = "reward"


class Stretch(NamedTuple):
    """Some rows of a log, in its order; those with an empty cell are only counted."""

    names: list[str]  # of arms; some may have no row here
    codes: NDArray[np.int64]  # of each row, the place of its arm in `names`
    costs: NDArray[np.float64]
    rewards: NDArray[np.float64]
    left_out: int


def name_of(source: Any) -> str:
    """What to call the log in a sentence."""
    return str(source) if isinstance(source, (str, Path)) else "the frame"


def stretches(source: Any, columns: Columns) -> Iterator[Stretch]:
    """The rows of a CSV or Parquet file, or of a frame (pandas or Arrow); BadFile in one sentence.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"arm": ["a", "b"], "cost": [1, 2], "reward": [0.5, None]})
    >>> [(rows.names, rows.costs.tolist(), rows.left_out) for rows in stretches(frame, Columns())]
    [(['a', 'b'], [1.0], 1)]
    """
    where = name_of(source)
    if (hasattr(source, "iloc") and hasattr(source, "columns")) or hasattr(source, "to_batches"):
        with _explained(where):
            yield from _converted(_of_frame(source, columns), columns, where, header=0)
        return
    if not isinstance(source, (str, Path)):
        raise BadParameter("advise", "log", "a path, a pandas frame or an Arrow table", source)
    path = place("advise", source)
    with reading(path):
        if path.is_dir():
            raise BadFile(f"{path} is a folder; a log is one CSV or Parquet file")
        if not path.exists():
            raise BadFile(f"there is no file {path}")
        with path.open("rb") as file:
            start = file.read(4)
    if not start:
        raise BadFile(f"{path} is empty")
    with reading(path), _explained(where):
        batches = _of_parquet(path, columns) if start == _PARQUET else _of_csv(path, start[:2] == _GZIP, columns)
        yield from _converted(batches, columns, where, header=int(start != _PARQUET))


def _converted(batches: Iterator[Any], columns: Columns, where: str, header: int) -> Iterator[Stretch]:
    """Batches of the three columns as numbers and names; `header` is 1 where it counts as row 1."""
    first, empty = 1 + header, True
    for batch in batches:
        rows = batch.num_rows
        arms, codes = names(batch.column(columns.arm), f"{columns.arm} of {where}", first)
        costs = numbers(batch.column(columns.cost), f"{columns.cost} of {where}", first)
        rewards = numbers(batch.column(columns.reward), f"{columns.reward} of {where}", first)
        good = (codes >= 0) & ~np.isnan(costs) & ~np.isnan(rewards)
        first, empty = first + rows, empty and rows == 0
        yield Stretch(arms, codes[good], costs[good], rewards[good], rows - int(good.sum()))
    if empty:
        raise BadFile(f"{where} has no rows")


def _of_csv(path: Path, zipped: bool, columns: Columns) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    def opened() -> Any:
        return pa.input_stream(str(path), compression="gzip" if zipped else None)

    with opened() as stream:
        head = stream.read(1 << 16)
    try:
        header = (
            head.decode("utf-8-sig", errors="strict" if len(head) < 1 << 16 else "ignore").lstrip().partition("\n")[0]
        )
    except UnicodeDecodeError:
        raise BadFile(f"{path} is neither CSV (text in UTF-8) nor Parquet") from None
    if "\0" in header or not header:
        raise BadFile(f"{path} is neither CSV (text in UTF-8) nor Parquet")
    parse = csv.ParseOptions(delimiter=max(_SEPARATORS, key=header.count), newlines_in_values=True)
    read = csv.ReadOptions(block_size=BLOCK, use_threads=False)  # with threads it cannot say in which row it failed
    with opened() as stream:
        present = csv.open_csv(stream, read, parse).schema.names
    found = _found(columns, present, str(path))
    text = {found.arm: pa.dictionary(pa.int32(), pa.string()), found.cost: pa.string(), found.reward: pa.string()}
    convert = csv.ConvertOptions(include_columns=list(found), column_types=text)
    with opened() as stream:
        for batch in csv.open_csv(stream, read, parse, convert):
            yield batch.rename_columns(list(columns))


def _of_parquet(path: Path, columns: Columns) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
        found = _found(columns, file.schema_arrow.names, str(path))
        for batch in file.iter_batches(BATCH, columns=list(found)):
            yield batch.select(list(found)).rename_columns(list(columns))


def _of_frame(frame: Any, columns: Columns) -> Iterator[Any]:
    import pyarrow as pa

    present = frame.column_names if hasattr(frame, "column_names") else list(map(str, frame.columns))
    found = _found(columns, present, "the frame")
    if hasattr(frame, "to_batches"):
        table = frame.select(list(found))
    else:
        table = pa.table({name: _array(frame.iloc[:, present.index(name)]) for name in found})
    yield from table.rename_columns(list(columns)).to_batches(BATCH)


def _array(series: Any) -> Any:
    """A column of a pandas frame; one of mixed kinds as text."""
    import pyarrow as pa

    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, ValueError):
        return pa.array([None if value != value else str(value) for value in series])


def _found(columns: Columns, present: list[str], where: str) -> Columns:
    """The columns as the log spells them: spaces around a name and capitals do not matter."""
    found: dict[str, list[str]] = {}
    for role, name in columns._asdict().items():
        if not isinstance(name, str):
            raise BadParameter("advise", role, "the name of a column", name)
        alike = [there for there in present if there.strip().lower() == name.strip().lower()]
        found[role] = [there for there in alike if there == name] or alike
    listed = ", ".join(present[:20]) + (f" and {len(present) - 20} more" if len(present) > 20 else "")
    if missing := {role: getattr(columns, role) for role, alike in found.items() if not alike}:
        wanted = " and no ".join(f"{name!r} (--{role})" for role, name in missing.items())
        raise BadFile(f"{where} has no column {wanted}; it has {listed}")
    for role, alike in found.items():
        if len(alike) > 1:
            raise BadFile(f"{where} has {len(alike)} columns for the {role}, {', '.join(alike)}; it has {listed}")
    chosen = Columns(*(alike[0] for alike in found.values()))
    if len(set(chosen)) < len(chosen):
        raise BadParameter("advise", "arm, cost and reward", "three different columns", ", ".join(chosen))
    return chosen


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """What Arrow refuses, as BadFile."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        reason = " ".join(str(error).split()).removeprefix("CSV parse error: ").replace("Row #", "row ")
        raise BadFile(f"{where} cannot be read: {reason[:200]}") from None
