"""The service as an application of ASGI: routes, keys and campaigns, put together."""

import asyncio
import json

from starlette.types import Receive, Scope, Send

from outlay.service.alerts import BudgetAlerts
from outlay.service.call import Endpoint
from outlay.service.dashboard import show
from outlay.service.desk import Desk
from outlay.service.front.guard import Guard
from outlay.service.front.paths import Paths
from outlay.service.keys.ring import KeyRing
from outlay.service.openapi import document
from outlay.service.routes import ROUTES
from outlay.service.seen.metrics import Metrics
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
        endpoints = [Endpoint(route, self.desk, self.ring) for route in ROUTES]
        self._guard = Guard(Paths(endpoints, show), settings, self.metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            scope["outlay.app"] = self
            await self._guard(scope, receive, send)

    @staticmethod
    def description() -> bytes:
        """The OpenAPI document."""
        return json.dumps(document(), ensure_ascii=False).encode()

    async def _live(self, receive: Receive, send: Send) -> None:
        """Begin and end, as the server says."""
        await receive()
        warning = asyncio.ensure_future(BudgetAlerts(self.desk).run())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.desk.stopping.set()
        await warning
        await self.desk.close()
        self.ring.close()
        await send({"type": "lifespan.shutdown.complete"})
