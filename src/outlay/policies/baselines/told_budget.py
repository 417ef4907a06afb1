"""A budget that a policy is told: `simulate` fills it in, so it may be left open."""

import math
from typing import Any

from outlay.checks import real
from outlay.parameters import Record


class TellsBudget(Record):
    """A record with a field `budget` that is ∞ where it was not given; such a policy is run once per budget."""

    __slots__ = ()

    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments; budget is None where it was not given."""
        given = super().arguments()
        return given | ({"budget": None} if given["budget"] == math.inf else {})


def told_budget(owner: str, budget: float | None) -> float:
    """A positive number; ∞ for None."""
    return math.inf if budget is None else real(owner, "budget", budget, above=0)
