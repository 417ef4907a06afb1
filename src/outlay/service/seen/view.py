"""A campaign in numbers that are small whatever its size: what the dashboard draws of it."""

import math
from collections.abc import Mapping
from datetime import datetime

from outlay.campaign import ArmReason, Reasons
from outlay.campaign.monitor import CampaignView, Interval
from outlay.campaign.records import ArmStatus
from outlay.service.seen.past import Known
from outlay.service.seen.watched import Judged, Watched
from outlay.service.wire import records
from outlay.service.wire import views as v

MOST_POINTS = 240  # of the money left
MOST_ARMS = 60  # that are listed
MOST_PAST = 5  # arms whose rates are drawn over time
MOST_EVENTS = 10
MOST_REASONS = 5


async def seen(watched: Watched, wanted: v.ViewWanted) -> v.CampaignView:
    """The campaign as it is now."""
    return _view(watched, *await watched.look(), wanted)


def _view(watched: Watched, found: CampaignView, judged: Judged, wanted: v.ViewWanted) -> v.CampaignView:
    status, reasons = found.status, judged.reasons
    all_read = watched.read is None
    intervals = {arm.name: interval for arm, interval in zip(status.arms, found.intervals, strict=True) if all_read}
    arms = _ranked(status.arms, wanted)
    about = {} if reasons is None else {each.name: each for each in reasons.arms}
    step = max(1, math.ceil(len(found.burn) / MOST_POINTS))
    return v.CampaignView(
        campaign=records.campaign(status),
        read=status.events if watched.read is None else min(watched.read, status.events),
        burn=[v.Point(_moment(at), left, used) for at, left, used in (*found.burn[:-1:step], *found.burn[-1:])],
        judged=judged.events,
        forecast=judged.forecast,
        arms=[_arm(arm, intervals, about) for arm in arms[:MOST_ARMS]],
        other_arms=max(0, len(arms) - MOST_ARMS),
        past=[v.RatePast(arm.name, list(map(_rate_at, watched.past(arm.name)))) for arm in arms[:MOST_PAST]],
        next=None if reasons is None else _next(reasons),
        learning=judged.learning,
        under_way=[records.pull_status(pull) for pull in found.under_way] if all_read else [],
        events=[records.event(entry) for entry in reversed(found.last[-MOST_EVENTS:])],
        counts=watched.counts,
    )


def _ranked(arms: tuple[ArmStatus, ...], wanted: v.ViewWanted) -> list[ArmStatus]:
    """The arms that are wanted, the largest first."""
    text = wanted.find.casefold()
    found = [arm for arm in arms if text in arm.name.casefold()] if text else list(arms)
    return sorted(found, key=lambda arm: -_number(getattr(arm, wanted.by)))


def _number(value: float | None) -> float:
    return -math.inf if value is None else value


def _arm(arm: ArmStatus, intervals: Mapping[str, Interval], about: Mapping[str, ArmReason]) -> v.ArmView:
    low, high = map(_finite, intervals.get(arm.name, (None, None)))
    reason = about.get(arm.name)
    if reason is None:
        return v.ArmView(records.arm(arm), low, high)
    return v.ArmView(
        records.arm(arm), low, high, reason.leads, _finite(reason.evidence), reason.enough, _finite(reason.score)
    )  # fmt: skip


def _next(reasons: Reasons) -> v.Next:
    """The arm that comes next first, then the leaders, then those that are nearest to being looked at again."""
    ranked = sorted(reasons.arms, key=lambda each: (each.name != reasons.arm, not each.leads, _distance(each)))
    shown = [
        v.Reason(each.name, each.leads, _finite(each.evidence), each.enough, _finite(each.score), each.words)
        for each in ranked[:MOST_REASONS]
    ]
    return v.Next(reasons.arm, reasons.means, reasons.words, reasons.untried, shown if reasons.arm is not None else [])


def _distance(reason: ArmReason) -> float:
    """How far the evidence is past what is enough; for policies that rank arms, how far the score is down."""
    if reason.score is not None:
        return -reason.score
    if reason.evidence is None or reason.enough is None:
        return math.inf
    return reason.evidence - reason.enough


def _rate_at(known: Known) -> v.RateAt:
    return v.RateAt(_moment(known.at), *map(_drawn, (known.rate, *known.interval)))


def _moment(at: datetime) -> int:
    return round(1000 * at.timestamp())


def _drawn(value: float | None) -> float | None:
    """A number as exact as a drawing needs it."""
    return float(f"{value:.5g}") if value is not None and math.isfinite(value) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
