"""Time that never runs backwards and never leaps: as much goes by as a steady clock says, whatever the wall clock."""

import time
from collections.abc import Callable

CATCHING_UP = 10  # of so much time that goes by, one part more while the wall clock is ahead
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # which counts the time that a laptop sleeps


def _steady() -> int:
    return time.clock_gettime_ns(_SINCE_BOOT)


class Clock:
    """Microseconds since 1970 that never fall and never stand still, whatever is done to the wall clock.

    The wall clock is believed once, at the start; from then on a steady one counts, which knows of sleep. A wall clock
    that was set back changes nothing. One that was set ahead, by mistake or by a correction, is followed by running a
    tenth faster until it is caught up with: a leap of an hour must not let every pull under way expire at once.

    >>> wall, steady = iter([1000, 5000, 2000]), iter([0, 100, 300])
    >>> clock = Clock(lambda: next(wall) * 1000, lambda: next(steady) * 1000)
    >>> clock.now(), clock.now(), clock.now()
    (1000, 1110, 1330)
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = _steady) -> None:
        self._wall, self._steady = wall, steady
        self._last = 0
        self._mark: int | None = None

    def now(self, wall: int | None = None, at_least: int = 0) -> int:
        """The time; `wall` is what another clock says, such as the database's, in microseconds."""
        wall = self._wall() // 1000 if wall is None else wall
        mark = self._steady() // 1000
        if self._mark is None:
            self._last = wall
        else:
            since = mark - self._mark
            ahead = wall - self._last - since
            self._last += since + max(0, min(ahead, since // CATCHING_UP))
        self._last, self._mark = max(self._last, at_least), mark
        return self._last
