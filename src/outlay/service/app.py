"""The service as an application of ASGI: routes, keys and campaigns, put together."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby

from starlette.routing import BaseRoute, Router
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from outlay.service.call import ByMethod, Endpoint
from outlay.service.dashboard import show
from outlay.service.desk import Desk
from outlay.service.guard import Guard
from outlay.service.keys.ring import KeyRing
from outlay.service.metrics import Metrics
from outlay.service.openapi import document
from outlay.service.routes import ROUTES
from outlay.service.settings import Settings


def application(settings: Settings) -> "Application":
    """The service; `uvicorn` or a test client runs it.

    >>> application(Settings(store="sqlite:///spend.db")).settings.port
    8700
    """
    return Application(settings)


class Application:
    """One service on one store."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.desk, self.ring, self.metrics = Desk(settings), KeyRing(settings.store), Metrics()
        self._guard: ASGIApp = Guard(self._router(), settings, self.metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        scope["outlay.app"] = self
        await self._guard(scope, receive, send)

    @staticmethod
    def description() -> bytes:
        """The OpenAPI document."""
        return json.dumps(document(), ensure_ascii=False).encode()

    def _router(self) -> Router:
        paths: list[BaseRoute] = []
        for path, routes in groupby(sorted(ROUTES, key=_first), key=lambda route: route.path):
            paths.append(Path(path, ByMethod([Endpoint(route, self.desk, self.ring) for route in routes])))
        return Router(paths, redirect_slashes=False, default=show, lifespan=self._lifespan)

    @asynccontextmanager
    async def _lifespan(self, app: object) -> AsyncIterator[None]:  # noqa: ARG002
        yield
        await self.desk.close()
        self.ring.close()


def _first(route: object) -> int:
    """Where the path of a route is first met, so that routes of one path stand together."""
    path = getattr(route, "path", "")
    return next(number for number, each in enumerate(ROUTES) if each.path == path)
