"""Every sample of every arm, for estimates that weigh each of them anew.

An arm's samples lie side by side in its stretch of a pool that all arms share. A stretch that is used up moves to the
pool's end and doubles. Compiled code cannot enlarge arrays: `full` says when a stretch could not move, and then
`enlarged` (in Python) puts all stretches into a larger pool, without the gaps that moving has left.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.belief import Sample
from outlay.checks import Vector

FIRST_ROOM = 8  # samples an arm starts with room for

# Columns of `Samples.arms`: the arm's pulls, where its stretch starts, how many samples it has room for, and the (size,
# level) that its remembered number belongs to.
PULLS, START, ROOM, SIZE, LEVEL = range(5)
# Entries of `Samples.state`: rows of the pool in use, whether full.
USED, FULL = range(2)


class SampleBelief(NamedTuple):
    """What is known of one arm: its samples, by way of the memory they lie in."""

    arm: int
    pulls: int
    samples: "Samples"


class Samples(NamedTuple):
    """The memory of a policy that reads samples: 20 to 40 bytes per pull, changed in place.

    An estimate from the first `size` samples at a whole-numbered `level` can be remembered for each arm.

    >>> memory = Samples.empty(2)
    >>> memory.observe(1, 2.0, 5.0)
    >>> belief = memory.belief(1)
    >>> belief.pulls, memory.pool[memory.arms[1, START]].tolist()
    (1, [2.0, 5.0])
    """

    pool: NDArray[np.float64]  # [row, cost or reward]
    arms: NDArray[np.int64]  # a row per arm
    remembered: Vector  # one number per arm
    state: NDArray[np.int64]

    @staticmethod
    def empty(arms: int) -> "Samples":
        """Make the memory before the first pull."""
        index = np.zeros((arms, 5), dtype=np.int64)
        index[:, ROOM] = FIRST_ROOM
        return _laid_out(np.zeros((0, 2)), index, np.zeros(arms))

    def enlarged(self) -> "Samples":
        """Copy the content into a larger pool."""
        return _laid_out(self.pool, self.arms, self.remembered.copy())

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        pool, index = self.pool, self.arms
        if self.state[FULL] != 0:
            raise IndexError("the memory is full: go on with memory.enlarged()")
        pulls = int(index[arm, PULLS])
        row = int(index[arm, START]) + pulls
        pool[row, 0] = cost
        pool[row, 1] = reward
        index[arm, PULLS] = pulls + 1
        if pulls + 1 == index[arm, ROOM]:
            _move(self, arm)

    def belief(self, arm: int) -> SampleBelief:
        """What is known of `arm`."""
        return SampleBelief(arm, int(self.arms[arm, PULLS]), self)

    def full(self) -> bool:
        """Whether some arm's next sample could not be stored."""
        return int(self.state[FULL]) != 0

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:  # noqa: ARG002 (`place` says which)
        """Replace the arm's `place`-th sample, counted from 0, by another."""
        self.pool[int(self.arms[arm, START]) + place] = new
        self.arms[arm, SIZE] = 0  # nothing is remembered of no samples

    def with_new_arm(self) -> "Samples":
        """The same with one more arm."""
        row = np.zeros((1, 5), dtype=np.int64)
        row[0, ROOM] = FIRST_ROOM
        return _laid_out(self.pool, np.concatenate([self.arms, row]), np.append(self.remembered, 0.0))

    def without_cache(self) -> "Samples":
        """The same with nothing remembered: what it holds then depends on the samples alone."""
        arms = self.arms.copy()
        arms[:, SIZE] = arms[:, LEVEL] = 0
        return self._replace(arms=arms, remembered=np.zeros_like(self.remembered))


def _move(samples: Samples, arm: int) -> None:
    """Give a stretch that is used up twice the room at the pool's end, or note that there is none."""
    pool, index, state = samples.pool, samples.arms, samples.state
    room, old, new = int(index[arm, ROOM]), int(index[arm, START]), int(state[USED])
    if new + 2 * room > len(pool):
        state[FULL] = 1
        return
    for i in range(room):
        pool[new + i, 0] = pool[old + i, 0]
        pool[new + i, 1] = pool[old + i, 1]
    index[arm, START] = new
    index[arm, ROOM] = 2 * room
    state[USED] = new + 2 * room


def _laid_out(pool: NDArray[np.float64], index: NDArray[np.int64], remembered: Vector) -> Samples:
    """Put the stretches side by side into a new pool, doubled where used up, with a quarter more room at its end."""
    rooms = np.where(index[:, PULLS] == index[:, ROOM], 2 * index[:, ROOM], index[:, ROOM])
    used = int(rooms.sum())
    arms = index.copy()
    arms[:, ROOM] = rooms
    arms[:, START] = np.cumsum(rooms) - rooms
    larger = np.zeros((used + max(used // 4, 64), 2))
    for old, new, pulls in zip(index[:, START], arms[:, START], arms[:, PULLS], strict=True):
        larger[new : new + pulls] = pool[old : old + pulls]
    return Samples(larger, arms, remembered, np.array([used, 0], dtype=np.int64))
