"""The library's records as answers."""

from decimal import Decimal
from typing import Any

from msgspec.structs import asdict, astuple

from outlay.campaign import records as history
from outlay.campaign import records as pulls
from outlay.campaign import records as replies
from outlay.service.wire import answers as a
from outlay.service.wire.requests import MOST_LISTED


def text(money: float | Decimal) -> str:
    """An amount in digits alone.

    >>> text(1e-7), text(Decimal("10.500000000")), text(30.0)
    ('0.0000001', '10.5', '30')
    """
    written = format(money if isinstance(money, Decimal) else Decimal(repr(money)), "f")
    return written.rstrip("0").rstrip(".") if "." in written else written


def pull(given: replies.Pull) -> a.Pull:
    """A pull as its asker sees it."""
    exact = a.Reserved(text(given.reserved))
    return a.Pull(
        *(given.id, given.arm, given.reserved, exact, given.expires, given.propensity),
        *(given.status, given.fallback),
    )


def receipt(given: replies.Receipt) -> a.Receipt:
    """A tell as it was recorded."""
    fields = asdict(given)
    return a.Receipt(exact=a.Cost(text(given.cost)), **fields)


def pull_status(given: pulls.PullStatus) -> a.PullStatus:
    """How a pull stands."""
    fields = asdict(given)
    exact = a.PullMoney(text(given.reserved), None if given.cost is None else text(given.cost))
    return a.PullStatus(fields.pop("id"), exact=exact, **{**fields, "tags": list(given.tags)})


def arm(given: replies.ArmStatus) -> a.Arm:
    """How an arm stands."""
    return a.Arm(**{**asdict(given), "exact": a.ArmMoney(*map(text, astuple(given.exact)))})


def campaign(given: replies.Status) -> a.Campaign:
    """How a campaign stands, without its arms."""
    return a.Campaign(**_fields(given))


def campaign_and_arms(given: replies.Status) -> a.CampaignAndArms:
    """How a campaign stands, with its first arms."""
    arms = [arm(each) for each in given.arms[:MOST_LISTED]]
    return a.CampaignAndArms(**_fields(given), arms=arms, more_arms=len(given.arms) > len(arms))


def event(given: history.Entry) -> a.Event:
    """An event; numbers of decisions in it are called pulls."""
    return a.Event(*astuple(given))


def _fields(given: replies.Status) -> dict[str, Any]:
    fields = asdict(given)
    del fields["arms"]
    fields["exact"] = a.CampaignMoney(*map(text, astuple(given.exact)))
    fields["outlook"] = None if given.outlook is None else a.Outlook(*astuple(given.outlook))
    fields["window"] = None if given.window is None else a.CampaignWindow(*astuple(given.window))
    return fields
