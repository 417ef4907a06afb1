"""The columns of a log as Arrow's batches, named by their roles, each with the part of the log that is read by then.

Numbers come as the file has them, from CSV as text, so that a bad one can be named with its row.
"""

import csv
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from outlay.errors import BadFile
from outlay.logs.columns import Columns, More

Batches = Iterator[tuple[Any, float]]  # pyarrow has no types to name


@runtime_checkable
class PandasFrame(Protocol):
    """What is used of a pandas frame."""

    @property
    def columns(self) -> Iterable[object]:
        """The names of the columns."""

    @property
    def iloc(self) -> Any:
        """Columns by their index."""


@runtime_checkable
class ArrowTable(Protocol):
    """What is used of an Arrow table."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""

    def select(self, columns: list[str], /) -> Any:
        """Some of the columns."""

    def to_batches(self) -> Any:
        """The rows, some at a time."""


Source = str | Path | PandasFrame | ArrowTable

BLOCK = 2 << 20  # bytes of CSV that are parsed at a time; Arrow reads 32 of them ahead
BATCH = 1 << 17  # rows of Parquet or of a frame
_HEAD = 1 << 16
_SEPARATORS = ",;\t|"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # by the first bytes
FRAME = "the frame"  # in sentences
_NO_LOG = "is neither CSV (text in UTF-8; as it is, or packed by gzip, bzip2 or zstd) nor Parquet"


def roles_of(columns: Columns, more: More, present: list[str], where: str, owner: str) -> dict[str, str]:
    """The role of each column that is read, and how the log spells it."""
    found = columns.found(present, where, owner)
    return found._asdict() | more.found(found, present, where, owner)


def unpacked(file: Any, start: bytes) -> Any:
    """The file, or what is packed in it; `start` are its first bytes."""
    import pyarrow as pa

    packing = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)
    return file if packing is None else pa.CompressedInputStream(file, packing)


def csv_batches(path: Path, start: bytes, columns: Columns, more: More, owner: str) -> Batches:
    """A CSV file; `start` are its first bytes."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    with pa.OSFile(os.fsencode(path)) as file:
        head = unpacked(file, start).read(_HEAD)
    parse = arrow.ParseOptions(delimiter=_separator(path, head, columns), newlines_in_values=True)
    read = arrow.ReadOptions(block_size=BLOCK, use_threads=False)  # with threads it cannot say in which row it failed
    with pa.OSFile(os.fsencode(path)) as file:
        present = arrow.open_csv(unpacked(file, start), read, parse).schema.names
    found = roles_of(columns, more, present, str(path), owner)
    coded = pa.dictionary(pa.int32(), pa.string())
    text = {name: pa.string() if role in ("cost", "reward", "time") else coded for role, name in found.items()}
    convert = arrow.ConvertOptions(include_columns=list(found.values()), column_types=text)
    with pa.OSFile(os.fsencode(path)) as file:
        for count, batch in enumerate(arrow.open_csv(unpacked(file, start), read, parse, convert), 1):
            yield batch.rename_columns(list(found)), min(file.tell(), count * BLOCK) / file.size()


def parquet_batches(path: Path, columns: Columns, more: More, owner: str) -> Batches:
    """A Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.OSFile(os.fsencode(path)) as source, pq.ParquetFile(source, buffer_size=1 << 20, pre_buffer=False) as file:
        found, rows = roles_of(columns, more, file.schema_arrow.names, str(path), owner), 0
        for batch in file.iter_batches(BATCH, columns=list(found.values())):
            rows += batch.num_rows
            yield batch.select(list(found.values())).rename_columns(list(found)), rows / file.metadata.num_rows


def frame_batches(frame: PandasFrame | ArrowTable, columns: Columns, more: More, owner: str) -> Batches:
    """A pandas frame or an Arrow table."""
    import pyarrow as pa

    present = list(map(str, frame.columns)) if isinstance(frame, PandasFrame) else frame.column_names
    found, rows = roles_of(columns, more, present, FRAME, owner), 0
    if isinstance(frame, PandasFrame):
        table = pa.table({role: _array(frame.iloc[:, present.index(name)]) for role, name in found.items()})
    else:
        table = frame.select(list(found.values())).rename_columns(list(found))
    for batch in table.to_batches(BATCH):
        rows += batch.num_rows
        yield batch, rows / table.num_rows


def _separator(path: Path, head: bytes, columns: Columns) -> str:
    """The separator that makes the three columns out of the header, or else the most frequent one."""
    try:
        text = head.decode("utf-8-sig", errors="strict" if len(head) < _HEAD else "ignore")
    except UnicodeDecodeError:
        raise BadFile(f"{path} {_NO_LOG}") from None
    header = re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]
    if "\0" in header or not header:
        raise BadFile(f"{path} {_NO_LOG}")
    often = sorted(_SEPARATORS, key=header.count, reverse=True)
    wanted = {str(name).strip().lower() for name in columns}
    return next((one for one in often if wanted <= _cells(header.lower(), one)), often[0])


def _cells(line: str, separator: str) -> set[str]:
    return {cell.strip() for cell in next(csv.reader([line], delimiter=separator))}


def _array(series: Any) -> Any:
    """A column of a pandas frame; a column of mixed types as text."""
    import pyarrow as pa

    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, ValueError, OverflowError):
        return pa.array([None if empty else str(value) for value, empty in zip(series, series.isna(), strict=True)])
