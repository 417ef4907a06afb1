"""What is kept of each arm while a log is read: bounded memory, however many rows there are."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.drift import BlockSums
from outlay.advice.evidence.kept import Kept
from outlay.advice.evidence.moments import Sums, merged, sums_of
from outlay.beliefs import Belief
from outlay.errors import BadFile
from outlay.logs import Stretch

Floats = NDArray[np.float64]

MOST_ARMS = 1000
SAMPLE, LARGEST = 50_000, 10_000  # rows kept of an arm: drawn at random, and with the largest costs
ROOM = 2_000_000  # rows drawn at random of all arms together


class Tally:
    """One arm: moments, extremes, counts of odd costs, blocks in order, a uniform sample and the largest costs."""

    def __init__(self, room: int, first: Floats) -> None:
        self.shift = first
        self.sums = Sums(0, np.zeros(2), np.zeros((2, 2)))
        self.low, self.high = first, first
        self.zero_costs = self.negative_costs = 0
        self.blocks = BlockSums()
        self.sample = Kept(room)
        self.largest = Kept(LARGEST)

    def add(self, pairs: Floats, keys: Floats, positions: NDArray[np.int64]) -> None:
        """Add rows, [cost or reward, row], with random keys and their positions in the log."""
        self.sums = merged(self.sums, sums_of(pairs - self.shift[:, None]))
        self.low = np.minimum(self.low, pairs.min(axis=1))
        self.high = np.maximum(self.high, pairs.max(axis=1))
        self.zero_costs += int((pairs[0] == 0.0).sum())
        self.negative_costs += int((pairs[0] < 0.0).sum())
        self.blocks.add(pairs, positions)
        self.sample.add(keys, pairs)
        self.largest.add(-pairs[0], pairs[:1])

    def belief(self, arm: int) -> Belief:
        """Its moments."""
        return self.sums.belief(arm, self.shift)


class Tallies(NamedTuple):
    """The arms of a log in the order of their names, and its rows."""

    arms: dict[str, Tally]
    rows: int
    left_out: int


def tally(
    stretches: Iterable[Stretch], where: str, seed: int, report: Callable[[float], None] | None = None
) -> Tallies:
    """Read a log to its end; `report` is called with the part that is done, from 0 to 1.

    The sample depends on the rows and the seed, not on how the log was cut into stretches.
    """
    rng = np.random.default_rng(seed)
    arms: dict[str, Tally] = {}
    rows = left_out = 0
    for stretch in stretches:
        before, rows = rows, rows + len(stretch.codes) + len(stretch.left_out)
        left_out += len(stretch.left_out)
        pairs, keys = np.stack([stretch.costs, stretch.rewards]), rng.random(len(stretch.codes))
        order = np.argsort(stretch.codes.astype(np.int32), kind="stable")
        pairs, keys = pairs[:, order], keys[order]
        counts = np.bincount(stretch.codes, minlength=len(stretch.names))
        ends = np.cumsum(counts)
        for name, start, end in zip(stretch.names, ends - counts, ends, strict=True):
            if start == end:
                continue
            if name not in arms:
                arms[name] = Tally(_make_room(arms, where), pairs[:, start].copy())
            arms[name].add(pairs[:, start:end], keys[start:end], before + order[start:end])
        if report is not None:
            report(stretch.done)
    if not arms:
        raise BadFile(f"no row of {where} has an arm, a cost and a reward")
    return Tallies(dict(sorted(arms.items())), rows, left_out)


def _make_room(arms: dict[str, Tally], where: str) -> int:
    """The size of each arm's sample once there is one more arm; the others shrink to it."""
    if len(arms) >= MOST_ARMS:
        raise BadFile(f"{where} has more than {MOST_ARMS:,} arms: does its column of arms hold something else?")
    room = min(SAMPLE, ROOM // (len(arms) + 1))
    for arm in arms.values():
        arm.sample.room = room
    return room
