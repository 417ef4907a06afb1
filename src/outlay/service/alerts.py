"""Warnings before a budget is spent: in the log, and by a signed webhook, repeated until it arrives.

A warning's id follows from the campaign, its budget, its window and the level. So it is the same when it is sent again,
by another replica, or after a restart, and a receiver drops repeats by it; another budget, or the budget of another
day, is another warning. What was not received when the service stops is made and sent again after the next start.
"""

import asyncio
import hashlib
import hmac
import logging
import time
from contextlib import suppress
from urllib.parse import urlsplit

from outlay.campaign.records import Status
from outlay.errors import StoreError
from outlay.service.campaigns import OpenCampaigns, Wanted
from outlay.service.schemas import digits, encode

EVERY = 5.0  # seconds between two looks at the campaigns
FIRST, LONGEST = 1.0, 300.0  # seconds before a warning is sent again: twice as long each time
MOST = 10_000  # warnings that are remembered
TIMEOUT = 10.0  # seconds for the receiver to answer
AT_ONCE = 8  # warnings that are sent at the same time

_log = logging.getLogger("outlay.service")


class BudgetAlerts:
    """Looks at all campaigns and warns; does nothing if no level is set."""

    def __init__(self, campaigns: OpenCampaigns) -> None:
        self._campaigns, self._settings = campaigns, campaigns.settings
        self._known: dict[str, None] = {}  # ids of warnings that were made
        self._sending: set[asyncio.Task[None]] = set()
        self._few = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Look every few seconds until the service stops."""
        while self._settings.warn_at and not self._campaigns.stopping.is_set():
            try:
                for status in await self._campaigns.some(Wanted(share=min(self._settings.warn_at))):
                    self._look(status)
            except StoreError as error:
                _log.warning("campaigns cannot be read for their warnings: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._campaigns.stopping.wait(), EVERY)
        for task in self._sending:
            task.cancel()

    def _look(self, status: Status) -> None:
        for level in self._settings.warn_at:
            name = warning_id(status, level)
            if status.spent < level * status.budget or name in self._known:
                continue
            self._known[name] = None
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]
            said = {"warning": name, "campaign": status.name, "level": level, "exact": digits(status.exact)}
            if status.window is not None:
                said["window"] = status.window
            _log.warning("a budget is nearly spent", extra={"said": said})
            if self._settings.webhook is not None:
                task = asyncio.create_task(self._send(self._settings.webhook, name, encode(said)))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)

    async def _send(self, url: str, name: str, body: bytes) -> None:
        """Send a warning until it is received."""
        pause = FIRST
        while True:
            try:
                async with self._few, asyncio.timeout(TIMEOUT):
                    return await post(url, self._settings.webhook_secret, name, body)
            except (OSError, ValueError) as error:  # ValueError: not a valid host name
                why = str(error) or f"no answer within {TIMEOUT:g} s"
                _log.warning("warning %s was not received: %s", name, why)
            await asyncio.sleep(pause)
            pause = min(LONGEST, 2 * pause)


def warning_id(status: Status, level: float) -> str:
    """The id of a warning, the same whichever replica sends it."""
    window = () if status.window is None else (status.window.start.isoformat(),)
    parts = "\0".join((status.name, str(status.exact.budget), repr(level), *window))
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def signature(secret: str, at: str, body: bytes) -> str:
    """Shows who sent it and when: the HMAC-SHA256 of the time, a full stop and the body.

    >>> len(signature("secret", "1767225600", b"{}").removeprefix("sha256="))
    64
    """
    return "sha256=" + hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


async def post(url: str, secret: str, name: str, body: bytes) -> None:
    """Send a warning; OSError if the answer is not 2xx, a redirect included."""
    to = urlsplit(url)
    tls = to.scheme == "https"
    at = str(int(time.time()))
    head = (
        f"POST {to.path or '/'}{'?' * bool(to.query)}{to.query} HTTP/1.1",
        f"Host: {to.netloc.rpartition('@')[2].encode('idna').decode()}",
        "Connection: close",
        "User-Agent: outlay",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"X-Outlay-Warning: {name}",
        f"X-Outlay-Time: {at}",
        f"X-Outlay-Signature: {signature(secret, at, body)}",
        "\r\n",
    )
    reader, writer = await asyncio.open_connection(to.hostname, to.port or (443 if tls else 80), ssl=tls or None)
    try:
        writer.write("\r\n".join(head).encode("ascii") + body)
        status = (await reader.readline()).split()[1:2]
    finally:
        writer.transport.abort()
    if not status or not status[0].startswith(b"2"):
        raise OSError(f"the receiver answered {status[0].decode('latin-1')[:20] if status else 'nothing'}")
