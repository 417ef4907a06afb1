"""Waiting for a pull: those who wait stand in a line, and the first of them asks when something may have changed.

If each of fifty workers asked after every tell, forty-nine would be refused. So the first asks alone; when it leaves
with its pull, the next one becomes first, and asks at once. Threads and tasks of asyncio stand in the same line.
"""

import threading
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future

from outlay.campaign.verbs.news import Changes
from outlay.campaign.verbs.steps import Until

SHORTEST, LONGEST = 0.05, 1.0  # seconds from one look to the next, where another process may have changed something


class Line:
    """Those who wait, in the order in which they came; one at a time is first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._behind: deque[Future[None]] = deque()

    def join(self) -> Future[None]:
        """Done when it is one's turn; then `leave`, sooner or later."""
        turn: Future[None] = Future()
        with self._lock:
            if self._taken:
                self._behind.append(turn)
                return turn
            self._taken = True
        turn.set_result(None)
        return turn

    def leave(self, turn: Future[None]) -> None:
        """Make room for the next, or stop waiting for a turn that has not come."""
        with self._lock:
            if not turn.done():
                self._behind.remove(turn)
            elif self._behind:
                self._behind.popleft().set_result(None)
            else:
                self._taken = False

    def __len__(self) -> int:
        return self._taken + len(self._behind)


class Pauses:
    """How long to wait before the next look: longer each time, until there was a change."""

    def __init__(self, changes: Changes) -> None:
        self._changes, self._pause = changes, SHORTEST

    def next(self, seen: int, at_most: float) -> Generator[Until, None, None]:
        """Wait for a change after those `seen`, or for a while."""
        future = self._changes.after(seen)
        try:
            yield Until(future, min(self._pause, at_most))
        finally:
            self._changes.forget(future)
        self._pause = SHORTEST if future.done() else min(LONGEST, 2 * self._pause)
