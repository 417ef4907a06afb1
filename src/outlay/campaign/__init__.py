"""Spending a real budget: ask which arm, tell what it cost and gave, on a ledger that cannot lose a cent."""

from typing import TYPE_CHECKING

from outlay.campaign.campaign import Campaign
from outlay.campaign.history import Entry
from outlay.campaign.replies import ArmStatus, Pull, Receipt, Status
from outlay.lazily import lazily

if TYPE_CHECKING:
    from outlay.campaign.listing import campaigns
    from outlay.campaign.transfer import backup, export_ledger, import_ledger
    from outlay.campaign.verification import Verdict, verify

__all__ = [
    "ArmStatus", "Campaign", "Entry", "Pull", "Receipt", "Status", "Verdict", "backup", "campaigns",
    "export_ledger", "import_ledger", "verify",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,  # a campaign in memory loads no database
    {
        "outlay.campaign.listing": "campaigns",
        "outlay.campaign.transfer": "backup export_ledger import_ledger",
        "outlay.campaign.verification": "Verdict verify",
    },
)
