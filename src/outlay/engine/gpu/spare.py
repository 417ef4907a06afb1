"""Points on the GPU, where no array can be made: each run has a second memory, to line up some of its arms in."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import HullMoments, SequentialMoments
from outlay.checks import Vector
from outlay.engine.gpu.memory import is_like
from outlay.policies.protocol import MemoryTuple


class Fields(NamedTuple):
    """Those of `HullMoments`, and room for some of them."""

    arms: SequentialMoments
    pulls: NDArray[np.int64]
    costs: Vector
    rewards: Vector
    told: Vector
    other: Vector
    free_after: NDArray[np.int64]
    spare: HullMoments


class PointsWithRoom(Fields):
    """`HullMoments` that need not make room."""

    __slots__ = ()

    shuffle = HullMoments.shuffle
    observe = HullMoments.observe
    belief = HullMoments.belief
    lead = HullMoments.lead
    opened = HullMoments.opened
    unopened = HullMoments.unopened
    full = HullMoments.full

    def room_for(self, count: int) -> HullMoments:
        """A part of the room."""
        spare, arms = self.spare, self.spare.arms
        narrow = SequentialMoments(
            arms.stats[: count + 1], arms.extremes, arms.usual, arms.order[:count], arms.place[:count], arms.marks
        )
        return HullMoments(
            narrow, spare.pulls[:count], spare.costs[:count], spare.rewards[:count], spare.told[:count],
            spare.other[:, :count], spare.free_after,
        )  # fmt: skip


def with_room(memory: MemoryTuple) -> MemoryTuple:
    """The memory with room for some of its arms, if it is one that lines them up; else as it is."""
    return PointsWithRoom._make((*memory, memory)) if is_like(type(memory), HullMoments) else memory
