"""What a choice is made by, as one record: to be looked at while the campaign goes on."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from outlay.formulas.argmax import Counts, Now
from outlay.policies.protocol import Policy


class Scales(NamedTuple):
    """A policy, what it knows with pulls under way, and the arms that places in its memory stand for."""

    policy: Policy
    memory: Any
    pulls: Counts
    now: Now
    arms: Sequence[int]
