"""The rows with the smallest keys, in bounded memory: a uniform sample, or the largest values."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Kept:
    """The `room` rows with the smallest keys.

    With random keys the rows are a uniform sample without replacement; with a value's negative as the key, they are the
    rows with the largest values. The result does not depend on how the rows were cut into parts, and `room` may be
    lowered on the way.

    >>> kept = Kept(room=2)
    >>> for key, row in [(0.9, 1.0), (0.1, 2.0), (0.5, 3.0)]:
    ...     kept.add(np.array([key]), np.array([[row]]))
    >>> kept.rows().tolist()
    [[2.0, 3.0]]
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._parts: list[tuple[Floats, Floats]] = []
        self._held = 0
        self._limit = np.inf  # only keys below it can be among the smallest

    def add(self, keys: Floats, rows: Floats) -> None:
        """Add rows, [column, row], with their keys."""
        near = keys < self._limit
        if not near.any():
            return
        self._parts.append((keys[near], rows[:, near]))
        self._held += int(near.sum())
        if self._held > 2 * self.room:
            self._cut()

    def rows(self) -> Floats:
        """The rows that are kept, in the order of their keys."""
        self._cut()
        keys, rows = self._parts[0]
        return rows[:, np.argsort(keys, kind="stable")]

    def replace(self, column: int, by: int) -> None:
        """Put one column of all rows in place of another."""
        for _, rows in self._parts:
            rows[column] = rows[by]

    def _cut(self) -> None:
        keys = np.concatenate([part for part, _ in self._parts])
        rows = np.concatenate([part for _, part in self._parts], axis=1)
        if len(keys) > self.room:
            chosen = np.argpartition(keys, self.room - 1)[: self.room]
            keys, rows = keys[chosen], rows[:, chosen]
            self._limit = float(keys.max())
        self._parts, self._held = [(keys, rows)], len(keys)
