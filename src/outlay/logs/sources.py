"""The three columns of a log as batches of Arrow's, each with the part of the log that is read by then.

Numbers come as the file has them, from CSV as text: so a bad one can be named with its row.
"""

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from outlay.errors import BadFile
from outlay.logs.columns import Columns

Batches = Iterator[tuple[Any, float]]

BLOCK = 2 << 20  # bytes of CSV that are parsed at a time; Arrow reads 32 of them ahead
BATCH = 1 << 17  # rows of Parquet or of a frame
_HEAD = 1 << 16
_SEPARATORS = ",;\t|"
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # by the first bytes
FRAME = "the frame"  # in sentences
_NO_LOG = "is neither CSV (text in UTF-8; as it is, or packed by gzip, bzip2 or zstd) nor Parquet"


def of_csv(path: Path, start: bytes, columns: Columns, owner: str) -> Batches:
    """From text; `start` are the first bytes of the file."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    packing = next((name for magic, name in _PACKED.items() if start.startswith(magic)), None)

    def unpacked(file: Any) -> Any:
        return file if packing is None else pa.CompressedInputStream(file, packing)

    with pa.OSFile(os.fsencode(path)) as file:
        head = unpacked(file).read(_HEAD)
    parse = arrow.ParseOptions(delimiter=_separator(path, head, columns), newlines_in_values=True)
    read = arrow.ReadOptions(block_size=BLOCK, use_threads=False)  # with threads it cannot say in which row it failed
    with pa.OSFile(os.fsencode(path)) as file:
        present = arrow.open_csv(unpacked(file), read, parse).schema.names
    found = columns.found(present, str(path), owner)
    text = {found.arm: pa.dictionary(pa.int32(), pa.string()), found.cost: pa.string(), found.reward: pa.string()}
    convert = arrow.ConvertOptions(include_columns=list(found), column_types=text)
    with pa.OSFile(os.fsencode(path)) as file:
        for count, batch in enumerate(arrow.open_csv(unpacked(file), read, parse, convert), 1):
            yield batch.rename_columns(list(columns)), min(file.tell(), count * BLOCK) / file.size()


def of_parquet(path: Path, columns: Columns, owner: str) -> Batches:
    """From Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.OSFile(os.fsencode(path)) as source, pq.ParquetFile(source, buffer_size=1 << 20, pre_buffer=False) as file:
        found, rows = columns.found(file.schema_arrow.names, str(path), owner), 0
        for batch in file.iter_batches(BATCH, columns=list(found)):
            rows += batch.num_rows
            yield batch.select(list(found)).rename_columns(list(columns)), rows / file.metadata.num_rows


def of_frame(frame: Any, columns: Columns, owner: str) -> Batches:
    """From a pandas frame or an Arrow table."""
    import pyarrow as pa

    present = frame.column_names if hasattr(frame, "column_names") else list(map(str, frame.columns))
    found, rows = columns.found(present, FRAME, owner), 0
    if hasattr(frame, "to_batches"):
        table = frame.select(list(found))
    else:
        table = pa.table({name: _array(frame.iloc[:, present.index(name)]) for name in found})
    for batch in table.rename_columns(list(columns)).to_batches(BATCH):
        rows += batch.num_rows
        yield batch, rows / table.num_rows


def _separator(path: Path, head: bytes, columns: Columns) -> str:
    """The one of the separators that makes the three columns out of the header, else the one it has most of."""
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
    """A column of a pandas frame; one of mixed kinds as text."""
    import pyarrow as pa

    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, ValueError, OverflowError):
        return pa.array([None if empty else str(value) for value, empty in zip(series, series.isna(), strict=True)])
