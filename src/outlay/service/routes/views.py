"""What the dashboard draws: a campaign in numbers that are small whatever its size, once or as they change."""

import asyncio
import math
from collections.abc import AsyncIterator
from datetime import datetime

import msgspec

from outlay.campaign.answers.watching import Interval, View
from outlay.service.call import Call
from outlay.service.forecast import Forecast, forecast
from outlay.service.routes.asking import CAMPAIGN
from outlay.service.stream import LOOK, Stream
from outlay.service.table import Table
from outlay.service.watched import Watched
from outlay.service.wire import answers as a
from outlay.service.wire import records

table = Table()
MOST_POINTS = 240  # of a curve
MOST_ARMS = 60  # that are shown: those with most pulls


class Point(msgspec.Struct):
    """How much was left at some moment, pulls under way aside."""

    at: datetime
    left: float


class ArmView(msgspec.Struct):
    """An arm, and where its rate lies with a probability of 95 %: null where nothing can be said."""

    arm: a.Arm
    low: float | None
    high: float | None


class CampaignView(msgspec.Struct):
    """A campaign at one moment: the arms with most pulls, the oldest pulls under way, the last events."""

    campaign: a.Campaign
    burn: list[Point]
    forecast: Forecast | None
    arms: list[ArmView]
    other_arms: int
    under_way: list[a.PullStatus]
    events: list[a.Event]
    counts: dict[str, int]


@table.route("GET", CAMPAIGN + "/view", "read")
async def view(call: Call) -> CampaignView:
    """What the dashboard draws of a campaign."""
    return await _seen(await call.desk.watched(call.name))


@table.route("GET", CAMPAIGN + "/view/stream", "read", media="text/event-stream")
async def stream_views(call: Call) -> Stream:
    """The same whenever something has changed, at most twice a second, as server-sent events."""
    watched = await call.desk.watched(call.name)

    async def views() -> AsyncIterator[bytes]:
        seen = -1
        while True:
            now = await _seen(watched)
            if now.campaign.events != seen:
                seen = now.campaign.events
                yield b"event: view\ndata: " + a.encode(now) + b"\n\n"
                await asyncio.sleep(LOOK)
            yield b""

    return Stream(call.desk, views())


async def _seen(watched: Watched) -> CampaignView:
    return _view(await watched.look(), watched.counts)


def _view(found: View, counts: dict[str, int]) -> CampaignView:
    status = found.status
    ranked = sorted(zip(status.arms, found.intervals, strict=True), key=lambda pair: -pair[0].pulls)
    step = max(1, math.ceil(len(found.burn) / MOST_POINTS))
    burn = [*found.burn[:-1:step], *found.burn[-1:]]
    return CampaignView(
        records.campaign(status),
        [Point(*point) for point in burn],
        forecast(status, found.burn),
        [ArmView(records.arm(arm), *_ends(interval)) for arm, interval in ranked[:MOST_ARMS]],
        max(0, len(ranked) - MOST_ARMS),
        [records.pull_status(pull) for pull in found.under_way],
        [records.event(entry) for entry in reversed(found.last)],
        counts,
    )


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    low, high = (end if math.isfinite(end) else None for end in interval)
    return low, high
