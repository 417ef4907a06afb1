"""When the budget will be spent, if spending goes on as it did of late; with an interval, from how it went in parts."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

import msgspec

from outlay.campaign.answers.replies import Status
from outlay.campaign.answers.watching import Point

PARTS = 8  # that the recent past is cut into, each a look at the pace of spending
LATELY = 0.5  # share of the points that count as recent
T_95 = 2.365  # Student's t of seven degrees of freedom: 95 % on both sides
LONGEST = 10 * 365 * 86_400.0  # seconds: beyond, nothing is said


class Forecast(msgspec.Struct):
    """When the budget is spent: `at`, and from `early` to `late` with 95 %; null where that may be never."""

    at: datetime
    early: datetime
    late: datetime | None


def forecast(status: Status, burn: Sequence[Point]) -> Forecast | None:
    """The forecast; None where the campaign is over, or too little was spent to say.

    The last half of what is known is cut into eight spans of equal time; the pace in each is one sample. The mean pace
    of the time to come has Student's interval, for what is not known of the pace and for how it will vary. That takes
    the spans for independent: it knows nothing of nights and weekends.
    """
    recent = burn[int(len(burn) * (1 - LATELY)) :]
    if status.phase != "open" or len(recent) < 2 * PARTS:
        return None
    start, end = recent[0].at, recent[-1].at
    span = (end - start).total_seconds() / PARTS
    if span <= 0:
        return None
    paces = _paces(recent, start, span)
    mean = sum(paces) / PARTS
    if mean <= 0:
        return None
    left = max(0.0, recent[-1].left)
    variance = sum((pace - mean) ** 2 for pace in paces) / (PARTS - 1)
    to_come = span * mean / left if left else 0.0  # one over the number of spans that what is left will last
    spread = T_95 * math.sqrt(variance * (1 / PARTS + to_come))

    def when(pace: float) -> datetime | None:
        seconds = left / pace if pace > 0 else math.inf
        return end + timedelta(seconds=seconds) if seconds < LONGEST else None

    at, early = when(mean), when(mean + spread)
    return None if at is None or early is None else Forecast(at, early, when(mean - spread))


def _paces(recent: Sequence[Point], start: datetime, span: float) -> list[float]:
    """Money per second in each span; a budget that was raised meanwhile is not money that came back."""
    spent = [0.0] * PARTS
    for before, after in pairwise(recent):
        part = min(PARTS - 1, int((after.at - start).total_seconds() / span))
        spent[part] += max(0.0, before.left - after.left)
    return [each / span for each in spent]
