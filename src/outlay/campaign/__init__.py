"""Spending a real budget: ask which arm, tell what it cost and gave, on a ledger that cannot lose a cent."""

import importlib
from typing import TYPE_CHECKING

from outlay.campaign.campaign import Campaign
from outlay.campaign.history import Entry
from outlay.campaign.replies import ArmStatus, Pull, Receipt, Status

if TYPE_CHECKING:
    from outlay.campaign.listing import campaigns
    from outlay.campaign.transfer import backup, export_ledger, import_ledger
    from outlay.campaign.verification import Verdict, verify

__all__ = [
    "ArmStatus", "Campaign", "Entry", "Pull", "Receipt", "Status", "Verdict", "backup", "campaigns",
    "export_ledger", "import_ledger", "verify",
]  # fmt: skip

# Found on first use: a campaign in memory loads no database.
_HOMES = {
    "campaigns": "listing",
    **dict.fromkeys(("backup", "export_ledger", "import_ledger"), "transfer"),
    **dict.fromkeys(("Verdict", "verify"), "verification"),
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"outlay.campaign.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'outlay.campaign' has no attribute {name!r}")
