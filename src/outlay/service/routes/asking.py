"""The daily verbs: ask and tell."""

from typing import Any

from outlay.service.call import Call
from outlay.service.problems import Refused, problem_of
from outlay.service.table import Table
from outlay.service.wire import answers as a
from outlay.service.wire import records
from outlay.service.wire import requests as r

table = Table()
CAMPAIGN = "/v1/campaigns/{campaign}"


@table.route("POST", CAMPAIGN + "/ask", "ask")
async def ask(call: Call, body: r.Ask) -> a.Asked:
    """Name the next pull, or up to `n` of them; none and `ended` where the campaign is over.

    With a `key`, asking again gives the same pulls, so that a lost answer does no harm. `not_now`, with `retry_after`,
    says that no pull can be named at the moment; `wait` has the service wait for one.
    """
    campaign = await call.campaign()
    notes: dict[str, Any] = {"tags": body.tags or (), "metadata": body.metadata}
    if body.n is not None:
        if body.wait:
            raise Refused("bad_request", "wait is for a single pull: leave n out")
        pulls = await campaign.aask_many(body.n, body.key, body.ttl, **notes)
        return a.Asked([records.pull(pull) for pull in pulls], not pulls)
    asking = campaign.aask(body.key, body.ttl, wait=body.wait > 0, timeout=body.wait or None, **notes)
    pull = await (call.unless_gone(asking) if body.wait else asking)
    return a.Asked([] if pull is None else [records.pull(pull)], pull is None)


@table.route("POST", CAMPAIGN + "/tell", "tell")
async def tell(call: Call, body: r.Tell | list[r.Tell]) -> a.Receipt | a.TellResults:
    """Record what a pull cost and earned, or what many did: then each has a result of its own.

    Telling the same again is a `duplicate` and changes nothing, so that a tell may be repeated. Where one of many says
    what cannot be (a cost that is no number), all are refused and none is told.
    """
    campaign = await call.campaign()
    if isinstance(body, r.Tell):
        return records.receipt(await campaign.atell(body.pull, body.cost, body.reward))
    replies = await campaign.atell_each([(each.pull, each.cost, each.reward) for each in body])
    return a.TellResults(
        [
            a.TellResult(problem=problem_of(reply))
            if isinstance(reply, Exception)
            else a.TellResult(records.receipt(reply))
            for reply in replies
        ]
    )
