"""What the dashboard reads: campaigns as they change, and one of them rehearsed as it might have been."""

import asyncio
from collections.abc import AsyncIterator

from outlay.service.call import Call
from outlay.service.routes.asking import CAMPAIGN
from outlay.service.routes.campaigns import listed
from outlay.service.seen.view import seen
from outlay.service.seen.whatif import rehearsed, toldless
from outlay.service.stream import LOOK, Stream
from outlay.service.table import Table
from outlay.service.wire import answers as a
from outlay.service.wire import requests as r
from outlay.service.wire import views as v

table = Table()
OFTEN = 1.0  # seconds between two looks at all campaigns


@table.route("GET", CAMPAIGN + "/view", "read")
async def view(call: Call, query: v.ViewWanted) -> v.CampaignView:
    """What the dashboard draws of a campaign."""
    return await seen(await call.desk.watched(call.name), query)


@table.route("GET", CAMPAIGN + "/view/stream", "read", media="text/event-stream")
async def stream_views(call: Call, query: v.ViewWanted) -> Stream:
    """The same whenever something has changed, a few times a second at most, as server-sent events."""
    watched = await call.desk.watched(call.name)

    async def views() -> AsyncIterator[bytes]:
        last = -1, -1, -1
        while True:
            now = await seen(watched, query)
            if (now.campaign.events, now.read, now.judged) != last:
                last = now.campaign.events, now.read, now.judged
                yield b"event: view\ndata: " + a.encode(now) + b"\n\n"
                await asyncio.sleep(LOOK)
            yield b""

    return Stream(call.desk, views(), call.allowed)


@table.route("GET", "/v1/overview/stream", "read", media="text/event-stream")
async def stream_campaigns(call: Call, query: r.CampaignsWanted) -> Stream:
    """A page of all campaigns whenever one has changed, as server-sent events."""

    async def pages() -> AsyncIterator[bytes]:
        last = b""
        while True:
            now = a.encode(await listed(call, query, OFTEN))
            if now != last:
                last = now
                yield b"event: campaigns\ndata: " + now + b"\n\n"
            await asyncio.sleep(OFTEN)
            yield b""

    return Stream(call.desk, pages(), call.allowed)


@table.route("POST", CAMPAIGN + "/what-if", "read")
async def what_if(call: Call, body: v.WhatIf) -> v.Rehearsal:
    """Play the campaign anew with another policy, budget or number of requests, on outcomes like those observed."""
    watched = await call.desk.watched(call.name)
    return await call.unless_gone(rehearsed(watched, body))


@table.route("GET", "/v1/policies", "read")
async def list_policies(call: Call) -> v.Policies:  # noqa: ARG001
    """The policies that need not be told anything, by name."""
    return v.Policies(toldless())
