"""`serve`: runs the application on a socket until a signal; open requests are finished first."""

import asyncio
import errno
import gc
import json
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from outlay.campaign.stores.engines import is_older
from outlay.checks import real
from outlay.errors import BadParameter, StoreError
from outlay.service import ServiceSettings
from outlay.service.app import Application, Beside, traced
from outlay.service.auth import KeyStore, now

SECONDS = 30.0  # for a request to arrive, from its first byte or from the connection
SLOWEST = 60.0  # until a client that does not read is cut off
MOST_HEAD = 1 << 16  # bytes of a request line and its headers
MOST_KEYLESS = 500  # connections on which no valid key was shown; beyond, the oldest are cut off
SHOW_KEY = 1.0  # seconds that each of them has at least
MOST_FILES = 65_536  # that may be open, connections among them, where the system allows so many
PATIENCE = 25  # seconds for open requests when the service stops: it ends within 30

_log = logging.getLogger("outlay.service")


def serve(
    settings: ServiceSettings,
    ready: Callable[[str], None] | None = None,
    seconds: float | None = None,
    beside: Callable[[], Beside] | None = None,
) -> None:
    """Run the service until SIGINT or SIGTERM, or for so many seconds; `ready` is called with its address.

    Refuses to listen beyond this machine while no key was made, and to start on a store that an older version made.
    What is served `beside` its own routes is made when that is known.
    """
    check(settings)
    server = Server(Application(settings, None if beside is None else beside()), ready)
    listening = bound(settings.host, settings.port)
    allow_many_files()
    log_json()
    if seconds is not None:
        timer = threading.Timer(seconds, server.end)
        timer.daemon = True
        timer.start()
    gc.collect()
    gc.freeze()  # a collection stops all requests: it skips what was imported, and runs rarely
    gc.set_threshold(10_000, 20, 50)
    server.run(sockets=[listening])


def check(settings: ServiceSettings) -> None:
    """Refuse to start if that would be unsafe, or would change a store of an older version."""
    for level in settings.warn_at:
        real("serve", "warn", level, at_least=0, at_most=1)
    if settings.webhook is not None:
        if not settings.webhook.startswith(("http://", "https://")):
            raise BadParameter("serve", "webhook", "http:// or https://…", settings.webhook)
        if not settings.warn_at:
            raise BadParameter("serve", "warn", "given with a webhook", settings.warn_at)
        if not settings.webhook_secret:
            allowed = "signed: set OUTLAY_WEBHOOK_SECRET in the environment"
            raise BadParameter("serve", "webhook", allowed, settings.webhook)
    if is_older(settings.store, "serve"):
        raise StoreError("an older version made this store: stop all who use it, back it up, then `outlay migrate`")
    if not settings.on_loopback:
        with closing(KeyStore(settings.store)) as store:
            usable = any(key.valid(now()) for key in store.all())
        if not usable:
            allowed = "127.0.0.1 or localhost, until `outlay keys new` has made a key"
            raise BadParameter("serve", "host", allowed, settings.host)


def bound(host: str, port: int) -> socket.socket:
    """A listening socket; BadParameter if that is not possible.

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


def allow_many_files() -> None:
    """Raise this process's limit of open files: often it is 1024, which callers without a key could use up."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


class Server(uvicorn.Server):
    """uvicorn, which tells the application at once to stop, so that streams and waits end."""

    def __init__(self, app: Application, ready: Callable[[str], None] | None = None, patience: int = PATIENCE) -> None:
        proxy = app.settings.trusted_proxy
        config = uvicorn.Config(
            traced(app) if app.settings.trace else app,
            access_log=False,
            proxy_headers=proxy is not None,
            forwarded_allow_ips=proxy,
            log_config=None,
            server_header=False,
            date_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=patience,
            http=_TimedHttpProtocol,
            ws="none",
        )
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say where."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self.started and self._ready is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def on_tick(self, counter: int) -> bool:
        """Cut off the oldest connections without a key where there are too many; whether to stop."""
        if len(self.server_state.connections) > MOST_KEYLESS:
            since = {
                each: each.keyless_since
                for each in self.server_state.connections
                if isinstance(each, _TimedHttpProtocol) and each.keyless_since is not None
            }
            oldest = sorted(since, key=since.__getitem__)[: max(0, len(since) - MOST_KEYLESS)]
            for each in oldest:
                if self._loop.time() - since[each] >= SHOW_KEY:
                    each.transport.abort()
        return await super().on_tick(counter)

    def end(self) -> None:
        """Stop as after a signal, from any thread."""
        self.handle_exit(0, None)
        self._captured_signals.clear()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal."""
        _log.info("stopping: requests under way are finished")
        self._loop.call_soon_threadsafe(self._app.campaigns.stopping.set)  # a signal may come in the middle of anything
        super().handle_exit(sig, frame)


def log_json() -> None:
    """Print all logs of the service, the campaigns and the server as lines of JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("outlay", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """A record as a line of JSON.

    >>> record = logging.makeLogRecord({"name": "outlay", "levelname": "INFO", "msg": "request", "created": 0.0})
    >>> record.said = {"status": 200}
    >>> JsonLines().format(record)
    '{"at": "1970-01-01T00:00:00+00:00", "level": "info", "log": "outlay", "message": "request", "status": 200}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "log": record.name,
            "message": record.getMessage(),
            **getattr(record, "said", {}),
        }
        for field in ("request", "campaign"):
            if hasattr(record, field):
                line[field] = getattr(record, field)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


class _TimedHttpProtocol(HttpToolsProtocol):
    """uvicorn's, with time limits. A request that arrives in one piece, as nearly all do, starts no timer."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._arriving = self._in_head = False
        self._head = 0
        self.keyless_since: float | None = None  # by the loop's clock; None while the last request has a valid key

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.keyless_since = self.loop.time()
        self._start("request", SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > MOST_HEAD:
                self.send_400_response("The request has too long a head.")
        if self._arriving:
            self._start("request", SECONDS, self.transport.close)
        else:
            self._stop("request")

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop("request")
        self._stop("answer")
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("answer", SLOWEST, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop("answer")
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size() > 0:  # the last answer was never read
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def on_message_begin(self) -> None:
        self._arriving = self._in_head = True
        self._head = 0
        super().on_message_begin()
        self.scope["outlay.connection"] = self  # type: ignore[typeddict-unknown-key]
        if self.keyless_since is None:
            self.keyless_since = self.loop.time()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arriving = False
        super().on_message_complete()

    def _start(self, name: str, seconds: float, act: Callable[[], None]) -> None:
        if name not in self._timers:
            self._timers[name] = self.loop.call_later(seconds, act)

    def _stop(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()
