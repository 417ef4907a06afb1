"""Random numbers that depend on a campaign's seed and an event's number alone, so that a replay draws them again."""

from typing import Any

import numpy as np

ORDER = 0  # the number, which no event has, of the stream from which the order of the arms is drawn


class Stream:
    """The random numbers of one event, made when the first is drawn: they depend on the seed and the event alone.

    >>> Stream(seed=7, seq=3).random() == Stream(seed=7, seq=3).random() != Stream(seed=7, seq=4).random()
    True
    """

    def __init__(self, seed: int, seq: int, draw: int = 0) -> None:
        self._of = seed, seq, draw
        self._made: np.random.Generator | None = None

    @property
    def used(self) -> bool:
        """Whether a random number was drawn."""
        return self._made is not None

    def __getattr__(self, verb: str) -> Any:
        if self._made is None:
            seed, seq, draw = self._of
            self._made = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, draw, seq]))
        return getattr(self._made, verb)
