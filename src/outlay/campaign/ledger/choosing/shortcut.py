"""Choices of policies that compare arms with the leader, without comparing every arm each time: exact all the same.

A certificate (`choices.certificate`) goes from one choice to the next, and is told which arms look different. It
belongs to this process and is never stored: whatever it holds, the choice is that of a full comparison.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from outlay.formulas.argmax import Counts, best_by_excess, best_of_opened
from outlay.formulas.lazy_leader import Certificate, forget_certificate, lazy_against, lazy_among, report

UnderWay = Mapping[int, int]  # from an arm to its pulls under way, if there are any
FEW = 3  # arms, up to which it is quicker to compare all of them


class Shortcut:
    """What is certain from one choice to the next; `opening` policies open arms one by one."""

    def __init__(self, opening: bool) -> None:
        self._choose, self._compare = (lazy_among, best_of_opened) if opening else (lazy_against, best_by_excess)
        self._known: Certificate | None = None
        self._arms: Sequence[int] = ()  # among which the last choice was made
        self._under_way: UnderWay = {}  # at the last choice
        self._noted: set[int] = set()  # arms that something was learned of since

    def note(self, arm: int) -> None:
        """Something was learned of an arm."""
        self._noted.add(arm)

    def forget(self) -> None:
        """Begin anew: the policy has changed, or the memory in a way that no arm accounts for."""
        self._known = None

    def choose(
        self, policy: Any, view: Any, pulls: Counts, arms: Sequence[int], under_way: UnderWay, sampled: Counts
    ) -> int:
        """The place among `arms`, which `view` and `pulls` range over, of the one to pull.

        `sampled` counts the samples of all arms: what is expected of an arm without any changes with every other's.
        """
        if len(arms) <= FEW:
            self._known = None
            return self._compare(policy, view, pulls)
        known, changed = self._known, self._noted
        for arm in self._under_way.keys() | under_way.keys():
            if self._under_way.get(arm) != under_way.get(arm) or sampled[arm] == 0:
                changed.add(arm)
        self._known = None  # for good, if something raises
        if known is None or arms != self._arms:
            known = Certificate.start(len(arms))
            forget_certificate(known)
        else:
            report(view, pulls, known, _places(arms, changed))
        choice = self._choose(policy, view, pulls, known)
        self._known, self._arms, self._under_way, self._noted = known, arms, dict(under_way), set()
        return choice


def _places(arms: Sequence[int], some: Collection[int]) -> Collection[int]:
    """Where those of some arms that may be named stand among all that may, which are in order."""
    if isinstance(arms, range):
        return some
    places = ((bisect_left(arms, arm), arm) for arm in some)
    return [place for place, arm in places if place < len(arms) and arms[place] == arm]
