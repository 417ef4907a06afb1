"""`serve`: the application on a socket, until a signal ends it; what is under way is finished first."""

import asyncio
import errno
import gc
import logging
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from outlay.campaign.stores.engines import is_older
from outlay.checks import real
from outlay.errors import BadParameter, StoreError
from outlay.service.front import logs
from outlay.service.front.app import Application
from outlay.service.front.connection import Connection
from outlay.service.front.tracing import traced
from outlay.service.keys.book import KeyBook, now
from outlay.service.settings import Settings

PATIENCE = 30  # seconds for requests under way, once the service is to stop

_log = logging.getLogger("outlay.service")


def serve(settings: Settings, ready: Callable[[str], None] | None = None, seconds: float | None = None) -> None:
    """Run the service until SIGINT or SIGTERM, or for so many seconds; `ready` is called with its address.

    Refuses to listen beyond this machine while no key was made, and to start on a store that an older version made.
    """
    check(settings)
    app = Application(settings)
    served = traced(app) if settings.trace else app
    listening = bound(settings.host, settings.port)
    logs.set_up()
    config = uvicorn.Config(
        served,
        access_log=False,
        proxy_headers=settings.proxy is not None,
        forwarded_allow_ips=settings.proxy,
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=PATIENCE,
        http=Connection,
        ws="none",
    )
    server = Server(config, app, ready)
    if seconds is not None:
        timer = threading.Timer(seconds, server.end)
        timer.daemon = True
        timer.start()
    _collect_rarely()
    server.run(sockets=[listening])


def _collect_rarely() -> None:
    """Let the collector pass over what was imported, and look more rarely: all requests wait while it looks."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def check(settings: Settings) -> None:
    """Refuse to start where that would be dangerous, or change what is kept."""
    _check_warnings(settings)
    if is_older(settings.store, "serve"):
        raise StoreError("an older version made this store: stop all who use it, back it up, then `outlay migrate`")
    if not settings.on_loopback:
        book = KeyBook(settings.store)
        try:
            usable = any(key.valid(now()) for key in book.all())
        finally:
            book.close()
        if not usable:
            allowed = "127.0.0.1 or localhost, until `outlay keys new` has made a key"
            raise BadParameter("serve", "host", allowed, settings.host)


def _check_warnings(settings: Settings) -> None:
    for level in settings.warn_at:
        real("serve", "warn", level, at_least=0, at_most=1)
    if settings.webhook is None:
        return
    if not settings.webhook.startswith(("http://", "https://")):
        raise BadParameter("serve", "webhook", "http:// or https://…", settings.webhook)
    if not settings.warn_at:
        raise BadParameter("serve", "warn", "given with a webhook", settings.warn_at)
    if not settings.webhook_secret:
        allowed = "signed: set OUTLAY_WEBHOOK_SECRET in the environment"
        raise BadParameter("serve", "webhook", allowed, settings.webhook)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; BadParameter where that cannot be.

    >>> bound("127.0.0.1", 0).close()
    """
    plain = host.strip("[]")
    try:
        return socket.create_server((plain, port), family=socket.AF_INET6 if ":" in plain else socket.AF_INET)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BadParameter("serve", "port", "one that nobody else listens on", port) from None
        if error.errno == errno.EACCES:
            raise BadParameter("serve", "port", "one that this user may listen on", port) from None
        raise BadParameter("serve", "host", "an address of this machine", host) from None


class Server(uvicorn.Server):
    """uvicorn, which tells the application at once that it is to stop, so that streams and waits end."""

    def __init__(self, config: uvicorn.Config, app: Application, ready: Callable[[str], None] | None = None) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started and self._ready is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    def end(self) -> None:
        """Stop as after a signal, from any thread."""
        self.handle_exit(0, None)
        self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        _log.info("stopping: requests under way are finished")
        self._loop.call_soon_threadsafe(self._app.desk.stopping.set)  # we may be in the middle of anything
        super().handle_exit(sig, frame)
