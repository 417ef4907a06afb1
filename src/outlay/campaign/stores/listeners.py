"""Those who want to hear of events once they are kept: what they make of it must not harm the ledger."""

import logging
from collections.abc import Callable, Iterable, Sequence

from outlay.campaign.ledger.events import Record

Listener = Callable[[Sequence[Record]], None]


def tell(campaign: str, listeners: Iterable[Listener], news: Sequence[Record]) -> None:
    """Call each with the news, if there is any; an exception is logged."""
    for listener in list(listeners) if news else ():
        try:
            listener(news)
        except Exception:  # it is a user's code, and may raise anything
            logging.getLogger("outlay.campaign").exception("a listener of campaign %r failed", campaign)
