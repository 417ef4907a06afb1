"""A memory seen through the arms that may be named: the others are disabled, or cost more than is left."""

from collections.abc import Sequence
from typing import cast

import numpy as np

from outlay.beliefs import Lead
from outlay.policies.protocol import Belief, CampaignMemory, LeaderMemory, Memory, SequentialMemory


class Among:
    """Some arms of a memory, numbered anew; beliefs keep the numbers that the arms have in the campaign."""

    def __init__(self, memory: Memory, arms: Sequence[int]) -> None:
        self._memory, self._arms = memory, arms

    def belief(self, arm: int) -> Belief:
        """What is known of the arm."""
        return self._memory.belief(self._arms[arm])

    def lead(self, arm: int) -> Lead:
        """What the others are compared with when this arm leads."""
        return cast("LeaderMemory", self._memory).lead(self._arms[arm])


class AmongOpened(Among):
    """The same for policies that open arms one by one: what is open, usual and next is so among these arms."""

    def __init__(self, memory: Memory, arms: Sequence[int]) -> None:
        super().__init__(memory, arms)
        self._narrow: SequentialMemory = cast("CampaignMemory", memory).subset(np.array(arms, np.int64))

    def lead(self, arm: int) -> Lead:
        """What the others are compared with when this arm leads."""
        return self._narrow.lead(arm)

    def opened(self) -> int:
        """How many of the arms are open."""
        return self._narrow.opened()

    def unopened(self) -> int:
        """The one of them to open next, or their number."""
        return self._narrow.unopened()
