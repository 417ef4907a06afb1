"""Warnings before a budget is spent: in the log, and to a webhook, signed, and repeated until it is received.

A warning's id follows from the campaign, its budget, its window and the level. So it is the same when it is sent again,
by another replica, or after a restart, and a receiver drops repeats by it; another budget, or the budget of another
day, is another warning.
"""

import asyncio
import hashlib
import logging
import time
from typing import Any

from outlay.campaign.answers.replies import Status
from outlay.errors import StoreError
from outlay.service.desk import Desk
from outlay.service.webhook import post
from outlay.service.wire import records
from outlay.service.wire.answers import encode

EVERY = 5.0  # seconds between two looks at the campaigns
FIRST, LONGEST = 1.0, 300.0  # seconds until a warning that was not received is sent again: twice as long each time
MOST = 10_000  # warnings that are remembered

_log = logging.getLogger("outlay.service")


class Warner:
    """Looks at the campaigns of a desk, and warns; does nothing where no level was set."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._settings = desk, desk.settings
        self._known: dict[str, None] = {}  # ids of warnings that were made
        self._waiting: dict[str, tuple[float, float, bytes]] = {}  # by id: when to send it, the pause after that, what

    async def run(self) -> None:
        """Until the service stops."""
        while self._settings.warn_at and not self._desk.stopping.is_set():
            try:
                for status in await self._desk.all():
                    self._look(status)
            except StoreError as error:
                _log.warning("campaigns cannot be read for their warnings: %s", error)
            for name in [name for name, (due, _, _) in self._waiting.items() if due <= time.monotonic()]:
                await self._send(name)
            try:
                await asyncio.wait_for(self._desk.stopping.wait(), EVERY)
            except TimeoutError:
                continue

    def _look(self, status: Status) -> None:
        for level in self._settings.warn_at:
            name = warning_id(status, level)
            if status.spent < level * status.budget or name in self._known:
                continue
            self._known[name] = None
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]
            said = _said(status, level, name)
            _log.warning("a budget is nearly spent", extra={"said": said})
            if self._settings.webhook is not None:
                self._waiting[name] = 0.0, FIRST, encode(said)

    async def _send(self, name: str) -> None:
        _, pause, body = self._waiting.pop(name)
        url, secret, private = (
            str(self._settings.webhook),
            self._settings.webhook_secret,
            self._settings.webhook_private,
        )
        try:
            await asyncio.to_thread(post, url, secret, name, body, private=private)
        except (OSError, ValueError) as error:  # ValueError: a name that cannot be one
            _log.warning("warning %s was not received: %s", name, error)
            self._waiting[name] = time.monotonic() + pause, min(LONGEST, 2 * pause), body


def warning_id(status: Status, level: float) -> str:
    """What this warning is called, whoever sends it."""
    window = () if status.window is None else (status.window.start.isoformat(),)
    text = "\0".join((status.name, str(status.exact.budget), repr(level), *window))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _said(status: Status, level: float, name: str) -> dict[str, Any]:
    money = dict(zip(status.exact._fields, map(records.text, status.exact), strict=True))
    window = {} if status.window is None else {"window": status.window._asdict()}
    return {"warning": name, "campaign": status.name, "level": level, "exact": money, **window}
