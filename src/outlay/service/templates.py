"""Many wallets: a campaign for each tenant, made from a template on first use, and a cap on the sum of all.

A template is two campaigns. TEMPLATE/* is the model, which is never asked: a tenant's campaign, TEMPLATE/TENANT, is
opened on the terms that the model has at that time. TEMPLATE is the pool of all of them, if there is a cap on their
sum. So nothing is kept but ledgers, and whatever can be done with a campaign can be done with these.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from msgspec.structs import asdict

from outlay.campaign import Campaign
from outlay.campaign.ledger.pool import LONGEST_MEMBER
from outlay.errors import BadParameter, CampaignConflict
from outlay.service import routes
from outlay.service import schemas as s
from outlay.service.campaigns import MODEL, Wanted
from outlay.service.endpoints import ApiRequest, RouteTable
from outlay.service.problems import NoTemplate, Refused

table = RouteTable()
TEMPLATE = "/v1/templates/{template}"
TENANT = TEMPLATE + "/campaigns/{tenant}"
SHARED = ("unit", "negative_costs", "window", "timezone", "currency")  # terms of the pool that are the tenants', too


@table.route("POST", "/v1/templates", "admin", statuses=(201, 200))
async def new_template(request: ApiRequest, body: s.TemplateBody) -> s.TemplateAnswer:
    """Make a template of campaigns, each with its own budget, and with a `total` a hard cap on their sum.

    The same terms again change nothing (200); other terms under the same name are a `conflict`.
    """
    terms = asdict(body)
    name, total = terms.pop("name"), terms.pop("total")
    if isinstance(body.policy, s.PolicyGiven):
        terms["policy"] = asdict(body.policy)
    if "/" in name or len(name) > LONGEST_MEMBER - len(f"/{MODEL}"):
        raise BadParameter("a template", "name", f"at most {LONGEST_MEMBER - 2} characters, and no slash", name)
    request.path_params["template"] = name  # for the audit log
    if not request.key.sees(request.name):
        raise Refused("forbidden", "the key is limited to other campaigns")
    await asyncio.to_thread(lambda: Campaign(**terms))  # in memory: what is no campaign is refused before one is made
    model = {**terms, "name": request.name, "pool": None if total is None else name}
    only = {"name": "Fixed", "parameters": {"arm": 0}}
    pool = {"name": name, "arms": ["tenants"], "budget": total, "policy": only, "mode": "hard", "ttl": None}
    pool |= {key: terms[key] for key in SHARED}
    try:
        request.campaign = await request.campaigns.campaign(request.name)
        new = False
    except NoTemplate:  # its pool comes first, for the model to have
        new = True
    for each in [pool, model] if new else [model, pool]:
        if each["budget"] is not None:
            request.campaign, _ = await request.campaigns.new(each)
    request.campaign = await request.campaigns.campaign(request.name)
    await request.campaign.aarchive()  # which is never asked, nor listed among campaigns
    request.status = 201 if new else 200
    return await template(request)


@table.route("GET", "/v1/templates", "read")
async def list_templates(request: ApiRequest, after: str = "", limit: s.PageSize = 100) -> s.TemplatesPage:
    """The templates that the key may see, by name."""
    wanted = Wanted(request.key, f"{after}/{MODEL}" if after else "", limit + 1, models=True)
    found, items = await request.campaigns.some(wanted, archived=True), []
    for status in found[:limit]:
        request.path_params["template"] = status.name.removesuffix(f"/{MODEL}")
        request.campaign = await request.campaigns.campaign(status.name)
        items.append(await template(request))
    return s.TemplatesPage(items, items[-1].name if len(found) > limit else None)


@table.route("GET", TEMPLATE, "read")
async def template(request: ApiRequest) -> s.TemplateAnswer:
    """A template, and how all campaigns that were made from it stand together."""
    status, pool = await request.campaign.astatus(), await _pool(request)
    together = None if pool is None else s.answer(s.CampaignAnswer, await pool.astatus())
    return s.TemplateAnswer(request.path_params["template"], s.campaign_and_arms(status), together)


@table.route("POST", TEMPLATE + "/total", "admin")
async def set_total(request: ApiRequest, total: s.Money) -> s.TemplateAnswer:
    """Set the cap on the sum; more than was spent reopens what was exhausted."""
    pool = await _pool(request)
    if pool is None:
        raise CampaignConflict("the template was made without a total, and its campaigns have none together")
    await pool.aset_budget(total)
    return await template(request)


def _tenant_verb(verb: Callable[..., Awaitable[Any]], scope: Any, does: str) -> None:
    """Add the route of a verb of a campaign, for the campaign of a tenant."""

    @wraps(verb)
    async def handler(request: ApiRequest, **given: Any) -> Any:
        if request.path_params["tenant"] == MODEL:
            raise BadParameter("a template", "tenant", f"another name than {MODEL}", MODEL)
        return await verb(request, **given)

    handler.__name__, handler.__doc__ = f"tenant_{verb.__name__}", does
    table.route("POST", f"{TENANT}/{verb.__name__}", scope)(handler)


_tenant_verb(routes.ask, "ask", "Name a pull of a tenant's campaign, as /ask does; the first ask opens that campaign.")
_tenant_verb(routes.tell, "tell", "Record what a pull of a tenant's campaign cost and earned, as /tell does.")
_tenant_verb(routes.reward, "tell", "Record what a pull of a tenant's campaign earned, as /reward does.")


async def _pool(request: ApiRequest) -> Campaign | None:
    pool = request.campaign.pool
    return None if pool is None else await request.campaigns.campaign(pool)
