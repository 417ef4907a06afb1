"""Whether the rows of an arm look like draws in random order: a test on block means that are kept while reading."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_BLOCKS = 128
FEWEST_BLOCKS = 16
PARTS = 8  # of a file in which rates are compared
FALSE_ALARM = 0.05  # chance that any of the tests raises an alarm where every arm's rows are independent and alike


class Change(NamedTuple):
    """The most telling change along the rows, and how likely one as large is in random order."""

    chance: float  # the p-value
    at: float  # about which share of the arm's rows comes before the change
    before: float  # mean
    after: float


class Course(NamedTuple):
    """How the rate of an arm developed along the file."""

    drifts: bool  # whether a change of its costs or rewards raises an alarm
    parts: tuple[float, ...]  # the rate in each eighth of the file; nan where it has no rows, or no cost above 0

    def below(self, other: "Course") -> bool:
        """Whether it was below the other one all along: in every part that both have; always, where neither drifts.

        >>> Course(True, (1.0, 1.0, 4.0)).below(Course(False, (3.0, 3.0, 3.0)))
        False
        """
        if not (self.drifts or other.drifts):
            return True
        pairs = zip(self.parts, other.parts, strict=True)
        shared = [mine < theirs for mine, theirs in pairs if not math.isnan(mine + theirs)]
        return bool(shared) and all(shared)


class BlockSums:
    """Sums over equal blocks of consecutive rows: at most 128 blocks, which grow as rows come in.

    >>> blocks = BlockSums()
    >>> blocks.add(np.ones((2, 1000)), np.arange(1000))
    >>> blocks.size, blocks.sums.shape, blocks.ends[:3]
    (8, (2, 125), array([ 7, 15, 23]))
    """

    def __init__(self) -> None:
        self.size = 1
        self.sums: Floats = np.zeros((2, 0))
        self.ends = np.zeros(0, np.int64)  # the position in the file of each block's last row
        self._rest: Floats = np.zeros((2, 1))  # of the rows after the last full block
        self._waiting = 0  # their number

    def add(self, pairs: Floats, positions: NDArray[np.int64]) -> None:
        """Add pairs, [cost or reward, row], in their order, with their positions in the file."""
        count = self._waiting + pairs.shape[1]
        starts = np.arange(-self._waiting, pairs.shape[1], self.size)
        parts = np.add.reduceat(pairs, np.maximum(starts, 0), axis=1)
        parts[:, :1] += self._rest
        full = count // self.size
        self.sums = np.hstack([self.sums, parts[:, :full]])
        self.ends = np.append(self.ends, positions[self.size * np.arange(1, full + 1) - self._waiting - 1])
        self._waiting = count - full * self.size
        self._rest = parts[:, full:] if self._waiting else np.zeros((2, 1))
        while self.sums.shape[1] > MOST_BLOCKS:
            self._widen()

    def parts(self, rows: int) -> tuple[float, ...]:
        """Rewards ÷ costs of the full blocks that end in each eighth of the file; nan where costs are not above 0."""
        where = PARTS * self.ends // rows
        costs, rewards = (np.bincount(where, sums, PARTS).tolist() for sums in self.sums)
        return tuple(reward / cost if cost > 0.0 else math.nan for cost, reward in zip(costs, rewards, strict=True))

    def _widen(self) -> None:
        """Merge every two blocks into one."""
        if self.sums.shape[1] % 2:
            self._rest = self._rest + self.sums[:, -1:]
            self._waiting += self.size
        pairs = self.sums.shape[1] // 2
        self.sums = self.sums[:, : 2 * pairs].reshape(2, pairs, 2).sum(axis=2)
        self.ends = self.ends[1 : 2 * pairs : 2]
        self.size *= 2


def change_of(sums: Floats, size: int) -> Change | None:
    """The largest excursion of the summed ranks of block means, against a Brownian bridge; None for few blocks.

    In random order the ranks are a random permutation, whatever the law of the rows, so the test needs no moments. It
    sees steps, trends and bumps; its p-value is that of the limit of many blocks, a little too large for few.

    >>> rng = np.random.default_rng(0)
    >>> found = change_of(np.append(rng.normal(size=40), 3.0 + rng.normal(size=60)), 1)
    >>> round(found.at, 1), found.chance < 1e-6
    (0.4, True)

    Reference: A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28 (1979).
    """
    from scipy.special import kolmogorov
    from scipy.stats import rankdata

    count = len(sums)
    if count < FEWEST_BLOCKS:
        return None
    means = sums / size
    scale = 1e-12 * float(np.abs(means).max())
    ranks = rankdata(np.round(means / scale) if scale > 0.0 else means) - (count + 1) / 2
    spread = float(np.sqrt((ranks @ ranks) / (count - 1) * count))
    path = np.abs(np.cumsum(ranks)[:-1])
    at = int(np.argmax(path)) + 1
    chance = float(kolmogorov(path[at - 1] / spread)) if spread > 0.0 else 1.0
    return Change(chance, at / count, float(means[:at].mean()), float(means[at:].mean()))


def alarms(changes: Sequence[Change | None]) -> list[bool]:
    """Which of the changes raise an alarm; the chance of any false alarm among them all is 5 % (Bonferroni).

    >>> alarms([Change(0.02, 0.5, 1.0, 2.0), None, Change(0.03, 0.5, 1.0, 2.0)])
    [True, False, False]
    """
    tests = sum(change is not None for change in changes)
    return [change is not None and change.chance * tests < FALSE_ALARM for change in changes]
