"""The ledger as it is written: its events in lines or as a stream, and files to take away."""

import asyncio
from collections.abc import AsyncIterator
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from starlette.responses import StreamingResponse

from outlay.campaign import Campaign, export_ledger
from outlay.service.call import Call
from outlay.service.problems import Refused
from outlay.service.routes.asking import CAMPAIGN
from outlay.service.seen.sheets import write_csv, write_parquet
from outlay.service.stream import Stream
from outlay.service.table import Table
from outlay.service.wire import answers as a
from outlay.service.wire import records
from outlay.service.wire import requests as r

table = Table()
SOME = 500  # events at a time
PIECE = 1 << 16  # bytes
MOST_FILES = 2  # that are made at a time: each takes a thread for as long as the ledger is


@table.route("GET", CAMPAIGN + "/events", "read", media="application/x-ndjson")
async def list_events(call: Call, query: r.EventsWanted) -> StreamingResponse:
    """The events after a number, one JSON object per line; the last one's `seq` is the next `after`."""
    found = await _some(await call.campaign(), query.after, query.limit)
    lines = b"".join(a.encode(event) + b"\n" for event in found)
    return StreamingResponse(_once(lines), media_type="application/x-ndjson")


@table.route("GET", CAMPAIGN + "/events/stream", "read", media="text/event-stream")
async def stream_events(call: Call, query: r.EventsWanted) -> Stream:
    """The events after a number, and all that follow, as server-sent events whose id is their `seq`."""
    last = call.headers.get(b"last-event-id", b"")
    after = int(last) if last.isdigit() and len(last) < 19 else query.after
    campaign = await call.campaign()

    async def events() -> AsyncIterator[bytes]:
        nonlocal after
        while True:
            found = await _some(campaign, after, SOME)
            for event in found:
                yield b"id: %d\nevent: %b\ndata: %b\n\n" % (event.seq, event.kind.encode(), a.encode(event))
                after = event.seq
            if not found:
                yield b""

    return Stream(call.desk, events(), call.allowed)


@table.route("GET", CAMPAIGN + "/export", "read", media="application/octet-stream")
async def export(call: Call, query: r.ExportWanted) -> StreamingResponse:
    """The whole ledger, or a table of all pulls, as a file; `busy` while others are being made."""
    campaign, desk = await call.campaign(), call.desk
    if desk.files >= MOST_FILES:
        raise Refused("busy", "other files are being made", 5.0)
    file: Any = TemporaryFile()  # noqa: SIM115 (closed when it was sent)
    desk.files += 1
    try:
        if query.format == "ndjson":
            await asyncio.to_thread(export_ledger, desk.settings.store, file, campaign.name)
        elif query.format == "csv":
            await asyncio.to_thread(write_csv, campaign, file)
        else:
            await asyncio.to_thread(write_parquet, campaign, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    finally:
        desk.files -= 1
    headers = {"content-disposition": f'attachment; filename="campaign.{query.format}"'}
    return StreamingResponse(_pieces(file), media_type="application/octet-stream", headers=headers)


async def _some(campaign: Campaign, after: int, most: int) -> list[a.Event]:
    def read() -> list[a.Event]:
        return [records.event(entry) for entry in islice(campaign.history(after), most)]

    return await asyncio.to_thread(read)


async def _once(piece: bytes) -> AsyncIterator[bytes]:
    yield piece


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
