"""Windows after which a budget begins anew, as the calendar has them.

A pull counts in the window in which it was asked for, whenever it is told: what was set aside for it then was set aside
of that window's budget, so the cap of each window holds by itself.
"""

from outlay.campaign.calendar import bounds
from outlay.campaign.ledger.events import Renewed
from outlay.campaign.ledger.fold import renewed
from outlay.campaign.ledger.state import State


def renewal(state: State, now: int) -> Renewed | None:
    """What is to be recorded where the window is over, or there is none yet."""
    window = state.terms.window
    if window is None or (state.window_end is not None and now < state.window_end):
        return None
    return Renewed(*bounds(window, state.terms.timezone, now))


def as_of(state: State, now: int) -> State:
    """A state that is only to be looked at, as the next command would find it at this time: it is changed in place."""
    event = renewal(state, now)
    if event is not None:
        renewed(state, event)
    return state
