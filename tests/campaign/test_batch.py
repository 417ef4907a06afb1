"""A batch of commands: what one of them breaks in the middle is not kept."""

from typing import Any

import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger import decide
from outlay.campaign.ledger.apply import apply


def test_an_error_in_the_middle_of_a_change_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a time limit made of signals raises it, anywhere: the store folds its events anew."""
    campaign = Campaign({"a": 1}, 9, mode="hard")

    def interrupted(state: Any, record: Any, policy: Any) -> Any:
        apply(state, record, policy)
        raise TimeoutError("somebody's alarm")

    with monkeypatch.context() as patch:
        patch.setattr(decide, "apply", interrupted)
        with pytest.raises(TimeoutError, match="somebody's alarm"):
            campaign.ask()
    status = campaign.status()
    assert (status.in_flight, status.reserved, status.events) == (0, 0, 1)
    pull = campaign.ask()
    assert pull is not None
    assert pull.id == 2
