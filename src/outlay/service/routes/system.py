"""The service itself: whether it runs, its numbers, its description, and sessions of browsers."""

import msgspec
from starlette.responses import Response

from outlay._version import __version__
from outlay.campaign.stores.transaction import queue_depth
from outlay.service.call import Call
from outlay.service.keys.key import from_micros
from outlay.service.keys.ring import ANYBODY
from outlay.service.sessions import cookie, csrf_of
from outlay.service.table import Table
from outlay.service.wire import answers as a
from outlay.service.wire.requests import ActsWanted, Body

table = Table()


class LogIn(Body):
    """A key, for a browser that is to remember it."""

    key: str


class Session(msgspec.Struct):
    """Who is logged in, and what the pages must send with whatever changes something."""

    name: str
    scopes: list[str]
    csrf: str


@table.route("GET", "/healthz", None)
async def health(call: Call) -> a.Health:  # noqa: ARG001
    """That the service runs."""
    return a.Health("ok", __version__)


@table.route("GET", "/readyz", None)
async def ready(call: Call) -> a.Health:
    """That the service can read its store, or could a second ago: anybody may ask, so it costs little."""
    await call.ring.refresh()
    return a.Health("ok", __version__)


@table.route("GET", "/metrics", "read", media="text/plain")
async def metrics(call: Call) -> Response:
    """The numbers of the service and of the campaigns that the key may see, for Prometheus."""
    desk = call.desk
    seen = [status for status in await desk.all() if call.key.sees(status.name)]
    text = call.scope["outlay.app"].metrics.text(seen, queue_depth(desk.settings.store), desk.streams)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


@table.route("GET", "/v1/audit", "admin")
async def audit(call: Call, query: ActsWanted) -> a.Acts:
    """What was done with admin keys, the newest first; a key limited to campaigns sees what was done to them."""
    found = await call.ring.acts(call.key, query.limit + 1, query.after)
    items = [a.Act(each.seq, from_micros(each.at), *each[1:-1]) for each in found[: query.limit]]
    return a.Acts(items, items[-1].seq if len(found) > query.limit else None)


@table.route("GET", "/v1/openapi.json", None)
async def openapi(call: Call) -> Response:
    """The description of the service, OpenAPI 3.1."""
    return Response(call.scope["outlay.app"].description(), media_type="application/json")


@table.route("POST", "/session", None)
async def log_in(call: Call, body: LogIn) -> Response:
    """Remember a key in a cookie that no script can read."""
    client = call.scope.get("client") or ("", 0)
    key = await call.ring.holder(body.key, client[0])
    secure = call.scope.get("scheme") == "https"
    answer = Response(a.encode(Session(key.name, sorted(key.scopes), csrf_of(key))), media_type="application/json")
    if key is not ANYBODY:
        answer.raw_headers.append((b"set-cookie", cookie(body.key, secure=secure)))
    return answer


@table.route("GET", "/session", "read")
async def session(call: Call) -> Session:
    """Who is logged in."""
    return Session(call.key.name, sorted(call.key.scopes), csrf_of(call.key))


@table.route("DELETE", "/session", None, status=204)
async def log_out(call: Call) -> Response:
    """Forget the key."""
    secure = call.scope.get("scheme") == "https"
    return Response(status_code=204, headers={"set-cookie": cookie("", secure=secure, end=True).decode()})
