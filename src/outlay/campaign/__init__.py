"""Spending a real budget: ask which arm, tell what it cost and earned, on a ledger that cannot lose a cent."""

from typing import TYPE_CHECKING

from outlay.lazily import lazily

if TYPE_CHECKING:
    from outlay.campaign.campaign import Campaign
    from outlay.campaign.hand import OpenPull
    from outlay.campaign.history import Entry
    from outlay.campaign.listing import campaigns
    from outlay.campaign.pulls import PullStatus
    from outlay.campaign.replies import ArmStatus, Pull, Receipt, Status
    from outlay.campaign.transfer import backup, export_ledger, import_ledger
    from outlay.campaign.verification import Verdict, verify

__all__ = [
    "ArmStatus", "Campaign", "Entry", "OpenPull", "Pull", "PullStatus", "Receipt", "Status", "Verdict", "backup",
    "campaigns", "export_ledger", "import_ledger", "verify",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,  # the command line reads the settings without numpy, and a campaign in memory loads no database
    {
        "outlay.campaign.campaign": "Campaign",
        "outlay.campaign.hand": "OpenPull",
        "outlay.campaign.history": "Entry",
        "outlay.campaign.listing": "campaigns",
        "outlay.campaign.pulls": "PullStatus",
        "outlay.campaign.replies": "ArmStatus Pull Receipt Status",
        "outlay.campaign.transfer": "backup export_ledger import_ledger",
        "outlay.campaign.verification": "Verdict verify",
    },
)
