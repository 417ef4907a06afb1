"""Time that never runs backwards: a wall clock where it moves on, a steady one where the wall clock was set back."""

import time
from collections.abc import Callable


class Clock:
    """Microseconds since 1970 that never fall and never stand still, whatever is done to the wall clock.

    A wall clock set back by an hour goes on from where it was; one that jumps ahead (a laptop that slept) is believed.

    >>> wall, steady = iter([1000, 5000, 2000]), iter([0, 4000, 4300])
    >>> clock = Clock(lambda: next(wall) * 1000, lambda: next(steady) * 1000)
    >>> clock.now(), clock.now(), clock.now()
    (1000, 5000, 5300)
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = time.monotonic_ns) -> None:
        self._wall, self._steady = wall, steady
        self._last = 0
        self._mark: int | None = None

    def now(self, wall: int | None = None, at_least: int = 0) -> int:
        """The time; `wall` is what another clock says, such as the database's, in microseconds."""
        wall = self._wall() // 1000 if wall is None else wall
        mark = self._steady() // 1000
        since = 0 if self._mark is None else mark - self._mark
        self._last, self._mark = max(wall, self._last + since, at_least), mark
        return self._last
