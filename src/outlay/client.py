"""Programs that call the service: `Client` and `AsyncClient`, with the verbs of `Campaign`.

A verb is written once, as the requests that it sends and the pauses between them: a thread takes these steps, or
asyncio does. No verb changes anything the second time, so a request that was lost on the way is sent again.
"""

import asyncio
import fcntl
import inspect
import logging
import math
import os
import random
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from io import FileIO
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast
from urllib.parse import quote

import httpx2
import msgspec
from msgspec import convert

from outlay import errors
from outlay.campaign.context import RequestContext
from outlay.campaign.ledger.events import DEFAULT, Amount
from outlay.campaign.ledger.money import decimal_of
from outlay.campaign.ledger.state import PullPhase
from outlay.campaign.ledger.validation import MOST_REWARD, label
from outlay.campaign.pull import AnyPull, AsyncClientPull, ClientPull, PullInHand, name_of, settled
from outlay.campaign.reasons import MOST as MOST_REASONS
from outlay.campaign.reasons import Reasons
from outlay.campaign.records import Entry, Pull, PullStatus, Receipt, Segment, Status
from outlay.campaign.settings import LONGEST_WAIT, checked_reward, some_arms, triples
from outlay.campaign.shadow import Shadow
from outlay.campaign.spends import SpendingFunctions
from outlay.checks import checked_path, real, writing
from outlay.errors import BadFile, BadParameter, NoCampaign, NotNow, ServiceError, StoreError, Unreachable
from outlay.sansio import Steps, as_async, sync

Json = dict[str, Any]
H = TypeVar("H", bound=PullInHand)  # the pull that a client gives

SPARE = 1.0  # seconds that a service has to answer, after an ask has waited for as long as it may
LOOK = 25.0  # seconds that one request waits for a pull; then another does
PAGE = 1000
SAMPLES = 5000  # of a warm start in one request
FIRST, LONGEST = 0.1, 10.0  # seconds of a pause before a request is sent again, before its random part is taken
BUSY = (502, 503, 504)
OUTAGE = 5.0  # seconds for which a service that could not be reached is not tried again for a tell that may wait
SHADOW_SECONDS = 90.0  # that following a ledger with another policy may take
Most = Amount | Mapping[str, Amount] | None  # what a call can cost: on any arm, or on each that is named
AT_ONCE = 500  # tells of a spool that are delivered in one request
MOST_MONEY = 9 * 10**33  # nearly 2**53 of the largest unit

_log = logging.getLogger("outlay.client")


class _Base(SpendingFunctions, Generic[H]):
    """What both clients share: where the service is, who calls, and for how long to try."""

    _hand: type[H]
    _transport: Any

    def __init__(
        self,
        address: str,
        campaign: str = "default",
        *,
        template: str | None = None,
        key: str | None = None,
        retry_for: float = 60.0,
        timeout: float = 30.0,
        spool: str | Path | None = None,
    ) -> None:
        if not str(address).startswith(("http://", "https://")):
            raise BadParameter("Client", "address", "http://HOST:PORT or https://HOST", address)
        self.campaign = label("Client", "campaign", campaign)
        self._ask_path = path_of(self.campaign, "ask")
        if template is not None:
            named = label("Client", "template", template)
            self._ask_path = f"/v1/templates/{quote(named, safe='')}{self._ask_path.removeprefix('/v1')}"
            self.campaign = f"{named}/{self.campaign}"
        self._address, self._retry_for, self._timeout = address.rstrip("/"), retry_for, timeout
        self._spool = None if spool is None else Spool(spool)
        self._down_until = 0.0
        self._negative_costs = True  # unless this client has opened the campaign, and knows better
        key = key or os.environ.get("OUTLAY_KEY")
        settings = {
            "base_url": self._address,
            "verify": self._address.startswith("https"),  # without TLS there is nothing to load certificates for
            "headers": {"authorization": f"Bearer {key}"} if key else {},
        }
        self._http = self._transport(**settings)  # no connection is made before the first request

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of campaign {self.campaign!r} at {self._address}>"

    def _get(self, *parts: object, **query: object) -> Steps[Any]:
        return self._send("GET", path_of(self.campaign, *parts), query=query)

    def _post(self, *parts: object, **fields: object) -> Steps[Any]:
        return self._send("POST", path_of(self.campaign, *parts), fields or None)

    def _named(self) -> str:
        return self.campaign

    def _verbs(self, is_async: bool) -> Callable[[str], Callable[..., Any]]:
        if is_async is not isinstance(self, AsyncClient):
            allowed = "async functions with an AsyncClient, and others with a Client"
            raise BadParameter("spends", "functions", allowed, "async ones" if is_async else "others")
        return lambda verb: getattr(self, verb)

    def _held(self, said: Json) -> H:
        return self._hand.of(convert(said, Pull), self, self.campaign)

    def _settle(self, verb: str, pull: AnyPull, said: Json) -> Steps[Receipt]:
        receipt = convert((yield from self._post(verb, **said)), Receipt)
        settled(pull)
        return receipt

    def _tell_or_keep(self, verb: str, pull: AnyPull, said: Json) -> Steps[Receipt]:
        """Send it; where the service cannot be reached and there is a spool, keep it there."""
        if self._spool is None:
            return (yield from self._settle(verb, pull, said))
        if time.monotonic() >= self._down_until:
            try:
                yield from self._deliver()
                return (yield from self._settle(verb, pull, said))
            except NoCampaign:
                raise
            except (Unreachable, StoreError):
                self._down_until = time.monotonic() + OUTAGE
        self._spool.add({"campaign": self.campaign, **said})
        settled(pull)
        arm, cost = pull.arm if isinstance(pull, Pull) else "", float(said.get("cost", "nan"))
        number = said["pull"] if isinstance(said["pull"], int) else 0
        return Receipt(number, arm, cost, said["reward"], duplicate=False, late=False, overrun=False)

    def _outcome(self, owner: str, pull: AnyPull, cost: Amount, reward: float | None) -> Json:
        """A tell as it is sent; True and False count as 1 and 0."""
        paid = _paid(owner, cost)
        if paid < 0 and not self._negative_costs:
            raise BadParameter(owner, "cost", "≥ 0 in this campaign", cost)
        earned = None if reward is None else _earned(owner, reward)
        return {"pull": name_of(owner, pull), "cost": str(paid), "reward": earned}

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Json | None = None,
        seconds: float = 0.0,
        until: float = math.inf,
    ) -> Steps[Any]:
        """Send a request until there is an answer, which the service was asked to wait with for so many seconds.

        A step is what to send, as httpx takes it, or the seconds to pause: at random, so that a thousand clients do not
        come back at once, and as long as the service says, but never later than `until`. What the service refuses is
        raised.
        """
        timeout = min(self._timeout + seconds, max(0.001, until - time.monotonic()))
        request: Json = {"method": method, "url": path, "params": query, "timeout": timeout}
        if body is not None:
            content = msgspec.json.encode(body, enc_hook=_plain)  # money keeps every digit
            request |= {"content": content, "headers": {"content-type": "application/json"}}
        patience = min(self._retry_for, OUTAGE) if self._spool is not None else self._retry_for
        end, pause, error = min(until, time.monotonic() + patience), FIRST, Exception()
        while True:
            at_least = 0.0
            try:
                answer: httpx2.Response = yield request
            except httpx2.TransportError as cause:
                error = Unreachable(self._address, str(cause) or type(cause).__name__)
                error.__cause__ = cause
            else:
                if answer.status_code < 400:
                    is_json = answer.headers.get("content-type", "") == "application/json"
                    return msgspec.json.decode(answer.content) if is_json else answer.content
                problem = _problem(answer)
                error = _error(problem, self.campaign, body.get("key") if isinstance(body, dict) else None)
                if answer.status_code not in BUSY:
                    raise error
                if problem["code"] not in ("store_busy", "store_error"):
                    error = Unreachable(self._address, problem.get("detail") or problem["code"])
                after = answer.headers.get("retry-after", "")
                at_least = float(after) if after.isdigit() else 0.0
            wait = at_least + random.uniform(0, pause)  # noqa: S311 (no secret)
            if time.monotonic() + wait >= end:
                raise error
            pause = min(LONGEST, 2 * pause)
            yield wait

    def _deliver(self) -> Steps[int]:
        done, most = 0, AT_ONCE
        while self._spool is not None and (some := self._spool.waiting[:most]):
            (campaign, has_cost), same = next(groupby(some, key=lambda each: (each["campaign"], "cost" in each)))
            tells = [*same]
            body = [{name: value for name, value in each.items() if name != "campaign"} for each in tells]
            path = path_of(campaign, "tell" if has_cost else "reward")
            try:
                results = (yield from self._send("POST", path, body))["results"]
            except NoCampaign:
                results = [{"problem": {"code": "no_campaign"}}] * len(tells)
            except ServiceError as error:
                if error.code != "bad_request":
                    raise
                if len(tells) > 1:  # one of them is bad, and all were refused for it
                    most = 1
                    continue
                results = [{"problem": {"code": error.code, "detail": error.detail}}]
            self._spool.delivered(tells, results)
            done += len(tells)
        return done


class Client(_Base[ClientPull]):
    """A campaign of a service, with the verbs of `Campaign`. May be used from many threads.

    Every ask has a key before it is first sent, so whatever is lost on the way can be sent again, and is: for up to
    `retry_for` seconds, after pauses of random length, or as long as the service says.

    Args:
        address: of the service, as http://localhost:8700.
        campaign: its name; with a template, that of the tenant.
        template: the template that the campaign is made from when it is first asked.
        key: the key to use; OUTLAY_KEY in the environment if not given.
        retry_for: seconds for which a request is tried again where the service cannot be reached.
        timeout: seconds to wait for one answer.
        spool: a file for tells while the service cannot be reached: they are delivered with the next tell that gets
            through, or by `deliver`. Such a receipt has an empty `head`; that of a reward has nan for its cost, and
            0 for the number of a pull of which the key is known alone.
    """

    _hand, _transport = ClientPull, httpx2.Client

    def _perform(self, step: Json | float) -> Any:
        return time.sleep(step) if isinstance(step, float) else self._http.request(**step)

    @sync
    def create(self, /, arms: Any, budget: Amount, policy: Any = None, **terms: Any) -> Steps[Status]:
        """Open the campaign on these terms, or find that it is there on the same; as `Campaign(…)`."""
        given = {name: _money(most) for name, most in arms.items()} if isinstance(arms, Mapping) else list(arms)
        body = {"name": self.campaign, "arms": given, "budget": _money(budget), "policy": policy, **terms}
        found = convert((yield from self._send("POST", "/v1/campaigns", body)), Status)
        self._negative_costs = terms.get("negative_costs", DEFAULT.negative_costs)
        return found

    @sync
    def ask(
        self,
        key: str | None = None,
        ttl: float | str | None = None,
        *,
        most: Most = None,
        arms: Iterable[str] | None = None,
        wait: bool | float = False,
        timeout: float | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        context: RequestContext | None = None,
    ) -> Steps[ClientPull | None]:
        """The next pull, or None when the campaign has ended; as `Campaign.ask`.

        The ask has a key before it is sent, so that an answer that is lost costs nothing: sent again, it gets the same
        pull. Give a key of your own where the work may be taken up by another process. With a number as `wait`, a
        service that does not answer has a second more; then Unreachable or StoreBusy is raised.
        """
        path, body = self._ask_path, _asked(key, ttl, most, arms, tags, metadata, context)
        bounded = not isinstance(wait, bool)  # then the fallback is named in the end, if there is one
        within = real("ask", "wait", wait, at_least=0, at_most=LONGEST_WAIT) if bounded else math.inf if wait else 0.0
        end = time.monotonic() + min(within, math.inf if timeout is None else timeout)
        while True:
            seconds = max(0.0, end - time.monotonic())
            last, seconds = seconds <= LOOK, min(LOOK, seconds)
            said = body | {"wait": seconds, "or_fallback": last and bounded}
            try:
                until = end + SPARE if bounded else math.inf
                said = yield from self._send("POST", path, said, seconds=seconds, until=until)
            except NotNow:
                if last:
                    raise
                continue
            return None if said["ended"] else self._held(said["pulls"][0])

    @sync
    def ask_many(
        self,
        n: int,
        key: str | None = None,
        ttl: float | str | None = None,
        *,
        most: Most = None,
        arms: Iterable[str] | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        context: RequestContext | None = None,
    ) -> Steps[list[ClientPull]]:
        """Up to `n` pulls at once; as `Campaign.ask_many`."""
        asked = _asked(key, ttl, most, arms, tags, metadata, context)
        said = yield from self._send("POST", self._ask_path, {"n": n, **asked})
        return [self._held(each) for each in said["pulls"]]

    @sync
    def tell(self, pull: AnyPull, cost: Amount, reward: float | None = None) -> Steps[Receipt]:
        """Record what a pull cost and earned, or what it cost alone; as `Campaign.tell`.

        Where there is a spool and the service cannot be reached, the tell is kept there, to be delivered later.
        """
        said = self._outcome("tell", pull, cost, reward)
        return (yield from self._tell_or_keep("tell", pull, said))

    @sync
    def reward(self, pull: AnyPull, value: float) -> Steps[Receipt]:
        """Record what a pull earned whose cost was told before; as `Campaign.reward`.

        It may wait in the spool, like a tell.
        """
        said = {"pull": name_of("reward", pull), "reward": _earned("reward", value)}
        return (yield from self._tell_or_keep("reward", pull, said))

    @sync
    def tell_many(self, outcomes: Iterable[tuple[AnyPull, Amount, float | None]]) -> Steps[list[Receipt]]:
        """Record many outcomes, each (pull, cost, reward); as `Campaign.tell_many`."""
        rows = list(triples("tell_many", "outcomes", outcomes))
        tells = [self._outcome("tell_many", *row) for row in rows]
        path = path_of(self.campaign, "tell")
        results = (yield from self._send("POST", path, tells))["results"] if tells else []
        for each in results:
            if "problem" in each:
                raise _error(each["problem"], self.campaign)
        for pull, _, _ in rows:
            settled(pull)
        return convert([each["receipt"] for each in results], list[Receipt])

    @sync
    def deliver(self) -> Steps[int]:
        """Deliver what waits in the spool; return how many tells that were.

        What the service will never take goes to the file of those that were refused: it must not keep others waiting.
        """
        return (yield from self._deliver())

    @sync
    def cancel(self, pull: AnyPull, reason: str = "") -> Steps[None]:
        """Say that a pull was never made; as `Campaign.cancel`."""
        yield from self._post("pulls", name_of("cancel", pull), "cancel", reason=reason)
        settled(pull)

    @sync
    def charge(self, pull: AnyPull) -> Steps[None]:
        """Give a pull up, and charge what was set aside for it; as `Campaign.charge`."""
        yield from self._post("pulls", name_of("charge", pull), "charge")
        settled(pull)

    @sync
    def extend(self, pull: AnyPull, ttl: float | str) -> Steps[None]:
        """Let a pull under way expire `ttl` seconds from now; as `Campaign.extend`."""
        yield from self._post("pulls", name_of("extend", pull), "extend", ttl=ttl)

    @sync
    def amend(
        self, pull: AnyPull, cost: Amount | None = None, reward: float | None = None, reason: str = ""
    ) -> Steps[Receipt]:
        """Correct what was told, on the record; as `Campaign.amend`."""
        number, earned = name_of("amend", pull), None if reward is None else _earned("amend", reward)
        said = yield from self._post("pulls", number, "amend", cost=_money(cost), reward=earned, reason=reason)
        return convert(said, Receipt)

    @sync
    def status(self) -> Steps[Status]:
        """How the campaign stands; as `Campaign.status`."""
        said = yield from self._get()
        after = len(said["arms"]) if said["more_arms"] else None
        while after is not None:
            page = yield from self._get("arms", after=after, limit=PAGE)
            said["arms"] += page["items"]
            after = page["next"]
        return convert(said, Status)

    @sync
    def reasons(self, most: int = MOST_REASONS, context: RequestContext | None = None) -> Steps[Reasons]:
        """Which arm an ask would name now, and why; as `Campaign.reasons`."""
        told = {} if context is None else {"context": msgspec.json.encode(_told(context), enc_hook=_plain).decode()}
        return convert((yield from self._get("reasons", most=most, **told)), Reasons)

    @sync
    def pulls(
        self,
        status: PullPhase | None = None,
        tag: str | None = None,
        key: str | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Steps[list[PullStatus]]:
        """The pulls that fit, in the order in which they were asked for; as `Campaign.pulls`, in a list."""
        given = {"status": status, "tag": tag, "key": key}
        wanted = {name: value for name, value in given.items() if value is not None}
        found: list[PullStatus] = []
        while limit is None or len(found) < limit:
            some = PAGE if limit is None else min(PAGE, limit - len(found))
            page = yield from self._get("pulls", **wanted, after=after, limit=some)
            found += convert(page["items"], list[PullStatus])
            if page["next"] is None:
                break
            after = page["next"]
        return found

    @sync
    def history(self, after: int = 0, limit: int = PAGE) -> Steps[list[Entry]]:
        """Up to `limit` events after event number `after`, in a list."""
        found: list[Entry] = []
        while len(found) < limit:
            start, some = found[-1].seq if found else after, min(PAGE, limit - len(found))
            lines = (yield from self._get("events", after=start, limit=some)).splitlines()
            found += [msgspec.json.decode(line, type=Entry) for line in lines]
            if len(lines) < some:
                break
        return found

    @sync
    def segments(self, name: str) -> Steps[list[Segment]]:
        """Pulls, spend and reward by category; as `Campaign.segments`."""
        return convert((yield from self._get("segments", name=name))["items"], list[Segment])

    @sync
    def shadow(self, policy: Any = None) -> Steps[Shadow]:
        """What another policy would have earned; as `Campaign.shadow`, with a name, or that and parameters."""
        path = path_of(self.campaign, "shadow")
        return convert((yield from self._send("POST", path, {"policy": policy}, seconds=SHADOW_SECONDS)), Shadow)

    @sync
    def set_budget(self, budget: Amount) -> Steps[None]:
        """Change the budget; as `Campaign.set_budget`."""
        yield from self._post("budget", budget=_money(budget))

    @sync
    def set_requests(self, requests: int) -> Steps[None]:
        """Change how many pulls may be made in all; as `Campaign.set_requests`."""
        yield from self._post("requests", requests=requests)

    @sync
    def expect_requests(self, requests: int) -> Steps[None]:
        """Say how many requests are still to come; as `Campaign.expect_requests`."""
        yield from self._post("expect", requests=requests)

    @sync
    def warm_start(self, samples: Iterable[tuple[str, Amount, float]], key: str | None = None) -> Steps[int]:
        """Let the policy learn from samples made elsewhere; as `Campaign.warm_start`. Return how many were learned."""
        given = triples("warm_start", "samples", samples)
        rows = [(arm, _paid("warm_start", cost), _earned("warm_start", reward)) for arm, cost, reward in given]
        key = key or uuid.uuid4().hex
        learned = 0
        for start in range(0, len(rows), SAMPLES):
            name = key if start == 0 else f"{key}/{start}"  # a part of a log is learned once, too
            learned += (yield from self._post("warm", samples=rows[start : start + SAMPLES], key=name))["samples"]
        return learned

    @sync
    def add_arm(self, name: str, max_cost: Amount | None = None, cost: float | None = None) -> Steps[None]:
        """Add another arm; as `Campaign.add_arm`."""
        yield from self._post("arms", name=name, max_cost=_money(max_cost), cost=cost)

    @sync
    def disable_arm(self, name: str) -> Steps[None]:
        """Stop pulling an arm; as `Campaign.disable_arm`."""
        yield from self._post("arms", name, "disable")

    @sync
    def enable_arm(self, name: str) -> Steps[None]:
        """Pull a disabled arm again; as `Campaign.enable_arm`."""
        yield from self._post("arms", name, "enable")

    @sync
    def pause(self) -> Steps[None]:
        """Name no arm until `resume`; as `Campaign.pause`."""
        yield from self._post("pause")

    @sync
    def resume(self) -> Steps[None]:
        """Name arms again; as `Campaign.resume`."""
        yield from self._post("resume")

    @sync
    def close(self) -> Steps[None]:
        """End the campaign for good; as `Campaign.close`."""
        yield from self._post("close")

    @sync
    def archive(self) -> Steps[None]:
        """Put the campaign away; as `Campaign.archive`."""
        yield from self._post("archive")

    @sync
    def restore(self) -> Steps[None]:
        """Bring back a campaign that was archived; as `Campaign.restore`."""
        yield from self._post("restore")

    def for_asyncio(self) -> "AsyncClient":
        """The same client for asyncio, with connections of its own; a spool stays with this one."""
        other = AsyncClient(self._address, self.campaign, retry_for=self._retry_for, timeout=self._timeout)
        other._ask_path, other._negative_costs = self._ask_path, self._negative_costs
        other._http.headers = self._http.headers
        return other

    def disconnect(self) -> None:
        """Let the connections go; the campaign stays as it is."""
        self._http.close()
        if self._spool is not None:
            self._spool.close()

    def __iter__(self) -> Iterator[ClientPull]:
        """Pull after pull, waiting where none can be named at the moment, until the campaign ends."""
        while (pull := self.ask(wait=True)) is not None:
            yield pull

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.disconnect()


class AsyncClient(_Base[AsyncClientPull]):
    """`Client` for asyncio: the same verbs, awaited, and `async for pull in client`."""

    _hand, _transport = AsyncClientPull, httpx2.AsyncClient

    async def _aperform(self, step: Json | float) -> Any:
        return await (asyncio.sleep(step) if isinstance(step, float) else self._http.request(**step))

    ask = cast("Callable[..., Coroutine[Any, Any, AsyncClientPull | None]]", as_async(Client.ask, ""))
    ask_many = cast("Callable[..., Coroutine[Any, Any, list[AsyncClientPull]]]", as_async(Client.ask_many, ""))
    create, tell, tell_many = as_async(Client.create, ""), as_async(Client.tell, ""), as_async(Client.tell_many, "")
    reward = as_async(Client.reward, "")
    deliver, cancel, charge = as_async(Client.deliver, ""), as_async(Client.cancel, ""), as_async(Client.charge, "")
    extend, amend, status = as_async(Client.extend, ""), as_async(Client.amend, ""), as_async(Client.status, "")
    pulls, history, reasons = as_async(Client.pulls, ""), as_async(Client.history, ""), as_async(Client.reasons, "")
    segments, shadow = as_async(Client.segments, ""), as_async(Client.shadow, "")
    warm_start, add_arm = as_async(Client.warm_start, ""), as_async(Client.add_arm, "")
    set_budget, set_requests = as_async(Client.set_budget, ""), as_async(Client.set_requests, "")
    expect_requests, archive = as_async(Client.expect_requests, ""), as_async(Client.archive, "")
    disable_arm, enable_arm = as_async(Client.disable_arm, ""), as_async(Client.enable_arm, "")
    pause, resume, close = as_async(Client.pause, ""), as_async(Client.resume, ""), as_async(Client.close, "")
    restore = as_async(Client.restore, "")

    async def disconnect(self) -> None:
        """Let the connections go; the campaign stays as it is."""
        await self._http.aclose()
        if self._spool is not None:
            self._spool.close()

    async def __aiter__(self) -> AsyncIterator[AsyncClientPull]:
        """Pull after pull, waiting where none can be named at the moment, until the campaign ends."""
        while (pull := await self.ask(wait=True)) is not None:
            yield pull

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.disconnect()


_verb: Any
for _verb, _given in ((AsyncClient.ask, AsyncClientPull | None), (AsyncClient.ask_many, list[AsyncClientPull])):
    _verb.__signature__ = inspect.signature(_verb).replace(return_annotation=_given)


class Spool:
    """Tells that could not be delivered, in a file until they can: an outage of the service does not stop the work.

    There is one tell per line, and the file is for one process at a time. What the service refuses goes to a file
    beside it.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self._lock = checked_path("Spool", path), threading.Lock()
        try:
            self._file = self._path.open("a+b", buffering=0)  # what could not be written is not tried again behind us
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise BadFile(f"{path} is the spool of another process: give each its own") from None
        except OSError as error:
            raise BadFile(f"{path} cannot be a spool: {error.strerror}") from error
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        if lines[-1]:  # cut off by a crash, and not promised to anybody
            self._file.truncate(sum(len(line) + 1 for line in lines[:-1]))
        try:
            self.waiting: list[Json] = [msgspec.json.decode(line) for line in lines[:-1] if line]
        except (msgspec.DecodeError, UnicodeError):
            raise BadFile(f"{self._path} is no spool") from None

    def add(self, tell: Json) -> None:
        """Keep a tell; it is on disk when this returns."""
        with self._lock:
            with writing(self._path):
                _append(self._file, [tell])
            self.waiting.append(tell)

    def delivered(self, tells: list[Json], results: list[Json]) -> None:
        """These were told, or refused for good; what was refused is kept for people to look at."""
        pairs = zip(tells, results, strict=True)
        refused = [{**tell, "problem": result["problem"]} for tell, result in pairs if "problem" in result]
        if refused:
            name = self._path.with_name(f"{self._path.name}.refused")
            _log.error("%d tells from the spool were refused: see %s", len(refused), name)
            with writing(name), name.open("ab", buffering=0) as file:
                _append(file, refused)
        told = {id(tell) for tell in tells}
        with self._lock:
            self.waiting = [tell for tell in self.waiting if id(tell) not in told]
            if not self.waiting:  # to be told again is harmless, so the file need not shrink line by line
                with writing(self._path):
                    self._file.truncate(0)
                    _append(self._file, [])

    def close(self) -> None:
        """Let the file go; what waits is delivered by the next who opens it."""
        self._file.close()


def _append(file: FileIO, rows: list[Json]) -> None:
    """Write a row per line, all or none; they are on disk when this returns."""
    lines, end = memoryview(msgspec.json.Encoder(enc_hook=_plain).encode_lines(rows)), file.seek(0, os.SEEK_END)
    try:
        while lines:
            lines = lines[file.write(lines) :]
        os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            file.truncate(end)
        raise


def path_of(campaign: str, *parts: object) -> str:
    """The path of something in a campaign, whatever is in its names.

    >>> path_of("spring/1", "arms", "a b", "disable")
    '/v1/campaigns/spring%2F1/arms/a%20b/disable'
    """
    return "/".join(["/v1/campaigns", *(quote(str(part), safe="") for part in (campaign, *parts))])


def _asked(
    key: str | None,
    ttl: float | str | None,
    most: Most,
    arms: Iterable[str] | None,
    tags: Iterable[str],
    metadata: Mapping[str, Any] | None,
    context: RequestContext | None,
) -> Json:
    known = None if metadata is None else dict(metadata)
    if isinstance(most, Mapping):
        ceiling: object = {arm: str(_paid("ask", each, "most")) for arm, each in most.items()}
    else:
        ceiling = None if most is None else str(_paid("ask", most, "most"))
    asked = {"key": key or uuid.uuid4().hex, "ttl": ttl, "most": ceiling, "tags": list(tags), "metadata": known}
    if context is not None:
        asked |= {"context": _told(context)}
    return asked if arms is None else asked | {"arms": some_arms("ask", arms)}


def _told(context: RequestContext) -> Json | list[float]:
    """What is told of a request, as JSON has it."""
    if not isinstance(context, Mapping):
        return [*context]
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in context.items()}


def _earned(owner: str, reward: float) -> float:
    earned = checked_reward(owner, reward)
    if abs(earned) > MOST_REWARD:
        raise BadParameter(owner, "reward", f"from -{MOST_REWARD:g} to {MOST_REWARD:g}", reward)
    return earned


def _paid(owner: str, cost: Amount, name: str = "cost") -> Decimal:
    paid = decimal_of(cost)
    if paid is None or paid.copy_abs() > MOST_MONEY:
        raise BadParameter(owner, name, f"a finite number from -{MOST_MONEY:.0e} to {MOST_MONEY:.0e}", cost)
    return paid


def _money(value: object) -> object:
    """An amount as it is sent: a Decimal in digits, a float as the decimal number that it prints as.

    >>> _money(Decimal("0.10")), _money(0.1), _money(3)
    ('0.10', '0.1', 3)
    """
    if isinstance(value, float):
        return repr(float(value))
    return str(value) if isinstance(value, Decimal) else value


def _plain(value: object) -> int | float:
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return float(value)
    raise BadParameter("a request", "each value", "a number, text, or a list or mapping of these", value)


def _problem(answer: httpx2.Response) -> Json:
    """What is wrong, as the service says it; a proxy in between may say something else."""
    with suppress(msgspec.DecodeError):
        said = msgspec.json.decode(answer.content)
        if isinstance(said, dict) and isinstance(said.get("code"), str):
            return said
    return {"code": f"http_{answer.status_code}", "detail": answer.reason_phrase}


def _error(problem: Json, campaign: str, key: str | None = None) -> errors.OutlayError:
    """The error that a problem is.

    >>> print(_error({"code": "not_now", "detail": "the campaign is paused", "retry_after": 1.0}, "spring"))
    the campaign is paused: ask again in 1 s
    """
    code, detail = problem["code"], problem.get("detail") or problem.get("title", "")
    match code:
        case "not_now":
            return errors.NotNow(detail, problem["retry_after"])
        case "pull_over" if problem.get("pull"):
            over = convert(problem["pull"], Pull)
            return errors.PullOver(key or "", over.id, over.status, over)
        case "nothing_told":
            return errors.NothingTold(problem.get("arms") or [])
        case "over_budget":
            return errors.OverBudget(problem["most"], problem["left"], problem.get("retry_after"))
        case "conflict":
            return errors.CampaignConflict(detail)
        case "store_busy":
            return errors.StoreBusy(detail)
        case "store_error":
            return errors.StoreError(detail)
        case "no_campaign" | "no_template":
            return errors.NoCampaign(f"the service has no campaign {campaign!r}, or the key may not see it")
    return errors.ServiceError(code, detail)
