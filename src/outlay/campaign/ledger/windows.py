"""Windows after which a budget begins anew, as the calendar has them.

A pull counts in the window in which it was asked for, whenever it is told: what was set aside for it then was set aside
of that window's budget, so the cap of each window holds by itself.
"""

from outlay.campaign.calendar import bounds
from outlay.campaign.ledger.events import Renewed
from outlay.campaign.ledger.fold import renewed
from outlay.campaign.ledger.state import State


def renewal(state: State, now: int) -> Renewed | None:
    """What is to be recorded where the window is over, or there is none yet.

    Windows never overlap, also where the time zone's rules are others than those that the last was computed by: a
    pull would else be in two.
    """
    window, last = state.terms.window, state.window_end
    if window is None or (last is not None and now < last):
        return None
    start, end = bounds(window, state.terms.timezone, now)
    return Renewed(start if last is None else max(start, last), end)


def as_of(state: State, now: int) -> State:
    """A state that is only to be looked at, as the next command would find it at this time: it is changed in place."""
    event = renewal(state, now)
    if event is not None:
        renewed(state, event)
    return state
