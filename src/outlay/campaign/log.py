"""What a campaign writes to Python's log, under the name `outlay.campaign`.

Every record has the campaign's name as `record.campaign`. Nothing is printed unless the program sets logging up.
"""

import logging
from collections.abc import Iterable

from outlay.campaign.ledger.events import Archived, Asked, Closed, Exhausted, Expired, Record, Renewed, Restored, Told
from outlay.errors import NotNow

_log = logging.getLogger("outlay.campaign")
_log.addHandler(logging.NullHandler())  # a library prints nothing by itself


def opened(name: str, policy: str, spent: float, budget: float) -> None:
    """A campaign was opened in this process."""
    _say(logging.INFO, name, "opened, with %g of %g spent, run by %s", spent, budget, policy)


def written(name: str, records: Iterable[Record]) -> None:
    """Events of this process were committed: what somebody should know of is logged."""
    for record in records:
        event = record.event
        kind = type(event)
        if kind is Asked or (kind is Told and not event.overrun):  # type: ignore[union-attr]
            continue  # nearly all
        if isinstance(event, Told):
            _say(logging.WARNING, name, "pull %d cost more than was set aside for it (overrun)", event.decision)
        elif isinstance(event, Exhausted):
            _say(
                logging.INFO,
                name,
                "exhausted: the budget is spent, no arm fits what is left of it, or every request is served",
            )
        elif isinstance(event, (Closed, Archived, Restored)):
            _say(logging.INFO, name, type(event).__name__.lower())
        elif isinstance(event, Renewed):
            _say(logging.INFO, name, "began a window: its budget is whole again")
        elif isinstance(event, Expired):
            ending = "released" if event.charged is None else "charged"
            _say(logging.WARNING, name, "pull %d expired, its reservation is %s", event.decision, ending)


def refused(name: str, error: Exception) -> None:
    """A command was refused; that no pull can be named now is no news while workers wait."""
    _say(logging.DEBUG if isinstance(error, NotNow) else logging.WARNING, name, "refused: %s", error)


def rounded(name: str, given: object, budget: float, unit: object) -> None:
    """A budget was no whole number of units."""
    _say(logging.WARNING, name, "has a budget of %.15g: %s is no whole number of units of %s", budget, given, unit)


def reopened(name: str, budget: float, requests: int | None) -> None:
    """More budget, or more requests, were given to a campaign that was exhausted."""
    served = "" if requests is None else f" and {requests:,} requests"
    _say(logging.INFO, name, "reopened, with a budget of %g%s", budget, served)


def set_back(name: str, known: int, there: int) -> None:
    """The ledger is another than this process wrote: a backup was put in place, or a server lost what it had."""
    what = "was set back: its ledger had %d events that are not all there any more, and now has %d; it is read anew"
    _say(logging.ERROR, name, what, known, there)


def untold(name: str, pull: int) -> None:
    """A `with` block was left although nothing was told."""
    _say(logging.WARNING, name, "pull %d was left without a tell: what was set aside is charged", pull)


def broken_hook(name: str, kind: str, hook: object, error: BaseException) -> None:
    """A user's hook raised."""
    _log.error("campaign %r: hook %r on %s raised", name, hook, kind, exc_info=error, extra={"campaign": name})


def unread(name: str, error: Exception) -> None:
    """Hooks wait because the ledger cannot be read."""
    _say(logging.WARNING, name, "cannot be read for its hooks: %s", error)


def _say(level: int, name: str, message: str, *values: object) -> None:
    _log.log(level, f"campaign %r {message}", name, *values, extra={"campaign": name})
