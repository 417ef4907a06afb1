"""Choices by compiled code, where numba is installed: the same ones, in microseconds, among three arms or thousands.

It is made ready in the background once the interpreter's choices have taken about as long as that will, and used from
then on: a short campaign never loads numba, one of a thousand arms soon does. Until then, and where it cannot be made,
the interpreter chooses. It serves outlay's own policies with a score or a comparison whose memory can be set back after
pulls under way were imagined in it.
"""

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from outlay.beliefs.sums import ROOM
from outlay.compiler.ahead import Coming, order, possible
from outlay.compiler.records import coerced, shape
from outlay.formulas.choices.boxes import Floats, Ints
from outlay.formulas.choices.choose import Counts
from outlay.formulas.choices.imagined import KNOWN, PICKERS, Desk
from outlay.policies.protocol import MemoryTuple, Policy, Restores, memory_of, way_of

UnderWay = Mapping[int, int]  # from an arm to its pulls under way, if there are any

LOG = logging.getLogger("outlay.campaign")
WORTH = 1e6  # microseconds: what loading takes, which holds up all other threads meanwhile
CHOICE, ARM = 25, 3  # microseconds that a choice takes the interpreter, and each arm in it, about
CODE = "outlay.campaign.ledger.choosing.compiled"
NO_PULLS: Ints = np.zeros((2, 0), np.int64)
_spent: dict[type, int] = {}  # microseconds of the interpreter's choices in this process, for each policy


class Quick:
    """What compiled choices need from one to the next; `find` says whether there is compiled code to make them."""

    def __init__(self, policy: Policy, memory: MemoryTuple) -> None:
        ours = bool(policy) and type(policy).__module__.startswith("outlay.") and isinstance(memory, Restores)
        self._picker_of: Any = PICKERS.get(way_of(type(policy)).name) if ours else None
        self._picker: Any = None  # None where compiled code is out of the question
        self._kind = type(policy)
        self._coming: Coming | None = None  # `imagined.name_arm`
        self._learning: Coming | None = None  # `imagined.take_in_sample`
        self._made_for: object = None  # the types of picker and memory that the code is compiled for
        self._fits: tuple[object, object] = None, None  # the picker and the memory that have these types
        self._noted: set[int] = set()  # arms that something was learned of since the last choice
        self._desk, self._kept = Desk.start(0), np.zeros((0, ROOM))

    def note(self, arm: int) -> None:
        """Something was learned of an arm."""
        if self._picker is not None:
            self._noted.add(arm)

    def forget(self, policy: Policy) -> None:
        """Begin anew: the policy has changed, or the memory in a way that no arm accounts for."""
        self._desk.marks[KNOWN] = 0
        self._picker = None if self._picker_of is None else self._picker_of(coerced(policy))

    def find(self, policy: Policy, memory: MemoryTuple, arms: int) -> bool:
        """Whether compiled code is at hand for this memory; where it would have paid before, it is sent for."""
        picker = self._picker
        if picker is None or not (self._coming or self._send_for(policy, arms)):
            return False
        if self._coming is None or self._coming.entry is None:
            if self._coming and self._coming.failure is not None:
                _say_once(self._coming)
                self._give_up()
            return False
        if self._fits[0] is not picker or self._fits[1] is not memory:
            if shape((picker, memory)) != self._made_for:
                self._give_up()
                return False
            self._fits = picker, memory
        return True

    def choose(self, memory: MemoryTuple, pulls: Counts, totals: Floats, unknown: float, under_way: UnderWay) -> int:
        """The arm to pull next, of all; `unknown` is the cost that is expected before there are samples."""
        if len(self._desk.flying[0]) != len(pulls):
            self._desk = Desk.start(len(pulls))
        flying = NO_PULLS
        if under_way:
            arms = sorted(under_way)
            flying = np.array((arms, [under_way[arm] for arm in arms]), np.int64)
            if len(arms) > len(self._kept):
                self._kept = np.zeros((2 * len(arms), ROOM))
        noted = np.fromiter(self._noted, np.int64, len(self._noted))
        self._noted.clear()
        assert self._coming is not None  # noqa: S101 (it was found)
        assert self._coming.entry is not None  # noqa: S101
        arm: int = self._coming.entry(
            self._picker, memory, pulls, totals, unknown, flying, self._kept, self._desk, noted
        )  # fmt: skip
        return arm

    def learn(self, memory: MemoryTuple, arm: int, cost: float, reward: float) -> bool:
        """Take in a sample by compiled code, if that is at hand for this memory; whether it was."""
        if self._learning is None or self._fits[1] is not memory or self._learning.entry is None:
            return False
        self._learning.entry(memory, arm, cost, reward)
        return True

    def wait(self) -> None:
        """Until what was sent for is there, or does not come: for measurements and tests."""
        for coming in filter(None, (self._coming, self._learning)):
            coming.over.wait()

    def _send_for(self, policy: Policy, arms: int) -> bool:
        """Have the code made ready, if it is time to."""
        spent = _spent[self._kind] = _spent.get(self._kind, 0) + CHOICE + ARM * arms
        if spent < WORTH:
            return False
        if not possible():
            self._give_up()
            return False
        memory = memory_of(policy, 1)
        self._made_for = shape((self._picker, memory))
        numbers = np.zeros(1, np.int64), np.zeros((1, 2)), 1.0, NO_PULLS, self._kept
        self._learning = order(f"{CODE}:TAKE_IN_SAMPLE", (memory, 0, 1.0, 1.0))
        arguments = self._picker, memory, *numbers, Desk.start(1), np.zeros(0, np.int64)
        self._coming = order(f"{CODE}:NAME_ARM", arguments)
        return True

    def _give_up(self) -> None:
        self._picker_of = self._picker = None
        self._noted.clear()


def _say_once(coming: Coming) -> None:
    if not coming.told:
        coming.told = True
        LOG.warning("choices are made by the interpreter, more slowly: %s", coming.failure)
