"""One request, from the wire to a verb of a campaign and back."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import cookie_parser
from starlette.types import Message, Receive, Scope, Send

from outlay.campaign import Campaign
from outlay.errors import NoCampaign
from outlay.service.desk import Desk
from outlay.service.keys.book import Act, now
from outlay.service.keys.key import Key
from outlay.service.keys.ring import KeyRing
from outlay.service.problems import Refused, problem_of
from outlay.service.sessions import COOKIE, checked_csrf
from outlay.service.table import Route
from outlay.service.wire.answers import encode

T = TypeVar("T")
SAFE = ("GET", "HEAD")


class Call:
    """What a handler is handed: who calls, about which campaign, and what was said."""

    __slots__ = ("_receive", "desk", "headers", "key", "parameters", "ring", "scope", "send")

    def __init__(self, scope: Scope, receive: Receive, send: Send, desk: Desk, ring: KeyRing) -> None:
        self.scope, self._receive, self.send, self.desk, self.ring = scope, receive, send, desk, ring
        self.headers: dict[bytes, bytes] = scope["outlay.headers"]
        self.parameters: dict[str, str] = scope["path_params"]
        self.key: Key

    @property
    def name(self) -> str:
        """The name of the campaign that it is about."""
        return self.parameters["campaign"]

    async def campaign(self) -> Campaign:
        """The campaign that it is about."""
        return await self.desk.campaign(self.name)

    async def enter(self, route: Route) -> None:
        """See that the caller may do this; what a key may not see is not there."""
        if route.scope is None:
            return
        token, by_cookie = self._token()
        client = self.scope.get("client") or ("", 0)
        self.key = await self.ring.holder(token, client[0])
        self.scope["outlay.key"] = self.key.id
        if by_cookie and self.scope["method"] not in SAFE and self.ring.needed:
            checked_csrf(self.key, self.headers)
        if (name := self.parameters.get("campaign")) is not None and not self.key.sees(name):
            raise NoCampaign("it is another's")
        if not self.key.allows(route.scope):
            raise Refused("forbidden", f"this needs a key with the scope {route.scope!r}")

    async def allowed(self) -> bool:
        """Whether the caller's key is still one."""
        return await self.ring.holds(self.key)

    async def read(self) -> bytes:
        """The body; Refused where it is too large, or no JSON."""
        kind = self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        most = self.desk.settings.most_bytes
        length = self.headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > most:
            raise Refused("too_large", f"at most {most} bytes are taken")
        parts, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part = message.get("body", b"")
            size += len(part)
            if size > most:
                raise Refused("too_large", f"at most {most} bytes are taken")
            parts.append(part)
            if not message.get("more_body", False):
                break
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if body and kind != b"application/json":
            raise Refused("not_json")
        return body or b"{}"

    def query(self, wanted: type[T]) -> T:
        """What the query says."""
        text = self.scope["query_string"].decode("latin-1")
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=50)
        except ValueError:
            raise Refused("bad_request", "the query says too much") from None
        given = dict(pairs)
        if len(given) < len(pairs):
            raise Refused("bad_request", "the query says something twice")
        known = {field.name for field in msgspec.structs.fields(wanted)}  # type: ignore[arg-type]
        if unknown := given.keys() - known:
            raise Refused("bad_request", f"the query may say {', '.join(sorted(known))}; got {min(unknown)[:80]!r}")
        return msgspec.convert(given, wanted, strict=False)

    async def unless_gone(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of a long wait; it is given up where the caller has gone, or the service stops."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._gone())
        stopping = asyncio.ensure_future(self.desk.stopping.wait())
        try:
            await asyncio.wait({task, gone, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise Gone if gone.done() else Refused("busy", "the service stops", 1.0)
        finally:
            for each in (task, gone, stopping):
                each.cancel()
            await asyncio.gather(task, gone, stopping, return_exceptions=True)

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            continue

    async def note(self, route: Route, status: int) -> None:
        """Keep what an admin did."""
        request = self.scope["outlay.request"]
        act = f"{route.method} {route.path}"
        await self.ring.note_act(Act(now(), self.key.id, act, self.parameters.get("campaign"), status, request))

    def _token(self) -> tuple[str | None, bool]:
        """The token of the request, and whether a browser sent it by itself."""
        scheme, _, token = self.headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() == "bearer":
            return token.strip(), False
        cookie = self.headers.get(b"cookie")
        return (None if cookie is None else cookie_parser(cookie.decode("latin-1")).get(COOKIE)), True


class Gone(Exception):
    """The caller does not wait for an answer any more."""


class Endpoint:
    """A route as an application of ASGI."""

    def __init__(self, route: Route, desk: Desk, ring: KeyRing) -> None:
        self.route, self._desk, self._ring = route, desk, ring
        self._body = None if route.body is None else msgspec.json.Decoder(route.body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, decode, call, encode."""
        route = self.route
        scope["outlay.route"] = route.path
        call = Call(scope, receive, send, self._desk, self._ring)
        await call.enter(route)
        arguments: dict[str, Any] = {}
        if route.query is not None:
            arguments["query"] = call.query(route.query)
        if self._body is not None:
            arguments["body"] = self._body.decode(await call.read())
        try:
            answer = await route.handler(call, **arguments)
        except Exception as error:  # what an admin tried is on record, too
            if route.changes:
                await call.note(route, problem_of(error).status)
            raise
        status = route.status
        if isinstance(answer, tuple):
            answer, status = answer
        if route.changes:
            await call.note(route, status)
        if callable(answer):  # a response that sends itself
            await answer(scope, receive, send)
        else:
            await respond(send, status, [(b"content-type", b"application/json")], encode(answer))


class ByMethod:
    """What stands at one path: an endpoint for each method."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._endpoints = {each.route.method: each for each in endpoints}
        self._allowed = ", ".join(sorted(self._endpoints)).encode()
        if "GET" in self._endpoints:
            self._endpoints["HEAD"] = self._endpoints["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand over to the method's endpoint."""
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is None:
            scope["outlay.allow"] = self._allowed
            raise Refused("method_not_allowed")
        await endpoint(scope, receive, send)


async def respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send an answer in one piece."""
    start: Message = {
        "type": "http.response.start",
        "status": status,
        "headers": [*headers, (b"content-length", str(len(body)).encode())],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})
