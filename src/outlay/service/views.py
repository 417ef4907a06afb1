"""What the dashboard shows of a campaign, and when its budget will be spent."""

import asyncio
import math
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from outlay.arms import Gaussian
from outlay.beliefs import Belief, Moments
from outlay.campaign import ArmReason, Campaign, Reasons
from outlay.campaign.context import named_categories
from outlay.campaign.monitor import Balance, CampaignMonitor, CampaignView, rate_interval
from outlay.campaign.records import ArmStatus, Entry, Segment, Status
from outlay.checks import Vector
from outlay.errors import OutlayError
from outlay.service import schemas as s
from outlay.service.schemas import Ahead, Forecast, Learning, Limit
from outlay.theory import divergence

# What is shown
MOST_POINTS = 240  # of the money left
MOST_ARMS = 60  # listed
MOST_PAST = 5  # arms whose rates are charted
MOST_EVENTS, MOST_REASONS = 10, 5
MOST_SHARED = 5  # arms of a segment
NONE = 255  # a context has fewer categories
UNUSUAL = ("late", "overrun", "rounded")  # flags of a tell
ENDINGS = ("expired", "cancelled", "amended")  # kinds of events

# What is read and remembered
AT_ONCE = 10_000  # events that one look reads, in a fraction of a second
WEIGHED = 1000  # arms whose reasons are computed
BRIEFLY, PATIENCE = 0.2, 1.0  # seconds between two looks, and between two analyses of a campaign that changes
OFTEN = 10.0  # seconds between two analyses of one that does not: forecasts move with the clock
MOST_LOOKS = 48  # points of a rate's chart; beyond, every second one goes
FIRST_EVERY = 4  # outcomes between two points, at first
IN_ALL, FEWEST, MOST = 40_000, 30, 2000  # outcomes kept: of all arms together, and of one

# The forecast
LATELY, FEWEST_POINTS = 0.5, 16  # share of the points that count as recent, and how many it takes
PARTS = 24  # of the recent past
REHEARSALS = 256
AHEAD = 256  # parts drawn one by one; after that the mean pace continues
STEPS = 24  # points of the fan
ENDS = (0.025, 0.5, 0.975)
LONGEST = 10 * 365 * 86_400.0  # seconds: no forecast beyond

# What learning has cost
FEW = 10  # pulls needed to judge an arm's rate
CLEARLY = 3.0  # standard errors by which an arm must be worse to count


async def view_of(watched: "WatchedCampaign", find: str = "", by: s.ArmOrder = "pulls") -> s.DashboardView:
    """The campaign as it is now; small, whatever the size of the campaign.

    It shows the arms whose names contain `find`, sorted by `by`, largest first.
    """
    found, analysis = await watched.look()
    status, reasons, monitor = found.status, analysis.reasons, watched.monitor
    intervals = {} if monitor.behind else dict(zip((arm.name for arm in status.arms), found.intervals, strict=True))
    about = {} if reasons is None else {each.name: each for each in reasons.arms}

    def size(arm: ArmStatus) -> float:
        value: float | None = getattr(arm, by)
        return -math.inf if value is None else value

    def arm_view(arm: ArmStatus) -> s.ArmView:
        low, high = intervals.get(arm.name, (None, None))
        reason = about.get(arm.name)
        weighed = () if reason is None else (reason.leads, reason.evidence, reason.enough, reason.score)
        return s.ArmView(s.answer(s.ArmAnswer, arm), low, high, *weighed)

    text = find.casefold()
    arms = sorted((arm for arm in status.arms if text in arm.name.casefold()), key=size, reverse=True)
    step = max(1, math.ceil(len(found.burn) / MOST_POINTS))
    return s.DashboardView(
        campaign=s.answer(s.CampaignAnswer, status),
        read=min(monitor.read, status.events) if monitor.behind else status.events,
        burn=[s.BurnPoint(_millis(at), left, used) for at, left, used in (*found.burn[:-1:step], *found.burn[-1:])],
        judged=analysis.events,
        forecast=analysis.forecast if isinstance(analysis.forecast, Forecast) else None,
        no_forecast=analysis.forecast if isinstance(analysis.forecast, str) else None,
        arms=list(map(arm_view, arms[:MOST_ARMS])),
        other_arms=max(0, len(arms) - MOST_ARMS),
        past=[s.RatePast(arm.name, monitor.past(arm.name)) for arm in arms[:MOST_PAST]],
        next=None if reasons is None else _shortened(reasons),
        learning=analysis.learning,
        context=s.context_names(watched.campaign.context),
        segments=[] if monitor.behind else monitor.segments(),
        under_way=[] if monitor.behind else [*found.under_way],
        events=list(reversed(found.last[-MOST_EVENTS:])),
        counts={name: monitor.counted[name] for name in (*UNUSUAL, *ENDINGS)},
    )


def _shortened(reasons: Reasons) -> Reasons:
    """The next arm first, then the leaders, then those closest to being pulled again."""

    def order(arm: ArmReason) -> tuple[bool, bool, float]:
        if arm.score is not None:
            distance = -arm.score
        else:  # how far the evidence exceeds what is enough
            distance = math.inf if arm.evidence is None or arm.enough is None else arm.evidence - arm.enough
        return arm.name != reasons.arm, not arm.leads, distance

    shown = sorted(reasons.arms, key=order)[:MOST_REASONS] if reasons.arm is not None else ()
    return replace(reasons, arms=tuple(shown))


def _millis(at: datetime) -> int:
    return round(1000 * at.timestamp())


class Analysis(NamedTuple):
    """What follows from so many events: why an arm is next, when the campaign will end, what learning has cost.

    None if the policy is not available, if too little is known, or while past events are still being read; where there
    is no forecast, why.
    """

    events: int
    reasons: Reasons | None = None
    forecast: Forecast | str = "The forecast comes when all past events are read."
    learning: Learning | None = None


class WatchedCampaign:
    """A campaign with what the dashboard has read of it."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.monitor = _DashboardMonitor(campaign)
        self._lock = asyncio.Lock()
        self._seen: CampaignView | None = None
        self._seen_at = self._analyzed_at = -PATIENCE  # by the monotonic clock
        self._analysis, self._analyzed = Analysis(-1), (-1, -1)  # the latter: events, and how many of them were read

    async def look(self) -> tuple[CampaignView, Analysis]:
        """The campaign as it is now, and its analysis, which takes longer and may be a second old.

        A long history is read in parts, one with each look. All who look at the same time share one look.
        """
        async with self._lock:
            seen = self._seen
            if seen is None or time.monotonic() - self._seen_at >= BRIEFLY:
                seen = await self._read()
            state = seen.status.events, self.monitor.read if self.monitor.behind else seen.status.events
            if time.monotonic() - self._analyzed_at >= (OFTEN if state == self._analyzed else PATIENCE):
                self._analysis = await asyncio.to_thread(self._analyze, seen)
                self._analyzed, self._analyzed_at = state, time.monotonic()
            return seen, self._analysis

    async def catch_up(self) -> CampaignView:
        """The campaign with all its events read, however long that takes."""
        while True:
            async with self._lock:
                seen = await self._read()
            if not self.monitor.behind:
                return seen

    async def _read(self) -> CampaignView:
        self._seen = await asyncio.to_thread(self.monitor.look, AT_ONCE)
        self._seen_at = time.monotonic()
        return self._seen

    def _analyze(self, found: CampaignView) -> Analysis:
        status = found.status
        reasons: Reasons | None = None
        with suppress(OutlayError):  # a user's own policy, which the service does not have
            reasons = self.campaign.reasons(WEIGHED)
        if self.monitor.behind:
            return Analysis(status.events, reasons)
        beliefs = [belief for arm in status.arms if (belief := self.monitor.belief(arm.name)) is not None]
        ahead = forecast(status, found.burn, datetime.now(UTC))
        return Analysis(status.events, reasons, ahead, learning(status, beliefs))


class _DashboardMonitor(CampaignMonitor):
    """A monitor that also keeps counts, tags, outcomes and past rates."""

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign, pulls=50, events=50)
        self.counted: Counter[str] = Counter()
        self.tagged: Counter[str] = Counter()  # how many pulls have each tag
        self.outcomes: defaultdict[str, Outcomes] = defaultdict(Outcomes)
        self._known: list[tuple[datetime, Moments]] = []  # of all arms, at times further apart the longer it runs
        self._every, self._since = FIRST_EVERY, 0
        self._segments = [_Segments(*each) for each in named_categories(campaign.context)]

    def segments(self) -> list[s.SegmentsView]:
        """What each category of the context came to, by name."""
        return [each.view() for each in self._segments]

    def past(self, arm: str) -> list[s.RateAt]:
        """The rate of an arm as known over time, to five digits."""
        found = []
        for at, memory in self._known:
            if self._arms.get(arm, math.inf) < len(memory.stats):
                belief = memory.belief(self._arms[arm])
                rate = belief.mean_reward / belief.mean_cost if belief.pulls and belief.mean_cost > 0.0 else math.nan
                numbers = (rate, *rate_interval(belief))
                drawn = (float(f"{each:.5g}") if math.isfinite(each) else None for each in numbers)
                found.append(s.RateAt(_millis(at), *drawn))
        return found

    def _take_in(self, entry: Entry) -> None:
        arm = str(self._asked.get(entry.pull or 0, entry).arm)  # that one was cancelled does not say its arm
        super()._take_in(entry)
        if entry.kind in ENDINGS:
            self.counted[entry.kind] += 1
        for name in UNUSUAL:
            if entry.more.get(name):
                self.counted[name] += 1
        for tag in entry.more.get("tags", ()) if entry.kind == "asked" else ():
            self.tagged[tag] += 1
        for segments in self._segments:
            segments.count(entry, arm)

    def _count(self, name: str, entry: Entry) -> float:
        more = super()._count(name, entry)
        instead = entry.more.get("instead") or {"cost": 0.0, "reward": None}
        reward = (instead["reward"] if entry.reward is None else entry.reward) or 0.0
        for segments in self._segments:
            segments.add(entry.pull or 0, more, reward - (instead["reward"] or 0.0))
        if entry.reward is not None:
            sample = entry.pull or 0, instead["cost"] if entry.cost is None else entry.cost, entry.reward
            if instead["reward"] is None:
                self.outcomes[name].add(*sample, arms=len(self._arms))
            else:
                self.outcomes[name].correct(*sample)
        self._since += 1
        if self._since == self._every:
            self._since = 0
            self._known.append((entry.at, Moments(self._memory.stats.copy())))
            if len(self._known) == MOST_LOOKS:
                del self._known[::2]
                self._every *= 2
        return more


class _Segments:
    """What each category under one name came to; of a pull its category is kept, in a byte."""

    def __init__(self, name: str, categories: tuple[str, ...], place: int) -> None:
        self._name, self._categories, self._place = name, categories, place
        self._of = bytearray()  # [event]: the place of a pull's category, NONE for others
        self._sums = [[0.0, 0.0] for _ in categories]
        self._arms = [Counter[str]() for _ in categories]

    def count(self, entry: Entry, arm: str) -> None:
        """Count a request, or one that was cancelled, or told after that."""
        if entry.kind == "asked" and "context" in entry.more:
            features = entry.more["context"][self._place : self._place + len(self._categories)]
            self._of += bytes([NONE]) * (entry.seq - len(self._of)) + bytes([features.index(1.0)])
            self._arms[self._of[-1]][arm] += 1
        more = entry.more.get("was_cancelled", False) - (entry.kind == "cancelled")
        if more and (place := self._place_of(entry.pull)) != NONE:
            self._arms[place][arm] += more

    def add(self, pull: int, cost: float, reward: float) -> None:
        """A pull costs and earns so much more."""
        if (place := self._place_of(pull)) != NONE:
            self._sums[place][0] += cost
            self._sums[place][1] += reward

    def view(self) -> s.SegmentsView:
        """As it stands."""
        rows = []
        for category, (spent, reward), arms in zip(self._categories, self._sums, self._arms, strict=True):
            often = {arm: pulls for arm, pulls in arms.most_common(MOST_SHARED) if pulls > 0}
            rate = reward / spent if spent > 0.0 else None
            rows.append(Segment(category, arms.total(), spent, reward, rate, often))
        return s.SegmentsView(self._name, rows)

    def _place_of(self, pull: int | None) -> int:
        return self._of[pull] if pull is not None and pull < len(self._of) else NONE


class Outcomes:
    """A uniform sample of an arm's outcomes (Vitter's algorithm R)."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, float, float]] = []  # the pull, its cost, its reward
        self._seen, self._chance = 0, random.Random(0)  # noqa: S311 (no secret)

    def add(self, pull: int, cost: float, reward: float, arms: int) -> None:
        """Add an outcome; the more arms, the fewer are kept of each."""
        self._seen += 1
        most = max(FEWEST, min(MOST, IN_ALL // arms))
        if len(self.kept) < most:
            self.kept.append((pull, cost, reward))
        elif (place := int(self._chance.random() * self._seen)) < len(self.kept):
            self.kept[place] = pull, cost, reward

    def correct(self, pull: int, cost: float, reward: float) -> None:
        """Replace the outcome of a pull that was amended."""
        self.kept = [(pull, cost, reward) if each[0] == pull else each for each in self.kept]


def forecast(status: Status, burn: Sequence[Balance], now: datetime | None = None) -> Forecast | str:
    """The forecast; or why there is none, in a sentence.

    The last half of the history is cut into 24 spans of equal time. A rehearsal draws as many of them with replacement,
    because they are only a sample of the pace, and then draws from those, one after another, until the money or the
    requests run out, or the window of the budget ends. This treats spans as independent: it knows nothing of nights and
    weekends.
    """
    recent = burn[int(len(burn) * (1 - LATELY)) :]
    if status.phase != "open":
        return "There is a forecast only while the campaign is open."
    if len(recent) < FEWEST_POINTS:
        return f"There is no forecast yet: it takes {2 * FEWEST_POINTS} told pulls."
    end = recent[-1].at if now is None else max(now, recent[-1].at)
    parts = _cut(recent, end)
    if parts is None:
        return "There is no forecast: nothing was spent lately."
    left = max(0.0, recent[-1].left)
    requests = math.inf if status.requests is None else max(0, status.requests - recent[-1].used)
    spending, by_money, by_requests = _rehearsed(parts, left, requests)
    closes = math.inf if status.window is None else max(0.0, (status.window.end - end).total_seconds())
    ends = np.minimum(np.minimum(by_money, by_requests) * parts.seconds, closes)
    early, middle, late = np.quantile(ends, ENDS, method="nearest").tolist()
    if middle > LONGEST:
        return "At the recent pace, the budget lasts for more than ten years."

    def when(seconds: float) -> datetime:
        return end + timedelta(seconds=seconds)

    by: Limit = "money" if np.mean(by_money <= by_requests) >= 0.5 else "requests"
    if np.mean(ends >= closes) >= 0.5:
        by = "window"
    times = np.linspace(0.0, min(late, 3.0 * middle), STEPS + 1)[1:].tolist()
    sums = np.cumsum(np.pad(spending, ((0, 0), (1, 0))), axis=1)
    fan = [Ahead(_millis(when(seconds)), *_left_after(seconds / parts.seconds, sums, left)) for seconds in times]
    return Forecast(end, when(middle), when(early), when(late) if late <= LONGEST else None, by, fan)


class _Parts(NamedTuple):
    """Spans of equal time, in seconds, with what was spent and how many requests were used in each."""

    seconds: float
    spent: Vector
    used: Vector


def _cut(recent: Sequence[Balance], end: datetime) -> _Parts | None:
    """The recent past in spans; raising the budget does not count as negative spending."""
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
    """What each rehearsal spends per span, and after how many spans its money and its requests run out."""
    rng = np.random.default_rng(0)  # the same each time, so that the chart does not flicker
    mean = float(parts.spent.mean())
    ahead = int(min(AHEAD, 4.0 * left / mean + PARTS))
    known = rng.integers(0, PARTS, (REHEARSALS, PARTS))
    drawn = np.take_along_axis(known, rng.integers(0, PARTS, (REHEARSALS, ahead)), axis=1)
    spent, used = parts.spent[drawn], parts.used[drawn]
    # A bootstrap mean of n values varies too little, by a factor of √(1 − 1/n).
    wider = math.sqrt(PARTS / (PARTS - 1.0))
    means = parts.spent[known].mean(axis=1)
    paces = np.maximum(0.0, mean + wider * (means - mean))
    spent = np.maximum(0.0, spent + (paces - means)[:, None])
    return spent, _until(spent, paces, left), _until(used, parts.used[known].mean(axis=1), requests)


def _until(taken: Vector, paces: Vector, most: float) -> Vector:
    """After how many spans each row exceeds `most`; after the last span the mean pace continues; ∞ for never."""
    rows, sums = np.arange(len(taken)), np.cumsum(taken, axis=1)
    whole = np.argmax(sums > most, axis=1)
    last = taken[rows, whole]
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = whole + (most - (sums[rows, whole] - last)) / last
        beyond = taken.shape[1] + (most - sums[:, -1]) / paces
    return np.where(sums[:, -1] > most, inside, np.where(paces > 0.0, beyond, math.inf))


def _left_after(spans: float, sums: Vector, left: float) -> list[float]:
    """What is left after so many spans: the ends and the median of all rehearsals."""
    place = min(spans, sums.shape[1] - 1.0)
    low = int(place)
    high = min(low + 1, sums.shape[1] - 1)
    gone = sums[:, low] + (place - low) * (sums[:, high] - sums[:, low])
    gone *= max(1.0, spans / max(place, 1e-9))  # beyond what was drawn
    quantiles: list[float] = np.quantile(np.maximum(0.0, left - gone), ENDS).tolist()
    return quantiles


def learning(status: Status, beliefs: Sequence[Belief]) -> Learning | None:
    """The cost and the bound as known now; None while too little is known. `beliefs` are those of the arms."""
    prices = _prices(status, beliefs)
    if prices is None:
        return None
    price, worth = prices
    spent = math.fsum(arm.spent for arm in status.arms)  # in all windows
    unknown = [arm.rate * arm.spent - arm.reward for arm in status.arms if arm.rate and (arm.awaited or arm.overdue)]
    cost = price * spent + worth * status.pulls - status.reward - math.fsum(unknown)
    lost = [loss for belief in beliefs if (loss := _lost(belief, price, worth)) is not None]
    bound = math.log(status.pulls) * math.fsum(lost) if lost else None
    return Learning(cost if cost > 1e-9 * abs(status.reward) else 0.0, bound)  # less is rounding


def _prices(status: Status, beliefs: Sequence[Belief]) -> tuple[float, float] | None:
    """λ and ν as known now.

    The best arm is the one whose interval has the highest lower end: of many arms, the one with the largest rate so far
    has mostly been lucky.
    """
    if status.requests is not None or status.expected is not None:
        return None if status.outlook is None else (status.outlook.price, status.outlook.worth)
    known = [belief for belief in beliefs if belief.pulls >= FEW and belief.mean_cost > 0.0]
    if not known:
        return None
    best = max(known, key=lambda belief: rate_interval(belief).low)
    rate = best.mean_reward / best.mean_cost
    return (rate, 0.0) if rate > 0.0 else None


def _lost(belief: Belief, price: float, worth: float) -> float | None:
    """Δ/D, what an arm adds to the bound; None if it is not clearly worse.

    >>> round(_lost(Belief(0, 400, 1.0, 0.5, 0.25, 0.25, 0.0), 1.0, 0.0), 3)
    2.0
    """
    if belief.pulls < FEW:
        return None
    gap = worth + price * belief.mean_cost - belief.mean_reward
    variance = belief.var_reward - 2.0 * price * belief.cov + price * price * belief.var_cost
    if not gap > CLEARLY * math.sqrt(max(0.0, variance) / belief.pulls):
        return None
    sds = math.sqrt(belief.var_cost), math.sqrt(belief.var_reward)
    product = sds[0] * sds[1]
    correlation = max(-1.0, min(1.0, belief.cov / product)) if product > 0.0 else 0.0
    distance = divergence(Gaussian(belief.mean_cost, belief.mean_reward, *sds, correlation), price, worth=worth)
    return gap / distance if distance > 0.0 else None
