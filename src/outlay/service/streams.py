"""Streams and files: events, views and the list of campaigns as server-sent events, exports, the dashboard's files.

A client that does not read delays only itself: nothing is looked up until the last piece is sent, and after a while the
connection is cut. When a key is revoked or expires, its streams end.
"""

import asyncio
import codecs
import csv
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, BinaryIO, Literal

from msgspec import Meta
from msgspec.structs import asdict
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from outlay.campaign import Campaign, Shadow, export_ledger
from outlay.campaign.records import Entry
from outlay.errors import needed
from outlay.service import schemas as s
from outlay.service.endpoints import ApiRequest, RouteTable
from outlay.service.problems import Refused
from outlay.service.routes import CAMPAIGN, campaigns_page
from outlay.service.views import view_of
from outlay.service.what_if import parameter_free, rehearsed
from outlay.text import harmless

table = RouteTable()
LOOK = 0.25  # seconds between two looks for something to send
OFTEN = 1.0  # seconds between two readings of all campaigns
QUIET = 15.0  # seconds after which a comment keeps the stream alive
RETRY = b"retry: 2000\n\n"  # milliseconds until a browser connects again
ALIVE = b": alive\n\n"
EVENTS, PULLS = 500, 5000  # read at a time
PIECE = 1 << 16  # bytes
MOST_REQUESTS = 10_000  # that another policy looks at, which takes up to a minute
MOST_FILES = 2  # written at a time: each occupies a thread
STATIC = Path(__file__).parent / "dashboard" / "static"
MEDIA = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class EventStream(StreamingResponse):
    """Pieces as server-sent events, until the service or the key ends; an empty piece means nothing new."""

    def __init__(self, request: ApiRequest, pieces: AsyncIterator[bytes]) -> None:
        campaigns = request.campaigns
        if campaigns.streams >= campaigns.settings.most_streams:
            raise Refused("busy", "too many streams are open", 5.0)

        async def sent() -> AsyncIterator[bytes]:
            if request.method == "HEAD":
                return
            campaigns.streams += 1
            try:
                yield RETRY
                quiet = 0.0
                async for piece in pieces:
                    if not piece:
                        with suppress(TimeoutError):
                            await asyncio.wait_for(campaigns.stopping.wait(), LOOK)
                        quiet += LOOK
                    if campaigns.stopping.is_set() or not await request.key_cache.still_valid(request.key):
                        return
                    if piece or quiet >= QUIET:
                        quiet = 0.0
                        yield piece or ALIVE
            finally:
                campaigns.streams -= 1

        super().__init__(sent(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


@table.route("GET", CAMPAIGN + "/events", "read", media="application/x-ndjson")
async def list_events(request: ApiRequest, after: s.Count = 0, limit: s.PageSize = s.MOST_LISTED) -> Response:
    """The events after a number, one JSON object per line; the last `seq` is the next `after`."""
    found = await _events(request.campaign, after, limit)
    return Response(b"".join(s.encode(event) + b"\n" for event in found), media_type="application/x-ndjson")


@table.route("GET", CAMPAIGN + "/events/stream", "read", media="text/event-stream")
async def stream_events(request: ApiRequest, after: s.Count = 0) -> EventStream:
    """The events after a number, and all new ones, as server-sent events; their id is `seq`.

    A browser that reconnects sends `Last-Event-ID`, and the stream continues there.
    """
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isdecimal() and len(last) < 19 else after

    async def events() -> AsyncIterator[bytes]:
        nonlocal after
        while True:
            found = await _events(request.campaign, after, EVENTS)
            for event in found:
                yield b"id: %d\nevent: %b\ndata: %b\n\n" % (event.seq, event.kind.encode(), s.encode(event))
                after = event.seq
            if not found:
                yield b""

    return EventStream(request, events())


@table.route("GET", CAMPAIGN + "/view", "read")
async def view(request: ApiRequest, find: s.Find = "", by: s.ArmOrder = "pulls") -> s.DashboardView:
    """What the dashboard shows of a campaign; of its arms those whose names contain `find`, sorted by `by`."""
    return await view_of(request.campaigns.watched(request.campaign), find, by)


@table.route("GET", CAMPAIGN + "/view/stream", "read", media="text/event-stream")
async def stream_views(request: ApiRequest, find: s.Find = "", by: s.ArmOrder = "pulls") -> EventStream:
    """The same as server-sent events, whenever something has changed, a few times a second at most."""
    watched = request.campaigns.watched(request.campaign)
    return EventStream(request, _changes(b"view", lambda: view_of(watched, find, by)))


@table.route("GET", "/v1/overview/stream", "read", media="text/event-stream")
async def stream_campaigns(
    request: ApiRequest, after: str = "", limit: s.PageSize = 100, archived: bool = False
) -> EventStream:
    """A page of the campaigns as server-sent events, whenever one has changed."""
    return EventStream(request, _changes(b"campaigns", lambda: campaigns_page(request, after, limit, archived, OFTEN)))


async def _changes(name: bytes, look: Callable[[], Awaitable[Any]]) -> AsyncIterator[bytes]:
    last = b""
    while True:
        seen = s.encode(await look())
        if seen != last:
            last = seen
            yield b"event: %b\ndata: %b\n\n" % (name, seen)
            await asyncio.sleep(LOOK)
        yield b""


@table.route("POST", CAMPAIGN + "/what-if", "read")
async def what_if(
    request: ApiRequest,
    policy: s.Name | None = None,
    budget: Annotated[float, Meta(gt=0)] | None = None,
    requests: Annotated[int, Meta(gt=0)] | None = None,
) -> s.WhatIfAnswer:
    """Play the campaign again with another policy, budget or number of requests, on outcomes like those observed.

    What is null stays as it is.
    """
    watched = request.campaigns.watched(request.campaign)
    return await request.unless_gone(rehearsed(watched, policy, budget, requests))


@table.route("POST", CAMPAIGN + "/shadow", "read")
async def shadow(request: ApiRequest, policy: s.Name | s.PolicyGiven | None = None) -> Shadow:
    """What another policy would have earned with the requests so far; null is the default for such a campaign.

    The whole ledger is read for it: `busy` while two others, or files, are being made.
    """
    campaign, campaigns = request.campaign, request.campaigns
    if (await campaign.astatus()).pulls > MOST_REQUESTS:  # in all windows
        said = f"at most {MOST_REQUESTS:,} requests are looked at here: run `outlay campaign shadow` on the store"
        raise Refused("bad_request", said)
    if campaigns.files >= MOST_FILES:
        raise Refused("busy", "other files are being made", 5.0)
    campaigns.files += 1
    try:
        return await campaign.ashadow(asdict(policy) if isinstance(policy, s.PolicyGiven) else policy)
    finally:
        campaigns.files -= 1


@table.route("GET", "/v1/policies", "read")
async def list_policies(request: ApiRequest) -> s.PoliciesAnswer:  # noqa: ARG001
    """The policies that need no parameters, by name."""
    return s.PoliciesAnswer(parameter_free())


@table.route("GET", CAMPAIGN + "/export", "read", media="application/octet-stream")
async def export(
    request: ApiRequest,
    format: Literal["ndjson", "csv", "parquet"] = "ndjson",  # noqa: A002 (the field's name)
) -> StreamingResponse:
    """The whole ledger (`ndjson`) or a table of all pulls, as a file; `busy` while two others are being written."""
    campaign, campaigns = request.campaign, request.campaigns
    if campaigns.files >= MOST_FILES:
        raise Refused("busy", "other files are being made", 5.0)
    file: Any = TemporaryFile()  # noqa: SIM115 (closed when it was sent)
    campaigns.files += 1
    try:
        if format == "ndjson":
            await asyncio.to_thread(export_ledger, campaigns.settings.store, file, campaign.name)
        else:
            await asyncio.to_thread(write_csv if format == "csv" else write_parquet, campaign, file)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    finally:
        campaigns.files -= 1
    return _Download(file, f"campaign.{format}")


class _Download(StreamingResponse):
    """A file that is closed after sending, also if that fails."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        super().__init__(iter(lambda: file.read(PIECE), b""), headers=headers, media_type="application/octet-stream")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def write_csv(campaign: Campaign, file: BinaryIO) -> None:
    """All pulls as CSV, without tags and metadata."""
    table, (columns, rows) = csv.writer(codecs.getwriter("utf-8")(file)), campaign.log()
    table.writerow(map(harmless, columns))
    for row in rows:
        table.writerow(map(harmless, row))


def write_parquet(campaign: Campaign, file: BinaryIO) -> None:
    """All pulls as Parquet, written in parts to save memory; metadata is JSON."""
    with needed("export"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    columns, rows = campaign.log()
    kinds: dict[type, Any] = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    fields = [(name, kinds.get(kind, pa.timestamp("us", "UTC"))) for name, kind in columns.items()]
    schema = pa.schema([*fields, ("tags", pa.list_(pa.string())), ("metadata", pa.string())])
    both = (
        [*row, pull.tags, s.encode(pull.metadata).decode()] for row, pull in zip(rows, campaign.pulls(), strict=False)
    )
    with pq.ParquetWriter(file, schema) as writer:
        while some := list(islice(both, PULLS)):
            found = zip(*some, strict=True)
            arrays = [pa.array(cells, field.type) for cells, field in zip(found, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


async def _events(campaign: Campaign, after: int, most: int) -> list[Entry]:
    return await asyncio.to_thread(lambda: list(islice(campaign.history(after), most)))


@cache
def pages() -> dict[str, Response]:
    """The files of the dashboard, by path; they hold no data, and their script calls the same routes as everybody."""
    headers = {"cache-control": "no-cache"}
    found = {
        f"/{path.name}": Response(path.read_bytes(), headers=headers, media_type=MEDIA[path.suffix])
        for path in STATIC.iterdir()
    }
    return {**found, "/": found["/index.html"]}
