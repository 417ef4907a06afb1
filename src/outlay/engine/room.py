"""Room for what all runs of a simulation do, or one sentence where the machine has none."""

import numpy as np

from outlay.engine.run.loop import Passages
from outlay.errors import BadParameter

_TOO_LARGE = (MemoryError, ValueError)  # of numpy: too large for this machine, too large for any


def room_for(owner: str, policies: int, runs: int, budgets: int, arms: int) -> Passages:
    """Where the passages of all policies' runs go; rewards are nan until then.

    >>> room_for("simulate", policies=2, runs=5, budgets=1, arms=3).pulls.shape
    (2, 5, 1, 3)
    """
    shape = (policies, runs, budgets)
    try:
        return Passages(np.zeros((*shape, arms), np.int64), np.zeros(shape), np.full(shape, np.nan))
    except _TOO_LARGE:
        raise _refusal(owner, policies, runs, budgets, arms) from None


def check_room(owner: str, policies: int, runs: int, budgets: int, arms: int) -> None:
    """Refuse what `room_for` would, before the work."""
    try:
        np.empty((policies, runs, budgets, arms + 2))
    except _TOO_LARGE:
        raise _refusal(owner, policies, runs, budgets, arms) from None


def _refusal(owner: str, policies: int, runs: int, budgets: int, arms: int) -> BadParameter:
    size = 8.0 * policies * runs * budgets * (arms + 2)
    return BadParameter(owner, "runs", f"small enough: these need {size:.1e} bytes of memory", runs)
