"""Warnings before a budget is spent: in the log, and by a signed webhook, repeated until it arrives.

A warning's id follows from the campaign, its budget, its window and the level. So it is the same when it is sent again,
by another replica, or after a restart, and a receiver drops repeats by it; another budget, or the budget of another
day, is another warning.
"""

import asyncio
import hashlib
import hmac
import logging
import time
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError

from outlay.campaign.records import Status
from outlay.errors import StoreError
from outlay.service.campaigns import OpenCampaigns
from outlay.service.schemas import digits, encode

EVERY = 5.0  # seconds between two looks at the campaigns
FIRST, LONGEST = 1.0, 300.0  # seconds before a warning is sent again: twice as long each time
MOST = 10_000  # warnings that are remembered
TIMEOUT = 10.0  # seconds for the receiver to answer

_log = logging.getLogger("outlay.service")


class BudgetAlerts:
    """Looks at all campaigns and warns; does nothing if no level is set."""

    def __init__(self, campaigns: OpenCampaigns) -> None:
        self._campaigns, self._settings = campaigns, campaigns.settings
        self._known: dict[str, None] = {}  # ids of warnings that were made
        self._waiting: dict[str, tuple[float, float, bytes]] = {}  # by id: when to send it, the pause after that, what

    async def run(self) -> None:
        """Look every few seconds until the service stops."""
        while self._settings.warn_at and not self._campaigns.stopping.is_set():
            try:
                for status in await self._campaigns.all():
                    self._look(status)
            except StoreError as error:
                _log.warning("campaigns cannot be read for their warnings: %s", error)
            for name in [name for name, (due, _, _) in self._waiting.items() if due <= time.monotonic()]:
                await self._send(name)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._campaigns.stopping.wait(), EVERY)

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
                self._waiting[name] = 0.0, FIRST, encode(said)

    async def _send(self, name: str) -> None:
        _, pause, body = self._waiting.pop(name)
        post_once = asyncio.to_thread(post, str(self._settings.webhook), self._settings.webhook_secret, name, body)
        try:
            # A receiver that answers a byte at a time would never run into the socket's timeout.
            await asyncio.wait_for(post_once, TIMEOUT)
        except (OSError, HTTPException, ValueError) as error:  # ValueError: not a valid host name
            _log.warning("warning %s was not received: %s", name, error)
            self._waiting[name] = time.monotonic() + pause, min(LONGEST, 2 * pause), body


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


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect counts as not received."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def post(url: str, secret: str, name: str, body: bytes) -> None:
    """Send a warning; OSError if the answer is not 2xx."""
    at = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "outlay",
        "X-Outlay-Warning": name,
        "X-Outlay-Time": at,
        "X-Outlay-Signature": signature(secret, at, body),
    }
    try:
        _opener.open(urllib.request.Request(url, body, headers), timeout=TIMEOUT).close()  # noqa: S310 (the operator's)
    except HTTPError as error:
        error.close()
        raise OSError(f"the receiver answered {error.code}") from None
