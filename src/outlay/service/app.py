"""The service as an ASGI application: routing, what applies to every request, traces and metrics."""

import asyncio
import json
import logging
import re
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from itertools import count
from typing import Protocol
from urllib.parse import unquote

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlay.campaign.records import Status
from outlay.campaign.stores.transaction import queue_depth
from outlay.errors import BadParameter
from outlay.service import LOOPBACK, ServiceSettings, streams
from outlay.service.alerts import BudgetAlerts
from outlay.service.auth import KeyCache
from outlay.service.campaigns import OpenCampaigns
from outlay.service.endpoints import SAFE
from outlay.service.openapi import ROUTES, document
from outlay.service.problems import Refused, headers_of, problem_of
from outlay.service.schemas import encode

ONCE = ("host", "authorization", "content-type")  # headers that may stand once
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFETY = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
TIMES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 60.0)  # seconds
MOST_ARMS = 100  # of a campaign that have metrics of their own

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_REQUEST_IDS = map((uuid.uuid4().hex[:20] + "{:012x}").format, count())  # for requests without one
_log = logging.getLogger("outlay.service")


class Beside(Protocol):
    """What is served beside the service's own routes: by path and method, and what begins and ends with the service."""

    @property
    def paths(self) -> Mapping[str, Mapping[str, ASGIApp]]:
        """The applications."""

    async def begin(self) -> None:
        """Called before the first request."""

    async def end(self) -> None:
        """Called after the last."""


class Application:
    """The service of one store, to be run by `uvicorn` or a test client.

    Every request passes here: its host, origin and number are checked, headers added, errors told as problems, logged.
    """

    def __init__(self, settings: ServiceSettings, beside: Beside | None = None) -> None:
        self.settings, self._beside = settings, beside
        self.campaigns, self.keys = OpenCampaigns(settings), KeyCache(settings.store)
        self.metrics = Metrics(self.campaigns)
        self._hosts = {*settings.hosts, *LOOPBACK} if settings.hosts or settings.on_loopback else None  # None: any
        paths: defaultdict[str, ByMethod] = defaultdict(ByMethod)
        for route in ROUTES:
            paths[route.path].apps[route.method] = route
        for path, page in streams.pages().items():
            paths[path].apps["GET"] = page
        for path, apps in ({} if beside is None else beside.paths).items():
            paths[path].apps |= apps
        listed = [Route(path, by_method) for path, by_method in paths.items()]
        self._router = Router(listed, redirect_slashes=False, default=_nothing_here, lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        scope["app"] = self
        if scope["type"] != "http":
            return await self._router(scope, receive, send)
        began = time.perf_counter()
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request = scope["outlay.request"] = given if _REQUEST_ID.fullmatch(given) else next(_REQUEST_IDS)
        scope["path"] = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
        status, connection = 0, scope.get("outlay.connection")

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                said = MutableHeaders(scope=message)
                said.update({**SAFETY, "x-request-id": request})
                said.setdefault("cache-control", "no-store")
            if connection is not None and connection.transport.is_closing():
                connection.cycle.disconnected = True  # uvicorn hears of it later, and uvloop may raise on a write
            else:
                await send(message)

        try:
            self._check(scope, headers)
            await self._router(scope, receive, answer)
        except ClientDisconnect:
            status = status or 499
        except Exception as error:
            if status:  # part of the answer is sent: it can only be cut off
                raise
            found = problem_of(error)
            found.request = request
            if found.status >= 500 and not isinstance(error, Refused):
                _log.error("request %s failed", request, exc_info=error, extra={"request": request})
            await Response(encode(found), found.status, headers_of(error, found))(scope, receive, answer)
        finally:
            self._note(scope, status, time.perf_counter() - began)

    def _check(self, scope: Scope, headers: Headers) -> None:
        if any(len(headers.getlist(name)) > 1 for name in ONCE):  # what is in between may heed the other one
            raise Refused("bad_headers")
        host = headers.get("host", "")
        name, colon, port = host.rpartition(":")
        if self._hosts is not None and (name if colon and port.isdecimal() else host).lower() not in self._hosts:
            raise Refused("bad_host")
        origin = headers.get("origin")
        if origin is not None and scope["method"] not in SAFE and origin.partition("://")[2] != host:
            raise Refused("bad_origin")

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        self.metrics.served(scope["method"], scope.get("outlay.route", "none"), status, seconds)
        if self.settings.log_all or status >= 400:
            said = {
                "request": scope["outlay.request"],
                "method": scope["method"],
                "path": scope["path"][:200],
                "status": status,
                "ms": round(seconds * 1000, 2),
                "key": scope.get("outlay.key", ""),
            }
            _log.log(logging.WARNING if status >= 500 else logging.INFO, "request", extra={"said": said})

    @staticmethod
    @cache
    def description() -> bytes:
        """The OpenAPI document."""
        return json.dumps(document(), ensure_ascii=False).encode()

    @asynccontextmanager
    async def _lifespan(self, _: "Application") -> AsyncIterator[None]:
        if self._beside is not None:
            await self._beside.begin()
        alerts = asyncio.ensure_future(BudgetAlerts(self.campaigns).run())
        yield
        self.campaigns.stopping.set()
        if self._beside is not None:
            await self._beside.end()
        await alerts
        await self.campaigns.close()
        self.keys.close()


application = Application


class ByMethod:
    """What can be called at one path."""

    def __init__(self) -> None:
        self.apps: dict[str, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application for the method; a name in a path may contain an encoded slash."""
        app = self.apps.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if app is None:
            raise Refused("method_not_allowed", allow=", ".join(sorted(self.apps)))
        scope["path_params"] = {name: unquote(value) for name, value in scope["path_params"].items()}
        scope["outlay.route"] = getattr(app, "path", "page")
        await app(scope, receive, send)


async def _nothing_here(*_: object) -> None:
    raise Refused("not_found")


def traced(app: ASGIApp) -> ASGIApp:
    """The application with an OpenTelemetry span for every request; BadParameter if the package is missing."""
    try:
        trace = import_module("opentelemetry.trace")
        middleware = import_module("opentelemetry.instrumentation.asgi").OpenTelemetryMiddleware
    except ImportError:
        allowed = "given where opentelemetry-instrumentation-asgi is installed"
        raise BadParameter("serve", "trace", allowed, True) from None

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, and name the span after the route, not the path: routes are few."""
        span = trace.get_current_span()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and (route := scope.get("outlay.route")) is not None:
                span.update_name(f"{scope['method']} {route}")
                span.set_attributes({"http.route": route, "outlay.request": scope["outlay.request"]})
            await send(message)

        await app(scope, receive, answer)

    wrapped: ASGIApp = middleware(named, exclude_spans=["receive", "send"])
    return wrapped


class Metrics:
    """What Prometheus reads: requests and their times as they happen, campaigns as they are when it asks."""

    def __init__(self, campaigns: OpenCampaigns) -> None:
        registry = self._registry = CollectorRegistry()
        names = ["method", "route", "status"]
        self._served = Counter("outlay_requests", "Requests answered.", names, registry=registry)
        self._took = Histogram("outlay_request_seconds", "Time to answer.", ["route"], buckets=TIMES, registry=registry)
        active = Gauge("outlay_requests_active", "Requests under way.", registry=registry)
        active.set_function(lambda: campaigns.active)
        depth = Gauge("outlay_queue_depth", "Commands that wait to be written.", registry=registry)
        depth.set_function(lambda: queue_depth(campaigns.settings.store))
        open_now = Gauge("outlay_streams", "Event streams that are open.", registry=registry)
        open_now.set_function(lambda: campaigns.streams)

    def served(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; a method that does not exist is counted as "other"."""
        method = method if method in ("GET", "POST", "DELETE", "HEAD") else "other"
        self._served.labels(method, route, str(status)).inc()
        self._took.labels(route).observe(seconds)

    def text(self, campaigns: Sequence[Status]) -> bytes:
        """All metrics, with these campaigns."""
        numbers = CollectorRegistry()
        fields = ("budget", "spent", "reserved", "left", "reward", "pulls", "in_flight", "awaited", "overdue", "events")
        for field in fields:
            gauge = Gauge(f"outlay_campaign_{field}", f"{field} of a campaign.", ["campaign"], registry=numbers)
            for status in campaigns:
                gauge.labels(status.name).set(getattr(status, field))
        for field in ("spent", "reserved", "reward", "pulls", "in_flight"):
            gauge = Gauge(f"outlay_arm_{field}", f"{field} of an arm.", ["campaign", "arm"], registry=numbers)
            for status in campaigns:
                for arm in status.arms[:MOST_ARMS]:
                    gauge.labels(status.name, arm.name).set(getattr(arm, field))
        return generate_latest(self._registry) + generate_latest(numbers)
