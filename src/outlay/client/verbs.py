"""The verbs of a client: those of `Campaign`, with the same arguments and answers, as requests to the service."""

import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import convert

from outlay.campaign.ledger.events import Amount
from outlay.campaign.pull import AnyPull, number_of, settled
from outlay.campaign.records import Entry, Pull, PullStatus, Receipt, Status
from outlay.client import answers
from outlay.client.requests import Caller, Request, Requests, money
from outlay.errors import NotNow

LOOK = 25.0  # seconds that one request waits for a pull; then another does
PAGE = 1000
SAMPLES = 5000  # of a warm start in one request


def ask(
    client: Caller,
    key: str | None = None,
    ttl: float | None = None,
    *,
    wait: bool = False,
    timeout: float | None = None,
    tags: Iterable[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Requests[Any]:
    """The next pull, or None when the campaign has ended; as `Campaign.ask`.

    The ask has a key before it is sent, so that an answer that is lost costs nothing: sent again, it gets the same
    pull. Give a key of your own where the work may be taken up by another process.
    """
    body: dict[str, Any] = {"key": key or uuid.uuid4().hex, "tags": list(tags)}
    body |= {} if ttl is None else {"ttl": ttl}
    body |= {} if metadata is None else {"metadata": dict(metadata)}
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = LOOK if end is None else min(LOOK, max(0.0, end - time.monotonic()))
        seconds = left if wait else 0.0
        try:
            said = yield Request("POST", client.path("ask"), body | {"wait": seconds}, seconds=seconds)
        except NotNow:
            if not wait or (end is not None and time.monotonic() >= end):
                raise
            continue
        return None if said["ended"] else client.held(convert(said["pulls"][0], Pull))


def ask_many(
    client: Caller,
    n: int,
    key: str | None = None,
    ttl: float | None = None,
    *,
    tags: Iterable[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Requests[list[Any]]:
    """Up to `n` pulls at once; as `Campaign.ask_many`."""
    body: dict[str, Any] = {"n": n, "key": key or uuid.uuid4().hex, "tags": list(tags)}
    body |= {} if ttl is None else {"ttl": ttl}
    body |= {} if metadata is None else {"metadata": dict(metadata)}
    said = yield Request("POST", client.path("ask"), body)
    return [client.held(convert(each, Pull)) for each in said["pulls"]]


def tell(client: Caller, pull: AnyPull, cost: Amount, reward: float) -> Requests[Receipt]:
    """Record what a pull cost and earned; as `Campaign.tell`."""
    said = yield Request("POST", client.path("tell"), outcome("tell", pull, cost, reward))
    settled(pull)
    return convert(said, Receipt)


def tell_many(client: Caller, outcomes: Iterable[tuple[AnyPull, Amount, float]]) -> Requests[list[Receipt]]:
    """Record many outcomes, each (pull, cost, reward); as `Campaign.tell_many`."""
    outcomes = list(outcomes)
    tells = [outcome("tell_many", *each) for each in outcomes]
    said = (yield Request("POST", client.path("tell"), tells)) if tells else {"results": []}
    for each in said["results"]:
        if "problem" in each:
            raise answers.error(each["problem"], client.campaign)
    for pull, _, _ in outcomes:
        settled(pull)
    return [convert(each["receipt"], Receipt) for each in said["results"]]


def cancel(client: Caller, pull: AnyPull, reason: str = "") -> Requests[None]:
    """Say that a pull was never made; as `Campaign.cancel`."""
    yield Request("POST", client.path("pulls", number_of("cancel", pull), "cancel"), {"reason": reason})
    settled(pull)


def charge(client: Caller, pull: AnyPull) -> Requests[None]:
    """Give a pull up, and charge what was set aside for it; as `Campaign.charge`."""
    yield Request("POST", client.path("pulls", number_of("charge", pull), "charge"))
    settled(pull)


def extend(client: Caller, pull: AnyPull, ttl: float) -> Requests[None]:
    """Let a pull under way expire `ttl` seconds from now; as `Campaign.extend`."""
    yield Request("POST", client.path("pulls", number_of("extend", pull), "extend"), {"ttl": ttl})


def amend(
    client: Caller, pull: AnyPull, cost: Amount | None = None, reward: float | None = None, reason: str = ""
) -> Requests[Receipt]:
    """Correct what was told, on the record; as `Campaign.amend`."""
    body = {"cost": money(cost), "reward": None if reward is None else float(reward), "reason": reason}
    path = client.path("pulls", number_of("amend", pull), "amend")
    said = yield Request("POST", path, body)
    return convert(said, Receipt)


def status(client: Caller) -> Requests[Status]:
    """How the campaign stands; as `Campaign.status`."""
    said = yield Request("GET", client.path())
    arms = said["arms"]
    while said["more_arms"] and len(arms) % PAGE == 0:
        page = yield Request("GET", client.path("arms"), query={"after": len(arms), "limit": PAGE})
        arms += page["items"]
        if page["next"] is None:
            break
    return convert(said | {"arms": arms}, Status)


def pulls(
    client: Caller,
    status: str | None = None,
    tag: str | None = None,
    key: str | None = None,
    after: int = 0,
    limit: int | None = None,
) -> Requests[list[PullStatus]]:
    """The pulls that fit, in the order in which they were asked for; as `Campaign.pulls`, in a list."""
    wanted = {name: value for name, value in (("status", status), ("tag", tag), ("key", key)) if value is not None}
    found: list[PullStatus] = []
    while limit is None or len(found) < limit:
        some = PAGE if limit is None else min(PAGE, limit - len(found))
        page = yield Request("GET", client.path("pulls"), query={**wanted, "after": after, "limit": some})
        found += convert(page["items"], list[PullStatus])
        if page["next"] is None:
            break
        after = page["next"]
    return found


def history(client: Caller, after: int = 0, limit: int = PAGE) -> Requests[list[Entry]]:
    """Up to `limit` events after event number `after`, in a list."""
    found: list[Entry] = []
    while len(found) < limit:
        query = {"after": found[-1].seq if found else after, "limit": min(PAGE, limit - len(found))}
        lines = (yield Request("GET", client.path("events"), query=query)).splitlines()
        found += [msgspec.json.decode(line, type=Entry) for line in lines]
        if len(lines) < query["limit"]:
            break
    return found


def set_budget(client: Caller, budget: Amount) -> Requests[None]:
    """Change the budget; as `Campaign.set_budget`."""
    yield Request("POST", client.path("budget"), {"budget": money(budget)})


def set_requests(client: Caller, requests: int) -> Requests[None]:
    """Change how many pulls may be made in all; as `Campaign.set_requests`."""
    yield Request("POST", client.path("requests"), {"requests": requests})


def expect_requests(client: Caller, requests: int) -> Requests[None]:
    """Say how many requests are still to come; as `Campaign.expect_requests`."""
    yield Request("POST", client.path("expect"), {"requests": requests})


def add_arm(client: Caller, name: str, max_cost: Amount | None = None, cost: float | None = None) -> Requests[None]:
    """Add another arm; as `Campaign.add_arm`."""
    yield Request("POST", client.path("arms"), {"name": name, "max_cost": money(max_cost), "cost": cost})


def warm_start(client: Caller, samples: Iterable[tuple[str, Amount, float]], key: str | None = None) -> Requests[int]:
    """Let the policy learn from samples made elsewhere; as `Campaign.warm_start`. Return how many were learned."""
    rows = [(arm, money(cost), float(reward)) for arm, cost, reward in samples]
    key = key or uuid.uuid4().hex
    learned = 0
    for start in range(0, len(rows), SAMPLES):
        name = key if start == 0 else f"{key}/{start}"  # a part of a log is learned once, too
        said = yield Request("POST", client.path("warm"), {"samples": rows[start : start + SAMPLES], "key": name})
        learned += said["samples"]
    return learned


def disable_arm(client: Caller, name: str) -> Requests[None]:
    """Stop pulling an arm; as `Campaign.disable_arm`."""
    yield Request("POST", client.path("arms", name, "disable"))


def enable_arm(client: Caller, name: str) -> Requests[None]:
    """Pull a disabled arm again; as `Campaign.enable_arm`."""
    yield Request("POST", client.path("arms", name, "enable"))


def pause(client: Caller) -> Requests[None]:
    """Name no arm until `resume`; as `Campaign.pause`."""
    yield Request("POST", client.path("pause"))


def resume(client: Caller) -> Requests[None]:
    """Name arms again; as `Campaign.resume`."""
    yield Request("POST", client.path("resume"))


def close(client: Caller) -> Requests[None]:
    """End the campaign for good; as `Campaign.close`."""
    yield Request("POST", client.path("close"))


def archive(client: Caller) -> Requests[None]:
    """Put the campaign away; as `Campaign.archive`."""
    yield Request("POST", client.path("archive"))


def restore(client: Caller) -> Requests[None]:
    """Bring back a campaign that was archived; as `Campaign.restore`."""
    yield Request("POST", client.path("restore"))


def create(client: Caller, /, arms: Any, budget: Amount, policy: Any = None, **terms: Any) -> Requests[Status]:
    """Open the campaign on these terms, or find that it is there on the same; as `Campaign(…)`."""
    given = {name: money(most) for name, most in arms.items()} if isinstance(arms, Mapping) else list(arms)
    said = yield Request(
        "POST",
        "/v1/campaigns",
        {"name": client.campaign, "arms": given, "budget": money(budget), "policy": policy, **terms},
    )
    return convert(said, Status)


def outcome(owner: str, pull: AnyPull, cost: Amount, reward: float) -> dict[str, Any]:
    """A tell as it is sent; True and False count as 1 and 0."""
    return {"pull": number_of(owner, pull), "cost": money(cost), "reward": float(reward)}
