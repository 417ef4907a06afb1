"""The routes: ask and tell, pulls, arms and campaigns, keys and health."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from msgspec import Meta
from msgspec.json import decode
from msgspec.structs import asdict
from starlette.responses import Response

from outlay import __version__
from outlay.campaign import Campaign
from outlay.campaign.ledger.state import PullPhase
from outlay.campaign.reasons import MOST, Reasons
from outlay.campaign.records import PullStatus, Receipt
from outlay.service import schemas as s
from outlay.service.auth import ANYBODY, COOKIE, HOURS, csrf_of
from outlay.service.campaigns import Wanted
from outlay.service.endpoints import JSON, ApiRequest, RouteTable
from outlay.service.problems import Refused, problem_of

table = RouteTable()
CAMPAIGN = "/v1/campaigns/{campaign}"
PULL = CAMPAIGN + "/pulls/{pull}"
LONGEST_NUMBER = 18  # digits of a pull's


@table.route("POST", CAMPAIGN + "/ask", "ask")
async def ask(
    request: ApiRequest,
    key: s.Name | None = None,
    n: Annotated[int, Meta(ge=1, le=10_000)] | None = None,
    ttl: float | str | None = None,
    most: s.Money | dict[s.Name, s.Money] | None = None,
    arms: tuple[s.Name, ...] | None = None,
    wait: s.Seconds = 0.0,
    or_fallback: bool = False,
    tags: tuple[str, ...] = (),
    metadata: dict[str, Any] | None = None,
    context: dict[str, Any] | list[float] | None = None,
) -> s.AskAnswer:
    """Name the next pull, or up to `n` of them; none and `ended` where the campaign is over.

    With a `key`, asking again gives the same pulls, so that a lost answer does no harm. `not_now`, with `retry_after`,
    says that no pull can be named at the moment; the service waits for a single one for up to `wait` seconds, and then,
    with `or_fallback`, names the fallback, if one was agreed. `most` is what the call can cost at most, on any arm or
    on each that is named, and `arms` are those that can serve it, if not all can; `over_budget` says that it fits none.
    `context` is what is known of the request, in a campaign that was opened with one.
    """
    asked: dict[str, Any] = {"most": most, "arms": arms, "tags": tags, "metadata": metadata, "context": context}
    if n is not None:
        if wait or or_fallback:
            raise Refused("bad_request", "wait and or_fallback are for a single pull: leave n out")
        pulls = await request.campaign.aask_many(n, key, ttl, **asked)
        return s.AskAnswer([*pulls], not pulls)
    waiting = {"wait": wait} if or_fallback else {"wait": wait > 0, "timeout": wait or None}
    asking = request.campaign.aask(key, ttl, **asked, **waiting)
    pull = await (request.unless_gone(asking) if wait else asking)
    return s.AskAnswer([] if pull is None else [pull], pull is None)


@table.route("POST", CAMPAIGN + "/tell", "tell")
async def tell(request: ApiRequest, body: s.TellBody | list[s.TellBody]) -> Receipt | s.TellResults:
    """Record what a pull cost and earned; or a list of pulls, with a result for each.

    Telling the same again is a `duplicate` and changes nothing, so a tell can safely be repeated. If one of a list is
    malformed (a cost that is not a number), the whole list is refused.
    """
    if isinstance(body, s.TellBody):
        return await request.campaign.atell(body.pull, body.cost, body.reward)
    return _results(await request.campaign.atell_each([(each.pull, each.cost, each.reward) for each in body]))


@table.route("POST", CAMPAIGN + "/reward", "tell")
async def reward(request: ApiRequest, body: s.RewardBody | list[s.RewardBody]) -> Receipt | s.TellResults:
    """Record what a pull earned whose cost was told before; or a list of pulls, with a result for each.

    The same reward again is a `duplicate` and changes nothing; another is a `conflict`, which an amendment resolves.
    """
    if isinstance(body, s.RewardBody):
        return await request.campaign.areward(body.pull, body.reward)
    return _results(await request.campaign.areward_each([(each.pull, each.reward) for each in body]))


@table.route("GET", CAMPAIGN + "/pulls", "read")
async def list_pulls(
    request: ApiRequest,
    status: PullPhase | None = None,
    tag: str | None = None,
    key: str | None = None,
    after: s.Count = 0,
    limit: s.PageSize = 100,
) -> s.PullsPage:
    """The pulls in the order they were asked for, filtered by status, tag and key."""
    found = await request.campaign.apulls(status, tag, key, after, limit + 1)
    return s.PullsPage(found[:limit], found[limit - 1].id if len(found) > limit else None)


@table.route("GET", PULL, "read")
async def one_pull(request: ApiRequest) -> PullStatus:
    """The status of a pull."""
    return await _pull(request)


@table.route("POST", PULL + "/cancel", "tell")
async def cancel(request: ApiRequest, reason: str = "") -> PullStatus:
    """Say that a pull was never made: nothing is charged and nothing learned."""
    await request.campaign.acancel(_name(request), reason)
    return await _pull(request)


@table.route("POST", PULL + "/charge", "tell")
async def charge(request: ApiRequest) -> PullStatus:
    """Give a pull up and charge what was reserved for it, until it is told after all."""
    await request.campaign.acharge(_name(request))
    return await _pull(request)


@table.route("POST", PULL + "/extend", "tell")
async def extend(request: ApiRequest, ttl: float | str) -> PullStatus:
    """Let a pull expire this many seconds from now."""
    await request.campaign.aextend(_name(request), ttl)
    return await _pull(request)


@table.route("POST", PULL + "/amend", "admin")
async def amend(
    request: ApiRequest, cost: s.Money | None = None, reward: float | None = None, reason: str = ""
) -> Receipt:
    """Correct what was told: the cost, the reward or both; the ledger keeps both values."""
    return await request.campaign.aamend(_name(request), cost, reward, reason)


@table.route("GET", CAMPAIGN + "/tags", "read")
async def list_tags(request: ApiRequest, after: str = "", limit: s.PageSize = 100) -> s.TagsPage:
    """The tags of pulls, by name, and how many pulls have each."""
    watched = request.campaigns.watched(request.campaign)
    await watched.catch_up()
    tags = dict(watched.monitor.tagged)
    later = await asyncio.to_thread(lambda: sorted(tag for tag in tags if tag > after))
    page = later[:limit]
    return s.TagsPage([s.Tag(tag, tags[tag]) for tag in page], page[-1] if len(later) > len(page) else None)


@table.route("GET", CAMPAIGN + "/arms", "read")
async def list_arms(request: ApiRequest, after: s.Count = 0, limit: s.PageSize = 100) -> s.ArmsPage:
    """The arms in the order they were added; `next` is the number of arms so far."""
    arms = (await request.campaign.astatus()).arms
    end = after + limit
    return s.ArmsPage([s.answer(s.ArmAnswer, arm) for arm in arms[after:end]], end if end < len(arms) else None)


@table.route("POST", CAMPAIGN + "/arms", "admin", statuses=(201,))
async def add_arm(
    request: ApiRequest, name: s.Name, max_cost: s.Money | None = None, cost: float | None = None
) -> s.ArmAnswer:
    """Add another arm."""
    await request.campaign.aadd_arm(name, max_cost, cost)
    return await _arm(request, name)


@table.route("POST", CAMPAIGN + "/arms/{arm}/disable", "admin")
async def disable_arm(request: ApiRequest) -> s.ArmAnswer:
    """Disable an arm; its open pulls can still be told."""
    arm = await _arm(request, request.path_params["arm"])
    await request.campaign.adisable_arm(arm.name)
    return await _arm(request, arm.name)


@table.route("POST", CAMPAIGN + "/arms/{arm}/enable", "admin")
async def enable_arm(request: ApiRequest) -> s.ArmAnswer:
    """Enable a disabled arm."""
    arm = await _arm(request, request.path_params["arm"])
    await request.campaign.aenable_arm(arm.name)
    return await _arm(request, arm.name)


@table.route("GET", "/v1/campaigns", "read")
async def list_campaigns(
    request: ApiRequest, after: str = "", limit: s.PageSize = 100, archived: bool = False
) -> s.CampaignsPage:
    """The campaigns that the key may see, by name: the archived ones, or all others."""
    return await campaigns_page(request, after, limit, archived)


async def campaigns_page(
    request: ApiRequest, after: str, limit: int, archived: bool, age: float = 0.0
) -> s.CampaignsPage:
    """A page of the campaigns that the key may see, at most `age` seconds old."""
    found = await request.campaigns.some(Wanted(request.key, after, limit + 1), archived, age)
    items = [s.answer(s.CampaignAnswer, status) for status in found[:limit]]
    return s.CampaignsPage(items, items[-1].name if len(found) > limit else None)


@table.route("POST", "/v1/campaigns", "admin", statuses=(201, 200))
async def new_campaign(request: ApiRequest, body: s.CampaignBody) -> s.CampaignAndArms:
    """Open a campaign. The same terms again change nothing (200); other terms under the same name are a `conflict`."""
    terms = asdict(body)
    if isinstance(body.policy, s.PolicyGiven):
        terms["policy"] = asdict(body.policy)
    if not (request.key.sees(body.name) and (body.pool is None or request.key.sees(body.pool))):
        raise Refused("forbidden", "the key is limited to other campaigns")
    request.path_params["campaign"] = body.name  # for the audit log
    campaign, new = await request.campaigns.new(terms)
    request.status = 201 if new else 200
    return s.campaign_and_arms(await campaign.astatus())


@table.route("GET", CAMPAIGN, "read")
async def campaign(request: ApiRequest) -> s.CampaignAndArms:
    """The status of a campaign."""
    return s.campaign_and_arms(await request.campaign.astatus())


@table.route("GET", CAMPAIGN + "/reasons", "read")
async def reasons(
    request: ApiRequest, most: Annotated[int, Meta(ge=1, le=1000)] = MOST, context: str | None = None
) -> Reasons:
    """Which arm an ask would name now, and why: what the policy weighs, for up to `most` arms. Nothing changes.

    `context`, as JSON, is what is known of a request, as of an ask; without it, it is that of the last one.
    """
    return await request.campaign.areasons(most, None if context is None else decode(context))


@table.route("GET", CAMPAIGN + "/segments", "read")
async def list_segments(request: ApiRequest, name: str) -> s.Segments:
    """Pulls, spend and reward by the categories that the context has under this name. All pulls are read for it."""
    return s.Segments([*await request.campaign.asegments(name)])


@table.route("POST", CAMPAIGN + "/budget", "admin")
async def set_budget(request: ApiRequest, budget: s.Money) -> s.CampaignAndArms:
    """Set the whole budget; more than was spent reopens an exhausted campaign."""
    await request.campaign.aset_budget(budget)
    return await campaign(request)


@table.route("POST", CAMPAIGN + "/requests", "admin")
async def set_requests(request: ApiRequest, requests: int) -> s.CampaignAndArms:
    """Set how many pulls may be made in all."""
    await request.campaign.aset_requests(requests)
    return await campaign(request)


@table.route("POST", CAMPAIGN + "/expect", "admin")
async def expect(request: ApiRequest, requests: int) -> s.CampaignAndArms:
    """Say how many more requests are expected."""
    await request.campaign.aexpect_requests(requests)
    return await campaign(request)


@table.route("POST", CAMPAIGN + "/warm", "admin")
async def warm_start(
    request: ApiRequest, samples: list[tuple[str, s.Money, float]], key: s.Name | None = None
) -> s.Learned:
    """Let the policy learn from samples made elsewhere, at no cost: (arm, cost, reward) each.

    Samples with the same `key` are learned once.
    """
    return s.Learned(await request.campaign.awarm_start(samples, key))


def add_verb(name: str, verb: Callable[[Campaign], Awaitable[None]], does: str) -> None:
    """Add a route for a verb that takes nothing."""

    async def handler(request: ApiRequest) -> s.CampaignAndArms:
        await verb(request.campaign)
        return await campaign(request)

    handler.__name__, handler.__doc__ = name, does
    table.route("POST", f"{CAMPAIGN}/{name}", "admin")(handler)


add_verb("pause", Campaign.apause, "Name no arms until the campaign is resumed; tells are still accepted.")
add_verb("resume", Campaign.aresume, "Resume a paused campaign.")
add_verb("close", Campaign.aclose, "End the campaign for good; open pulls can still be told.")
add_verb(
    "archive",
    Campaign.aarchive,
    "Archive the campaign: it is no longer listed and names no arms; open pulls can still be told.",
)
add_verb("restore", Campaign.arestore, "Restore an archived campaign as it was.")


@table.route("GET", "/healthz", None)
async def health(request: ApiRequest) -> s.Health:  # noqa: ARG001
    """The service runs."""
    return s.Health("ok", __version__)


@table.route("GET", "/readyz", None)
async def ready(request: ApiRequest) -> s.Health:
    """The service can read its store, or could a second ago."""
    await request.key_cache.refresh()
    return s.Health("ok", __version__)


@table.route("GET", "/metrics", "read", media="text/plain")
async def metrics(request: ApiRequest) -> Response:
    """Metrics of the service and of the campaigns that the key may see, for Prometheus."""
    seen = await request.campaigns.some(Wanted(request.key))
    return Response(request.app.metrics.text(seen), media_type="text/plain; version=0.0.4; charset=utf-8")


@table.route("GET", "/v1/audit", "admin")
async def audit(request: ApiRequest, after: s.PullNumber | None = None, limit: s.PageSize = 100) -> s.AuditPage:
    """What was done with admin keys, newest first; a key limited to campaigns sees only those."""
    found = await request.key_cache.entries(request.key, limit + 1, after)
    return s.AuditPage(found[:limit], found[limit - 1].seq if len(found) > limit else None)


@table.route("GET", "/v1/openapi.json", None)
async def openapi(request: ApiRequest) -> Response:
    """The OpenAPI 3.1 document of the service."""
    return Response(request.app.description(), media_type=JSON)


@table.route("POST", "/session", None)
async def log_in(request: ApiRequest, key: str) -> Response:
    """Log in: keep a key in a cookie that scripts cannot read."""
    known = await request.key_cache.authenticate(key, request.address)
    answer = Response(s.encode(s.Session(known.name, sorted(known.scopes), csrf_of(known))), media_type=JSON)
    if known is not ANYBODY:
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, key, HOURS * 3600, secure=secure, httponly=True, samesite="strict")
    return answer


@table.route("GET", "/session", "read")
async def session(request: ApiRequest) -> s.Session:
    """Who is logged in."""
    return s.Session(request.key.name, sorted(request.key.scopes), csrf_of(request.key))


@table.route("DELETE", "/session", None, statuses=(204,))
async def log_out(request: ApiRequest) -> Response:
    """Log out: delete the cookie."""
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, secure=request.url.scheme == "https", httponly=True, samesite="strict")
    return answer


def _results(replies: list[Receipt | Exception]) -> s.TellResults:
    return s.TellResults(
        [
            s.TellResult(reply) if isinstance(reply, Receipt) else s.TellResult(problem=problem_of(reply))
            for reply in replies
        ]
    )


async def _arm(request: ApiRequest, name: str) -> s.ArmAnswer:
    for arm in (await request.campaign.astatus()).arms:
        if arm.name == name:
            return s.answer(s.ArmAnswer, arm)
    raise Refused("not_found", "the campaign has no such arm")


async def _pull(request: ApiRequest) -> PullStatus:
    name = _name(request)
    if isinstance(name, int):
        found = await request.campaign.apulls(after=name - 1, limit=1)
        wanted = [pull for pull in found if pull.id == name]
    else:
        found = await request.campaign.apulls(key=name)
        wanted = [pull for pull in found if pull.key == name]
    if not wanted:
        raise Refused("no_pull")
    return wanted[0]


def _name(request: ApiRequest) -> int | str:
    """The number of the pull in the path, or its key."""
    text: str = request.path_params["pull"]
    if not re.fullmatch(r"[0-9]+", text):
        return text
    if text.startswith("0") or len(text) > LONGEST_NUMBER:
        raise Refused("no_pull")
    return int(text)
