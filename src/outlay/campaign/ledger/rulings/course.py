"""What comes of a change of a campaign's course: a pause, the end, the archive."""

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.rulings.asks import Ruling
from outlay.campaign.ledger.state import State
from outlay.errors import CampaignConflict


def pause(state: State) -> Ruling:
    """Name no arm for a while."""
    return [] if state.paused else [e.Paused()], None


def resume(state: State) -> Ruling:
    """Name arms again; what is closed stays closed."""
    if state.ended == "closed":
        raise CampaignConflict(f"campaign {state.name!r} is closed, for good: nothing resumes")
    return [e.Resumed()] if state.paused else [], None


def close(state: State) -> Ruling:
    """Name no arm any more."""
    return [] if state.ended == "closed" else [e.Closed()], None


def archive(state: State) -> Ruling:
    """Put it away: no arm is named, pulls under way can still be told."""
    return [] if state.archived else [e.Archived()], None


def restore(state: State) -> Ruling:
    """Bring it back as it was."""
    return [e.Restored()] if state.archived else [], None
