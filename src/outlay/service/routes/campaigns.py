"""Campaigns: opened, listed, looked at, and changed while they run."""

import msgspec

from outlay.service.call import Call
from outlay.service.problems import Refused
from outlay.service.routes.asking import CAMPAIGN
from outlay.service.table import Table
from outlay.service.wire import answers as a
from outlay.service.wire import records
from outlay.service.wire import requests as r

table = Table()


@table.route("GET", "/v1/campaigns", "read")
async def list_campaigns(call: Call, query: r.CampaignsWanted) -> a.Campaigns:
    """The campaigns that the key may see, by name: those that were archived, or the others."""
    return await listed(call, query)


async def listed(call: Call, query: r.CampaignsWanted, age: float = 0.0) -> a.Campaigns:
    """A page of the campaigns that the key may see, as they were so many seconds ago at most."""
    found = await call.desk.all(query.archived, age)
    seen = [status for status in found if call.key.sees(status.name) and status.name > query.after]
    page = sorted(seen, key=lambda status: status.name)[: query.limit]
    more = len(seen) > len(page)
    return a.Campaigns([records.campaign(status) for status in page], page[-1].name if more else None)


@table.route("POST", "/v1/campaigns", "admin", status=201)
async def new_campaign(call: Call, body: r.NewCampaign) -> tuple[a.CampaignAndArms, int]:
    """Open a campaign. The same terms again change nothing (200); other terms for the same name are a `conflict`."""
    terms = {field: getattr(body, field) for field in body.__struct_fields__}
    if isinstance(body.policy, r.PolicyGiven):
        terms["policy"] = msgspec.structs.asdict(body.policy)
    if not call.key.sees(body.name):
        raise Refused("forbidden", "the key is limited to other campaigns")
    call.parameters["campaign"] = body.name  # for the audit log
    campaign, new = await call.desk.new(terms)
    return records.campaign_and_arms(await campaign.astatus()), 201 if new else 200


@table.route("GET", CAMPAIGN, "read")
async def campaign(call: Call) -> a.CampaignAndArms:
    """How a campaign stands."""
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/budget", "admin")
async def set_budget(call: Call, body: r.Budget) -> a.CampaignAndArms:
    """Set the budget; more than was spent reopens a campaign that was exhausted."""
    await (await call.campaign()).aset_budget(body.budget)
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/requests", "admin")
async def set_requests(call: Call, body: r.Requests) -> a.CampaignAndArms:
    """Set how many pulls may be made in all."""
    await (await call.campaign()).aset_requests(body.requests)
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/expect", "admin")
async def expect(call: Call, body: r.Requests) -> a.CampaignAndArms:
    """Say how many requests are still to come, as far as anybody knows."""
    await (await call.campaign()).aexpect_requests(body.requests)
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/warm", "admin")
async def warm_start(call: Call, body: r.Samples) -> a.Learned:
    """Let the policy learn from samples made elsewhere, at no cost."""
    return a.Learned(await (await call.campaign()).awarm_start(body.samples, body.key))


@table.route("POST", CAMPAIGN + "/pause", "admin")
async def pause(call: Call) -> a.CampaignAndArms:
    """Name no arm until it is resumed; tells are still accepted."""
    await (await call.campaign()).apause()
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/resume", "admin")
async def resume(call: Call) -> a.CampaignAndArms:
    """Name arms again."""
    await (await call.campaign()).aresume()
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/close", "admin")
async def close(call: Call) -> a.CampaignAndArms:
    """End the campaign for good; pulls under way can still be told."""
    await (await call.campaign()).aclose()
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/archive", "admin")
async def archive(call: Call) -> a.CampaignAndArms:
    """Put the campaign away: it is listed no more and names no arm; pulls under way can still be told."""
    await (await call.campaign()).aarchive()
    return await _standing(call)


@table.route("POST", CAMPAIGN + "/restore", "admin")
async def restore(call: Call) -> a.CampaignAndArms:
    """Bring back a campaign that was archived, as it was."""
    await (await call.campaign()).arestore()
    return await _standing(call)


async def _standing(call: Call) -> a.CampaignAndArms:
    return records.campaign_and_arms(await (await call.campaign()).astatus())
