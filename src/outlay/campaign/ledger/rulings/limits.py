"""What comes of a change of the limits: the budget, the number of requests, and what is expected of them."""

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.agreement import check_requests
from outlay.campaign.ledger.rulings.asks import Ruling
from outlay.campaign.ledger.state import State
from outlay.errors import CampaignConflict


def set_budget(state: State, command: c.SetBudget) -> Ruling:
    """Another budget, and the end where more is spent already."""
    if state.ended == "closed":
        raise CampaignConflict(f"campaign {state.name!r} is closed: its budget stays {state.unit.amount(state.budget)}")
    if command.budget == state.budget:
        return [], None
    ends = not state.ended and state.counted > command.budget
    return [e.Budgeted(command.budget), *([e.Exhausted()] if ends else [])], None


def set_requests(state: State, command: c.SetRequests) -> Ruling:
    """Another number of requests, and the end where as many are served already."""
    if state.ended == "closed":
        raise CampaignConflict(f"campaign {state.name!r} is closed: its requests stay {_counted(state.requests)}")
    check_requests("set_requests", command.requests)
    if command.requests == state.requests:
        return [], None
    ends = not state.ended and state.served >= command.requests
    return [e.Requested(command.requests), *([e.Exhausted()] if ends else [])], None


def expect(state: State, command: c.Expect) -> Ruling:
    """Another forecast."""
    check_requests("expect", command.requests, least=0)
    same = state.forecast == state.used + command.requests
    return [] if same else [e.Expected(command.requests)], None


def _counted(requests: int | None) -> str:
    return "unlimited" if requests is None else f"{requests:,}"
