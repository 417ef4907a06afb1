"""What the dashboard draws: a campaign in numbers that are small whatever its size, once or as they change."""

import asyncio
import math
from collections.abc import AsyncIterator
from datetime import datetime

import msgspec

from outlay.campaign.answers.replies import Status
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
FEW = 10  # pulls, below which an arm's rate says little
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
    learning: float | None  # what would have been earned more with the arm that seems best now; null if that is unclear


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
        _learning(status),
    )


def _learning(status: Status) -> float | None:
    """What choosing among the arms has cost so far, in reward: against all the money at the best rate known now.

    Where requests are limited, the best mix is no single arm, and nothing is said.
    """
    rates = [arm.rate for arm in status.arms if arm.rate is not None and arm.pulls >= FEW]
    if status.requests is not None or status.expected is not None or not rates:
        return None
    return max(0.0, max(rates) * status.spent - status.reward)


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    low, high = (end if math.isfinite(end) else None for end in interval)
    return low, high
