"""All pulls of a campaign as a table in a file, a part at a time: a million of them take no more memory than some."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from msgspec.structs import astuple

from outlay.campaign import Campaign, PullStatus
from outlay.errors import needed
from outlay.service.wire import answers as a
from outlay.text import harmless

SOME = 5000  # pulls at a time
FIELDS = ("pull", *PullStatus.__struct_fields__[1:])


def write_csv(campaign: Campaign, file: BinaryIO) -> None:
    """As text; without tags and metadata, which are no cells."""
    text = io.TextIOWrapper(file, "utf-8", newline="")
    table = csv.writer(text)
    fields = [name for name in PullStatus.__struct_fields__ if name not in ("tags", "metadata")]
    table.writerow(["pull", *fields[1:]])
    for pull in campaign.pulls():
        table.writerow([harmless(getattr(pull, name)) for name in fields])
    text.flush()
    text.detach()


def write_parquet(campaign: Campaign, file: BinaryIO) -> None:
    """With types; metadata is JSON."""
    with needed("export"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    text, number, yes, time = pa.string(), pa.float64(), pa.bool_(), pa.timestamp("us", "UTC")
    kinds = {
        "pull": pa.int64(), "arm": text, "status": text, "asked": time, "expires": time, "reserved": number,
        "cost": number, "reward": number, "late": yes, "overrun": yes, "amended": yes, "propensity": number,
        "key": text, "tags": pa.list_(text), "metadata": text, "fallback": yes,
    }  # fmt: skip
    schema = pa.schema([(name, kinds[name]) for name in FIELDS])
    with pq.ParquetWriter(file, schema) as writer:
        for columns in _columns(campaign):
            writer.write_table(pa.table(columns, schema))


def _columns(campaign: Campaign) -> Iterator[dict[str, list[Any]]]:
    """Some pulls after others, by columns; at least once, so that an empty table has its columns."""
    pulls = iter(campaign.pulls())
    some = list(islice(pulls, SOME))
    while True:
        columns = (
            dict(zip(FIELDS, map(list, zip(*map(astuple, some), strict=True)), strict=True))
            if some
            else {n: [] for n in FIELDS}
        )
        columns["metadata"] = [a.encode(each).decode() for each in columns["metadata"]]
        yield columns
        if not (some := list(islice(pulls, SOME))):
            return
