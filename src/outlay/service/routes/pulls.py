"""Pulls: how they stand, and how they end otherwise than by a tell."""

import asyncio
import re

from outlay.campaign.records import PullStatus
from outlay.service.call import Call
from outlay.service.problems import Refused
from outlay.service.routes.asking import CAMPAIGN
from outlay.service.table import Table
from outlay.service.wire import answers as a
from outlay.service.wire import records
from outlay.service.wire import requests as r

table = Table()
PULL = CAMPAIGN + "/pulls/{pull}"


@table.route("GET", CAMPAIGN + "/pulls", "read")
async def list_pulls(call: Call, query: r.PullsWanted) -> a.Pulls:
    """The pulls in the order in which they were asked for: by status, tag and key."""
    campaign = await call.campaign()
    found = await campaign.apulls(query.status, query.tag, query.key, query.after, query.limit + 1)
    items = [records.pull_status(pull) for pull in found[: query.limit]]
    return a.Pulls(items, items[-1].pull if len(found) > query.limit else None)


@table.route("GET", PULL, "read")
async def one_pull(call: Call) -> a.PullStatus:
    """How a pull stands."""
    return records.pull_status(await _pull(call, _number(call)))


@table.route("POST", PULL + "/cancel", "tell")
async def cancel(call: Call, body: r.Cancel) -> a.PullStatus:
    """Say that a pull was never made: nothing is charged and nothing learned."""
    number = _number(call)
    await (await call.campaign()).acancel(number, body.reason)
    return records.pull_status(await _pull(call, number))


@table.route("POST", PULL + "/charge", "tell")
async def charge(call: Call) -> a.PullStatus:
    """Give a pull up, and charge what was set aside for it until it is told after all."""
    number = _number(call)
    await (await call.campaign()).acharge(number)
    return records.pull_status(await _pull(call, number))


@table.route("POST", PULL + "/extend", "tell")
async def extend(call: Call, body: r.Extend) -> a.PullStatus:
    """Let a pull under way expire so many seconds from now."""
    number = _number(call)
    await (await call.campaign()).aextend(number, body.ttl)
    return records.pull_status(await _pull(call, number))


@table.route("POST", PULL + "/amend", "admin")
async def amend(call: Call, body: r.Amend) -> a.Receipt:
    """Correct what was told, on the record."""
    number = _number(call)
    receipt = await (await call.campaign()).aamend(number, body.cost, body.reward, body.reason)
    return records.receipt(receipt)


@table.route("GET", CAMPAIGN + "/tags", "read")
async def list_tags(call: Call, query: r.Page) -> a.Tags:
    """The tags that pulls were asked for with, by name, and how many have each."""
    watched = await call.desk.watched(call.name)
    await watched.catch_up()
    tags = watched.tags
    later = await asyncio.to_thread(lambda: sorted(tag for tag in tags if tag > query.after))
    page = later[: query.limit]
    items = [a.Tag(tag, tags[tag]) for tag in page]
    return a.Tags(items, page[-1] if len(later) > len(page) else None)


async def _pull(call: Call, number: int) -> PullStatus:
    for pull in await (await call.campaign()).apulls(after=number - 1, limit=1):
        if pull.id == number:
            return pull
    raise Refused("no_pull")


def _number(call: Call) -> int:
    text = call.parameters["pull"]
    if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise Refused("no_pull")
    return int(text)
