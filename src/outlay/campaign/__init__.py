"""Spending a real budget: ask which arm, tell what it cost and earned, on a ledger that cannot lose a cent."""

from typing import TYPE_CHECKING

from outlay import lazily

if TYPE_CHECKING:
    from outlay.campaign.campaign import Campaign
    from outlay.campaign.ledger_file import backup, campaigns, export_ledger, import_ledger
    from outlay.campaign.pull import OpenPull
    from outlay.campaign.reasons import ArmReason, Reasons
    from outlay.campaign.records import ArmStatus, Entry, Pull, PullStatus, Receipt, Status, WindowStatus
    from outlay.campaign.shadow import Gain, Shadow
    from outlay.campaign.verification import Verdict, verify

__all__ = [
    "ArmReason", "ArmStatus", "Campaign", "Entry", "Gain", "OpenPull", "Pull", "PullStatus", "Reasons", "Receipt",
    "Shadow", "Status", "Verdict", "WindowStatus", "backup", "campaigns", "export_ledger", "import_ledger", "verify",
]  # fmt: skip

__getattr__, __dir__ = lazily(
    __name__,  # the command line reads the settings without numpy, and a campaign in memory loads no database
    {
        "outlay.campaign.campaign": "Campaign",
        "outlay.campaign.pull": "OpenPull",
        "outlay.campaign.records": "Entry PullStatus ArmStatus Pull Receipt Status WindowStatus",
        "outlay.campaign.ledger_file": "backup campaigns export_ledger import_ledger",
        "outlay.campaign.reasons": "ArmReason Reasons",
        "outlay.campaign.shadow": "Gain Shadow",
        "outlay.campaign.verification": "Verdict verify",
    },
)
