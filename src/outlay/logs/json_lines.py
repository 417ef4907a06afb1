"""A log as JSON lines: one object per row."""

import io
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from outlay.errors import BadFile
from outlay.logs.columns import Columns, More
from outlay.logs.sources import BATCH, Batches, roles_of, unpacked


def looks_like_json(path: Path, start: bytes) -> bool:
    """Whether the first thing in the file, unpacked, is an object; `start` are its first bytes."""
    import pyarrow as pa

    with pa.OSFile(os.fsencode(path)) as file:
        head: bytes = unpacked(file, start).read(1 << 10)
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def json_batches(path: Path, start: bytes, columns: Columns, more: More, owner: str) -> Batches:
    """A file of JSON lines. Its columns are the keys of the first rows; a key that a row lacks is an empty cell."""
    import pyarrow as pa

    with pa.OSFile(os.fsencode(path)) as file:
        lines = io.BufferedReader(unpacked(file, start), 1 << 20)  # closes the file when nothing refers to it any more
        rows, found = _rows(lines, path), None
        while part := list(islice(rows, BATCH)):
            if found is None:
                found = roles_of(
                    columns, more, list(dict.fromkeys(key for row in part for key in row)), str(path), owner
                )
            batch = {role: _column([row.get(name) for row in part]) for role, name in found.items()}
            yield pa.RecordBatch.from_pydict(batch), min(1.0, file.tell() / file.size())


def _rows(lines: io.BufferedReader, path: Path) -> Iterator[dict[str, Any]]:
    """The objects, one per line; empty lines are passed over."""
    import msgspec

    decoder = msgspec.json.Decoder(dict[str, Any])
    for number, line in enumerate(lines, 1):
        text = line.removeprefix(b"\xef\xbb\xbf").strip()
        if not text:
            continue
        try:
            yield decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadFile(f"{path} cannot be read: line {number:,} is not one JSON object: {error}"[:300]) from None


def _column(cells: list[object]) -> Any:
    """Cells as an Arrow column; of mixed kinds as text."""
    import pyarrow as pa

    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells])
