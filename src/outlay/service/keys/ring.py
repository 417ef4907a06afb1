"""The keys as the running service knows them: looked up in memory, read anew every second, failures counted.

Whether keys are needed is decided by whether one was ever made: revoking the last does not open the door.
"""

import asyncio
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from outlay.errors import StoreError
from outlay.service.keys.book import Act, KeyBook, now
from outlay.service.keys.key import MICROS, SCOPES, Key, digest_of
from outlay.service.problems import Refused

T = TypeVar("T")
FRESH = 1.0  # seconds for which the keys are taken to be as they were read
USED = 60 * MICROS  # how far apart two notes of a key's use are
MOST_FAILURES, WINDOW = 20, 60.0  # that one address may have, in so many seconds
MOST_ADDRESSES = 10_000  # that failures are counted for

ANYBODY = Key("", "no keys", "", frozenset(SCOPES), frozenset(), 0)  # where no key was ever made

_log = logging.getLogger("outlay.service")


class KeyRing:
    """The keys of a store, for one event loop."""

    def __init__(self, store: str) -> None:
        self._book = KeyBook(store)
        self._keys: dict[str, Key] = {}
        self._used: dict[str, int] = {}
        self._read = -FRESH
        self._lock = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "outlay-keys")  # its own: whatever others wait for, keys are looked up
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def holder(self, token: str | None, address: str) -> Key:
        """Whose token it is; Refused where it is nobody's, or not any more."""
        if time.monotonic() - self._read > FRESH:
            await self.refresh()
        if not self._keys:
            return ANYBODY
        digest = digest_of(token) if token else ""
        key = self._keys.get(digest)
        if key is None or not hmac.compare_digest(key.digest, digest) or not key.valid(at := now()):
            raise self._failed(address)
        if at - self._used.get(key.id, key.used or 0) > USED:
            self._used[key.id] = at
            await self._off_the_loop(lambda: self._note_use(key.id, at))
        return key

    async def holds(self, key: Key) -> bool:
        """Whether a key that was let in would be let in still."""
        if time.monotonic() - self._read > FRESH:
            await self.refresh()
        found = self._keys.get(key.digest)
        return not self._keys if found is None else found.valid(now())

    @property
    def needed(self) -> bool:
        """Whether a key is needed, as far as is known."""
        return bool(self._keys)

    async def refresh(self) -> None:
        """Read the keys; one reads for all who come meanwhile."""
        async with self._lock:
            if time.monotonic() - self._read > FRESH:
                self._keys = {key.digest: key for key in await self._off_the_loop(self._book.all)}
                self._read = time.monotonic()

    async def note_act(self, act: Act) -> None:
        """Keep what an admin did; where no key was ever made there is nobody to name, and the log has it."""
        _log.info("audit", extra={"said": {name: value for name, value in act._asdict().items() if name != "at"}})
        if self._keys:
            try:
                await self._off_the_loop(lambda: self._book.note_act(act))
            except StoreError as error:
                _log.error("the audit log cannot be written: %s", error)

    async def acts(self, key: Key, limit: int, before: int | None) -> list[Act]:
        """What admins did last, as far as this key may see the campaigns that it was done to."""
        return await self._off_the_loop(lambda: self._book.acts(limit, before, key.campaigns))

    def close(self) -> None:
        """Let the database go."""
        self._thread.shutdown()
        self._book.close()

    async def _off_the_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _note_use(self, key: str, at: int) -> None:
        try:
            self._book.note_use(key, at)
        except StoreError as error:
            _log.warning("the use of key %s cannot be noted: %s", key, error)

    def _failed(self, address: str) -> Refused:
        """Count a failure; who has too many hears that, and is told when to come back."""
        at = time.monotonic()
        since, count = self._failures.pop(address, (at, 0))
        if at - since > WINDOW:
            since, count = at, 0
        self._failures[address] = since, count + 1
        while len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)
        if count >= MOST_FAILURES:
            return Refused("too_many_failures", retry_after=max(1.0, since + WINDOW - at))
        return Refused("no_key")
