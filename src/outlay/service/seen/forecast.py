"""When the budget will be spent, if spending goes on as it did of late: rehearsed from what was observed."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from outlay.campaign.monitor import Point
from outlay.campaign.records import Status
from outlay.checks import Vector
from outlay.service.wire.views import Ahead, Forecast, Limit

PARTS = 24  # that the recent past is cut into
LATELY = 0.5  # share of the points that count as recent
FEWEST = 16  # points
REHEARSALS = 256
AHEAD = 256  # parts that are drawn one by one; chance hardly matters beyond, and the mean pace goes on
STEPS = 24  # of the fan
ENDS = (0.025, 0.5, 0.975)
LONGEST = 10 * 365 * 86_400.0  # seconds: beyond, nothing is said


class _Parts(NamedTuple):
    """Spans of equal time, in seconds, with what was spent and how many requests were used in each."""

    seconds: float
    spent: Vector
    used: Vector


def forecast(status: Status, burn: Sequence[Point], now: datetime | None = None) -> Forecast | None:
    """The forecast; None where the campaign is over, or too little was spent to say.

    The last half of what is known is cut into 24 spans of equal time. A rehearsal draws as many of them with
    replacement, for what is not known of the pace, and then draws from those, one after another, until the money or the
    requests run out, or the window of the budget is over. That takes the spans for independent: it knows nothing of
    nights and weekends.
    """
    recent = burn[int(len(burn) * (1 - LATELY)) :]
    if status.phase != "open" or len(recent) < FEWEST:
        return None
    end = recent[-1].at if now is None else max(now, recent[-1].at)
    parts = _cut(recent, end)
    if parts is None:
        return None
    left = max(0.0, recent[-1].left)
    requests = math.inf if status.requests is None else max(0, status.requests - recent[-1].used)
    spending, by_money, by_requests = _rehearsed(parts, left, requests)
    closes = math.inf if status.window is None else max(0.0, (status.window.end - end).total_seconds())
    ends = np.minimum(np.minimum(by_money, by_requests) * parts.seconds, closes)
    early, middle, late = np.quantile(ends, ENDS, method="nearest").tolist()
    if middle > LONGEST:
        return None

    def when(seconds: float) -> datetime:
        return end + timedelta(seconds=seconds)

    by: Limit = "money" if np.mean(by_money <= by_requests) >= 0.5 else "requests"
    if np.mean(ends >= closes) >= 0.5:
        by = "window"
    horizon = min(late, 3.0 * middle) if late > 0.0 else middle
    fan = [
        Ahead(round(1000 * when(seconds).timestamp()), *left_then)
        for seconds, left_then in _fan(spending, parts, left, np.linspace(0.0, horizon, STEPS + 1)[1:])
    ]
    return Forecast(when(middle), when(early), when(late) if late <= LONGEST else None, by, fan)


def _cut(recent: Sequence[Point], end: datetime) -> _Parts | None:
    """The recent past in spans; a budget that was raised meanwhile is not money that came back."""
    start = recent[0].at
    seconds = (end - start).total_seconds() / PARTS
    spent, used = np.zeros(PARTS), np.zeros(PARTS)
    if seconds <= 0.0:
        return None
    for before, after in pairwise(recent):
        part = min(PARTS - 1, int((after.at - start).total_seconds() / seconds))
        spent[part] += max(0.0, before.left - after.left)
        used[part] += max(0, after.used - before.used)
    return _Parts(seconds, spent, used) if spent.any() else None


def _rehearsed(parts: _Parts, left: float, requests: float) -> tuple[Vector, Vector, Vector]:
    """What each rehearsal spends, span by span, and after how many spans it has no money, and no requests, left."""
    rng = np.random.default_rng(0)  # the same at each look: what is drawn does not flicker
    mean = float(parts.spent.mean())
    ahead = int(min(AHEAD, 4.0 * left / mean + PARTS))
    known = rng.integers(0, PARTS, (REHEARSALS, PARTS))
    drawn = np.take_along_axis(known, rng.integers(0, PARTS, (REHEARSALS, ahead)), axis=1)
    spent, used = parts.spent[drawn], parts.used[drawn]
    # Drawing from as many as there are makes their mean vary a little too little: by a factor of √(1 − 1/n).
    wider = math.sqrt(PARTS / (PARTS - 1.0))
    paces = np.maximum(0.0, mean + wider * (parts.spent[known].mean(axis=1) - mean))
    spent = np.maximum(0.0, spent + (paces - parts.spent[known].mean(axis=1))[:, None])
    return spent, _until(spent, paces, left), _until(used, parts.used[known].mean(axis=1), requests)


def _until(taken: Vector, paces: Vector, most: float) -> Vector:
    """After how many spans each row has taken so much, where the mean pace goes on after the last; ∞ for never."""
    if most == math.inf:
        return np.full(len(taken), math.inf)
    sums = np.cumsum(taken, axis=1)
    whole = np.argmax(sums > most, axis=1)
    before = np.take_along_axis(sums, whole[:, None], axis=1)[:, 0] - np.take_along_axis(taken, whole[:, None], 1)[:, 0]
    last = np.take_along_axis(taken, whole[:, None], axis=1)[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = whole + (most - before) / last
        beyond = taken.shape[1] + (most - sums[:, -1]) / paces
    return np.where(sums[:, -1] > most, inside, np.where(paces > 0.0, beyond, math.inf))


def _fan(spent: Vector, parts: _Parts, left: float, times: Vector) -> list[tuple[float, list[float]]]:
    """What is left at each of the times, in seconds from now: the ends and the middle of all rehearsals."""
    sums = np.concatenate([np.zeros((len(spent), 1)), np.cumsum(spent, axis=1)], axis=1)
    found = []
    for seconds in times.tolist():
        place = min(seconds / parts.seconds, sums.shape[1] - 1.0)
        low = int(place)
        high = min(low + 1, sums.shape[1] - 1)
        gone = sums[:, low] + (place - low) * (sums[:, high] - sums[:, low])
        gone = gone * max(1.0, seconds / parts.seconds / max(place, 1e-9))  # beyond what was drawn
        found.append((seconds, np.quantile(np.maximum(0.0, left - gone), ENDS).tolist()))
    return found
