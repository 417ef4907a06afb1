"""What every request passes first: a request id, the names of host and origin, limits; what every answer carries."""

import logging
import re
import time
import uuid
from itertools import count

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outlay.service.call import SAFE, Gone, respond
from outlay.service.problems import Refused, headers_of, problem_of
from outlay.service.seen.metrics import Metrics
from outlay.service.settings import Settings
from outlay.service.wire.answers import encode

_REQUEST = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFETY = [
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
ALWAYS = ("/healthz", "/readyz")  # that whoever watches the service hears of, however much there is to do
UNCACHED = (b"cache-control", b"no-store")

# Of requests that bring none: a random beginning, and a number.
_NAMES = map((uuid.uuid4().hex[:20] + "{:012x}").format, count())

_log = logging.getLogger("outlay.service")


class Guard:
    """The outermost application."""

    def __init__(self, inner: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._inner, self._settings, self._metrics = inner, settings, metrics
        self._hosts = settings.allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        began = time.perf_counter()
        headers = scope["outlay.headers"] = dict(scope["headers"])
        given = headers.get(b"x-request-id", b"")
        request = scope["outlay.request"] = given.decode() if _REQUEST.fullmatch(given) else next(_NAMES)
        scope["path"] = scope.get("raw_path", scope["path"].encode()).partition(b"?")[0].decode("latin-1")
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                said = message["headers"]
                cached = any(name == b"cache-control" for name, _ in said)
                more = (b"x-request-id", request.encode()), *(() if cached else (UNCACHED,))
                message["headers"] = [*said, *SAFETY, *more]
            await send(message)

        metrics = self._metrics
        metrics.active += 1
        try:
            self._check(scope, headers)
            await self._inner(scope, receive, answer)
        except Gone:
            status = status or 499
        except Exception as error:
            if status:  # half of the answer is sent: to cut it off is all that is left
                raise
            await self._refuse(scope, answer, error)
        finally:
            metrics.active -= 1
            self._note(scope, status, time.perf_counter() - began)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1")
        if self._hosts is not None and _name_of(host) not in self._hosts:
            raise Refused("bad_host")
        origin = headers.get(b"origin")
        if origin is not None and scope["method"] not in SAFE and origin.decode("latin-1").partition("://")[2] != host:
            raise Refused("bad_origin")
        if self._metrics.active > self._settings.most_active and scope["path"] not in ALWAYS:
            raise Refused("busy", retry_after=1.0)

    async def _refuse(self, scope: Scope, send: Send, error: Exception) -> None:
        found = problem_of(error)
        found.request = scope["outlay.request"]
        if found.status >= 500 and not isinstance(error, Refused):
            _log.error("request %s failed", found.request, exc_info=error, extra={"request": found.request})
        allow = [(b"allow", scope["outlay.allow"])] if found.status == 405 else []
        await respond(send, found.status, [*headers_of(found), *allow], encode(found))

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("outlay.route", "none")
        self._metrics.served(scope["method"], route, status, seconds)
        if self._settings.log_all or status >= 400:
            said = {
                "request": scope["outlay.request"],
                "method": scope["method"],
                "path": scope["path"][:200],
                "status": status,
                "ms": round(seconds * 1000, 2),
                "key": scope.get("outlay.key", ""),
            }
            _log.log(logging.WARNING if status >= 500 else logging.INFO, "request", extra={"said": said})


def _name_of(host: str) -> str:
    """The name in a Host header, without its port.

    >>> _name_of("localhost:8700"), _name_of("[::1]:8700"), _name_of("[::1]")
    ('localhost', '[::1]', '[::1]')
    """
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()
