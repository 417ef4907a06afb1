"""What is remembered of a campaign's past beside its sums: how rates were known over time, and some outcomes."""

import random
from datetime import datetime
from typing import NamedTuple

from outlay.beliefs import Moments
from outlay.campaign.monitor import Interval, rate_interval

MOST_LOOKS = 48  # at all arms; beyond, every second one goes
FIRST_EVERY = 4  # outcomes from one look to the next, at first
IN_ALL, FEWEST, MOST = 40_000, 30, 2000  # outcomes that are kept: of all arms together, and of one


class Known(NamedTuple):
    """An arm's rate as it was known at some moment; None before the first outcome."""

    at: datetime
    rate: float | None
    interval: Interval


class Looks:
    """What was known of all arms, at moments that are further apart the longer it gets."""

    def __init__(self) -> None:
        self._taken: list[tuple[datetime, Moments]] = []
        self._every, self._since = FIRST_EVERY, 0

    def note(self, at: datetime, memory: Moments) -> None:
        """One outcome more is in the memory."""
        self._since += 1
        if self._since < self._every:
            return
        self._since = 0
        self._taken.append((at, Moments(memory.stats.copy())))
        if len(self._taken) >= MOST_LOOKS:
            del self._taken[::2]
            self._every *= 2

    def of(self, arm: int) -> list[Known]:
        """How the rate of the arm of this number was known, over time."""
        return [_known(at, memory, arm) for at, memory in self._taken if arm < len(memory.stats)]


def _known(at: datetime, memory: Moments, arm: int) -> Known:
    belief = memory.belief(arm)
    rate = belief.mean_reward / belief.mean_cost if belief.pulls and belief.mean_cost > 0.0 else None
    return Known(at, rate, rate_interval(belief))


class Outcomes:
    """Some outcomes of one arm, all equally likely to be among them (Vitter's algorithm R)."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, float, float]] = []  # the pull, its cost, its reward
        self._seen, self._chance = 0, random.Random(0)  # noqa: S311 (no secret)

    def add(self, pull: int, cost: float, reward: float, arms: int) -> None:
        """One more, where there are so many arms."""
        self._seen += 1
        most = max(FEWEST, min(MOST, IN_ALL // arms))
        if len(self.kept) < most:
            self.kept.append((pull, cost, reward))
        elif (place := int(self._chance.random() * self._seen)) < len(self.kept):
            self.kept[place] = pull, cost, reward

    def correct(self, pull: int, cost: float, reward: float) -> None:
        """An outcome turned out to be another."""
        self.kept = [(pull, cost, reward) if each[0] == pull else each for each in self.kept]
