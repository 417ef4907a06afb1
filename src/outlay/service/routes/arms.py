"""The arms of a campaign: listed, added, taken out of use and back."""

from outlay.service.call import Call
from outlay.service.problems import Refused
from outlay.service.routes.asking import CAMPAIGN
from outlay.service.table import Table
from outlay.service.wire import answers as a
from outlay.service.wire import records
from outlay.service.wire import requests as r

table = Table()


@table.route("GET", CAMPAIGN + "/arms", "read")
async def list_arms(call: Call, query: r.ArmsWanted) -> a.Arms:
    """The arms, in the order in which they were added; `next` counts those before."""
    arms = (await (await call.campaign()).astatus()).arms
    end = query.after + query.limit
    return a.Arms([records.arm(arm) for arm in arms[query.after : end]], end if end < len(arms) else None)


@table.route("POST", CAMPAIGN + "/arms", "admin", status=201)
async def add_arm(call: Call, body: r.NewArm) -> a.Arm:
    """Add another arm."""
    await (await call.campaign()).aadd_arm(body.name, body.max_cost, body.cost)
    return await _arm(call, body.name)


@table.route("POST", CAMPAIGN + "/arms/{arm}/disable", "admin")
async def disable_arm(call: Call) -> a.Arm:
    """Stop pulling an arm; pulls under way can still be told."""
    arm = await _arm(call, call.parameters["arm"])
    await (await call.campaign()).adisable_arm(arm.name)
    return await _arm(call, arm.name)


@table.route("POST", CAMPAIGN + "/arms/{arm}/enable", "admin")
async def enable_arm(call: Call) -> a.Arm:
    """Pull a disabled arm again."""
    arm = await _arm(call, call.parameters["arm"])
    await (await call.campaign()).aenable_arm(arm.name)
    return await _arm(call, arm.name)


async def _arm(call: Call, name: str) -> a.Arm:
    status = await (await call.campaign()).astatus()
    for arm in status.arms:
        if arm.name == name:
            return records.arm(arm)
    raise Refused("not_found", "the campaign has no such arm")
