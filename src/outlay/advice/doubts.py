"""Why an arm that is behind is not ruled out."""

from collections.abc import Sequence
from typing import NamedTuple

from outlay.advice.evidence.rates import DOUBTFUL
from outlay.advice.records import ArmAdvice


class Doubts(NamedTuple):
    """What may turn out differently from the log."""

    tails: bool  # the arms that beat it may still have costs larger than any so far
    drift: bool  # it was not below those arms all along the file

    @property
    def condition(self) -> str:
        """The condition under which the arm really is behind.

        >>> Doubts(tails=True, drift=False).condition
        'no cost larger than those seen ever comes'
        """
        tails = ["no cost larger than those seen ever comes"] * self.tails
        return " and ".join(tails + ["the future is like the log as a whole"] * self.drift)


def doubts(arms: Sequence[ArmAdvice]) -> dict[str, Doubts]:
    """The doubts about each arm that is behind, by its name."""
    return {arm.name: _doubts(arm, arms) for arm in arms if arm.verdict == DOUBTFUL}


def _doubts(arm: ArmAdvice, arms: Sequence[ArmAdvice]) -> Doubts:
    above = [other for other in arms if other.name in arm.below]
    tails = all(other.tail.unsettled for other in above)
    drift = not any(arm.course.below(other.course) for other in above)
    return Doubts(tails or not drift, drift or not tails)  # where neither alone explains it, both do
