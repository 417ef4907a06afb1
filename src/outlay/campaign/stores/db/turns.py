"""Processes on one SQLite file take turns: who has just written a few times stands at the back.

SQLite's own waiting sleeps for up to 100 ms at a time, so that who comes at the right moment is served before those who
have waited for seconds. Here there are two places, bytes of a file beside the database: the turn, and who is next. A
process becomes next, waits for the turn, and only then makes room for another to be next. It is an order and no lock:
SQLite still sees to it that one writes at a time, and who has waited too long for the turn goes ahead without it: a
process that was stopped in its turn delays the others for seconds, not for as long as it sleeps.
"""

import fcntl
import os
import random
import time
from contextlib import suppress
from pathlib import Path

from outlay.campaign.stores.db.sqlite_file import PRIVATE, Identity, identity

PATIENCE = 5.0  # seconds to wait for the turn: somebody may be asleep in it
AT_LEAST = 0.02  # the same where that was in vain again and again
LOOK = 0.0002  # seconds between two looks, about
SOON = 0.00005  # the same for the one who is next: while nobody looks, the turn is nobody's
IN_A_ROW = 4  # transactions of one process, while others wait
_TURN, _NEXT = 0, 1  # bytes of the file


class Turns:
    """The turns of one database, for the one thread of this process that writes to it."""

    def __init__(self, database: Path) -> None:
        self._path = f"{database}-turns"
        self._file: int | None = None
        self._identity: Identity | None = None
        self._patience = PATIENCE
        self._again = 0  # how often it was taken before those who wait

    def begin(self) -> None:
        """Wait for the turn, for a while; half as long where that was in vain the last time.

        Who comes back at once has it again, a few times: to hand it over, and to fold in what others wrote, takes as
        long as a transaction.
        """
        file = self._opened()
        if file is None:
            return
        self._again = (self._again + 1) % IN_A_ROW
        if self._again and _taken(file, _TURN, -1.0, SOON):
            self._patience = PATIENCE
            return
        self._again = 0
        deadline = time.monotonic() + self._patience
        mine = False
        if _taken(file, _NEXT, deadline, LOOK):
            mine = _taken(file, _TURN, deadline, SOON)
            fcntl.lockf(file, fcntl.LOCK_UN, 1, _NEXT)
        self._patience = PATIENCE if mine else max(AT_LEAST, self._patience / 2)

    def end(self) -> None:
        """Let the next have it."""
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _TURN)

    def close(self) -> None:
        """Let go of the file, which is removed; whoever still uses it makes another."""
        if self._file is not None:
            with suppress(OSError):
                Path(self._path).unlink()
            os.close(self._file)
            self._file = None

    def _opened(self) -> int | None:
        """The file, if there can be one."""
        if self._file is not None:
            if identity(self._path) == self._identity:
                return self._file
            os.close(self._file)
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, PRIVATE)
        except OSError:  # a folder where nothing may be made: whether the database can be written is for SQLite to say
            self._file = None
        self._identity = identity(self._path)
        return self._file


def _taken(file: int, place: int, deadline: float, look: float) -> bool:
    """Take a place; False where nobody makes room until the deadline."""
    while True:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(look * random.uniform(0.5, 1.5))  # noqa: S311 (in step, some would always look too late)
        else:
            return True
