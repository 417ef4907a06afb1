"""From a request to a function, whose signature says what it takes and returns, and back."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from inspect import signature
from typing import Any, TypeVar, get_type_hints

import msgspec
from msgspec import NODEFAULT, defstruct
from msgspec.structs import asdict
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from outlay.campaign import Campaign
from outlay.errors import NoCampaign
from outlay.service import auth
from outlay.service.campaigns import MODEL, OpenCampaigns
from outlay.service.problems import Refused, problem_of
from outlay.service.schemas import AuditEntry, encode

T = TypeVar("T")
Handler = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Handler)
JSON = "application/json"
SAFE = ("GET", "HEAD")
KEYLESS_BYTES = 4096  # of a body at most, where no key is needed


class RouteParameters(msgspec.Struct):
    """Base of the types made from the parameters of handlers."""


class ApiRequest(Request):
    """The request as a handler gets it, with the caller's key and the campaign."""

    key: auth.Key
    campaign: Campaign  # the one in the path
    status: int | None = None  # of the answer, if not the usual one

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send)
        self.campaigns: OpenCampaigns = self.app.campaigns
        self.key_cache: auth.KeyCache = self.app.keys

    @property
    def name(self) -> str:
        """The name of the campaign in the path: of a template, that of its model or of a tenant's campaign."""
        params = self.path_params
        if "template" in params:
            return f"{params['template']}/{params.get('tenant', MODEL)}"
        return str(params.get("campaign", ""))

    @property
    def model(self) -> str | None:
        """The campaign that one of a tenant is made like, when it is first asked."""
        params = self.path_params
        return f"{params['template']}/{MODEL}" if "tenant" in params else None

    @property
    def address(self) -> str:
        """The address of the caller."""
        return "" if self.client is None else self.client.host

    async def unless_gone(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a long wait, which is given up when the caller disconnects or the service stops."""

        async def disconnected() -> None:
            while (await self.receive())["type"] != "http.disconnect":
                continue

        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(disconnected())
        stopping = asyncio.ensure_future(self.campaigns.stopping.wait())
        try:
            await asyncio.wait({task, gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise ClientDisconnect if gone.done() else Refused("busy", "the service stops", 1.0)
        finally:
            for each in (task, gone, stopping):
                each.cancel()
            await asyncio.gather(task, gone, stopping, return_exceptions=True)


@dataclass(frozen=True)
class Route:
    """What can be called, as an ASGI application; `scope` is what the key must allow, None if no key is needed."""

    method: str
    path: str
    scope: auth.Scope | None
    handler: Handler
    body: Any  # the type, or None
    query: Any
    answer: Any
    statuses: tuple[int, ...]  # the usual one first
    media: str  # of the answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the key, read the request, and only then look whether there is a place for it.

        So callers without a key, and bodies that do not arrive, keep nobody out.
        """
        request = ApiRequest(scope, receive, send)
        await self._authorize(request)
        arguments = {}
        if self.query is not None:
            arguments = asdict(_query(request, self.query))
        elif self.body is not None:
            body = self._decoder.decode(await self._read(request))
            arguments = asdict(body) if isinstance(body, RouteParameters) else {"body": body}
        if self.scope is None:
            return await self._answer(request, arguments, send)
        campaigns = request.campaigns
        if campaigns.active >= campaigns.settings.most_active:
            raise Refused("busy", retry_after=1.0)
        campaigns.active += 1
        try:
            await self._answer(request, arguments, send)
        finally:
            campaigns.active -= 1

    async def _answer(self, request: ApiRequest, arguments: dict[str, Any], send: Send) -> None:
        """Call the handler, encode the answer."""
        async with AsyncExitStack() as stack:
            try:
                if request.name:
                    like = request.model if self.scope == "ask" else None
                    request.campaign = await stack.enter_async_context(request.campaigns.using(request.name, like))
                answer = await self.handler(request, **arguments)
            except Exception as error:
                await self._record(request, problem_of(error).status)  # failed attempts are recorded too
                raise
            status = request.status or self.statuses[0]
            await self._record(request, status)
            response = answer if callable(answer) else Response(encode(answer), status, media_type=JSON)
            await response(request.scope, request.receive, send)

    @cached_property
    def _decoder(self) -> msgspec.json.Decoder[Any]:
        return msgspec.json.Decoder(self.body)

    async def _authorize(self, request: ApiRequest) -> None:
        """Check that the caller may do this; a campaign that the key may not see does not exist for it."""
        if self.scope is None:
            return
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        by_cookie = scheme.lower() != "bearer"  # which a browser sends on its own
        token = request.cookies.get(auth.COOKIE, "") if by_cookie else token.strip()
        request.key = await request.key_cache.authenticate(token, request.address)
        request.scope["outlay.key"] = request.key.id
        if (connection := request.scope.get("outlay.connection")) is not None:
            connection.keyless_since = None
        if by_cookie and request.method not in SAFE and request.key_cache.needed:
            given = request.headers.get(auth.CSRF, "")
            if not hmac.compare_digest(given.encode(), auth.csrf_of(request.key).encode()):
                raise Refused("bad_origin", "a browser must send the token of its session")
        if request.name and not request.key.sees(request.name):
            raise NoCampaign("it is another's")
        if not request.key.allows(self.scope):
            raise Refused("forbidden", f"this needs a key with the scope {self.scope!r}")

    async def _read(self, request: ApiRequest) -> bytes:
        """The body; Refused if it is too large or not JSON."""
        most = request.campaigns.settings.most_bytes
        if self.scope is None:
            most = min(most, KEYLESS_BYTES)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise Refused("too_large", f"at most {most} bytes are taken")
        if body and request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise Refused("not_json")
        return body or b"{}"

    async def _record(self, request: ApiRequest, status: int) -> None:
        if self.scope == "admin" and self.method != "GET":
            act, campaign = f"{self.method} {self.path}", request.name or None
            number: str = request.scope["outlay.request"]
            await request.key_cache.record(AuditEntry(datetime.now(UTC), request.key.id, act, campaign, status, number))


class RouteTable(list[Route]):
    """A list of routes, filled by a decorator."""

    def route(
        self, method: str, path: str, scope: auth.Scope | None, *, statuses: tuple[int, ...] = (200,), media: str = JSON
    ) -> Callable[[H], H]:
        """Add a handler. Its parameters after the request are the fields of the body, or of the query of a GET.

        A parameter named `body` is the whole body.
        """

        def add(handler: H) -> H:
            hints = get_type_hints(handler, include_extras=True)
            answer = hints.pop("return")
            given = [parameter for name, parameter in signature(handler).parameters.items() if name != "request"]
            taken = hints.get("body")
            if taken is None and given:
                name = handler.__name__.title().replace("_", "") + ("Query" if method == "GET" else "Body")
                fields = [
                    (each.name, hints[each.name], NODEFAULT if each.default is each.empty else each.default)
                    for each in given
                ]
                taken = defstruct(name, fields, bases=(RouteParameters,), forbid_unknown_fields=True)
            body, query = (None, taken) if method == "GET" else (taken, None)
            self.append(Route(method, path, scope, handler, body, query, answer, statuses, media))
            return handler

        return add


def _query(request: ApiRequest, wanted: type[RouteParameters]) -> RouteParameters:
    given = request.query_params
    if len(given) < len(given.multi_items()):
        raise Refused("bad_request", "the query says something twice")
    known = wanted.__struct_fields__
    if unknown := given.keys() - set(known):
        raise Refused("bad_request", f"the query may say {', '.join(sorted(known))}; got {min(unknown)[:80]!r}")
    return msgspec.convert(dict(given), wanted, strict=False)
