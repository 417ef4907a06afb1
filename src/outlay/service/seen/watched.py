"""What there is to see of a campaign: its events folded as they come, a look at a time, so that each is read once."""

import asyncio
import time
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from outlay.beliefs import Belief
from outlay.campaign import Campaign, Reasons
from outlay.campaign.monitor import CampaignView, Watch
from outlay.campaign.records import Entry
from outlay.errors import OutlayError
from outlay.service.seen.forecast import forecast
from outlay.service.seen.learning import learning
from outlay.service.seen.past import Known, Looks, Outcomes
from outlay.service.wire.views import Forecast, Learning

UNUSUAL = ("late", "overrun", "rounded")  # that a tell may have been
ENDINGS = ("expired", "voided", "amended")  # kinds of events
AT_ONCE = 10_000  # events that one look reads: a fraction of a second
WEIGHED = 1000  # arms whose reasons are told
BRIEFLY, PATIENCE = 0.2, 1.0  # seconds for which a look is good, and what follows from it


class Judged(NamedTuple):
    """What follows from so many events: why an arm comes next, when it ends, what learning has cost.

    None where the policy is not at hand, where nothing can be said, or while the past is being read.
    """

    events: int
    read: int | None
    reasons: Reasons | None
    forecast: Forecast | None
    learning: Learning | None


class Watched:
    """A campaign that somebody looks at."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._watch = _Counting(campaign)
        self._lock = asyncio.Lock()
        self._seen: CampaignView | None = None
        self._judged = Judged(-1, -1, None, None, None)
        self._when = {"seen": -PATIENCE, "judged": -PATIENCE}  # by a clock that only rises

    async def look(self) -> tuple[CampaignView, Judged]:
        """The campaign as it is now, and what follows from that, which takes longer and may be a second old.

        Of a long past, a part more is read with each look. All who look at the same time see the same.
        """
        async with self._lock:
            if self._seen is None or time.monotonic() - self._when["seen"] >= BRIEFLY:
                self._seen = await asyncio.to_thread(self._watch.look, AT_ONCE)
                self._when["seen"] = time.monotonic()
            new = (self._seen.status.events, self.read) != (self._judged.events, self._judged.read)
            if new and time.monotonic() - self._when["judged"] >= PATIENCE:
                self._judged = await asyncio.to_thread(self._judge, self._seen)
                self._when["judged"] = time.monotonic()
            return self._seen, self._judged

    async def catch_up(self) -> CampaignView:
        """The campaign with all events that it has by now, however long that takes to read."""
        while True:
            async with self._lock:
                self._seen = await asyncio.to_thread(self._watch.look, AT_ONCE)
                self._when["seen"] = time.monotonic()
            if not self._watch.behind:
                return self._seen

    def _judge(self, found: CampaignView) -> Judged:
        status = found.status
        reasons: Reasons | None = None
        with suppress(OutlayError):  # a policy of a user's own, which the service does not have
            reasons = self.campaign.reasons(WEIGHED)
        if self._watch.behind:
            return Judged(status.events, self.read, reasons, None, None)
        beliefs = [belief for arm in status.arms if (belief := self._watch.belief(arm.name)) is not None]
        ahead = forecast(status, found.burn, datetime.now(UTC))
        return Judged(status.events, self.read, reasons, ahead, learning(status, beliefs))

    @property
    def read(self) -> int | None:
        """The last event that was read, where there is a long past to be read yet."""
        return self._watch.read if self._watch.behind else None

    @property
    def counts(self) -> dict[str, int]:
        """How many pulls were late, over what was set aside, expired, void and so on, at the last look."""
        return {name: self._watch.counted[name] for name in (*UNUSUAL, *ENDINGS)}

    @property
    def tags(self) -> dict[str, int]:
        """How many pulls have each tag, at the last look."""
        return dict(self._watch.tagged)

    @property
    def outcomes(self) -> dict[str, list[tuple[int, float, float]]]:
        """Of each arm some outcomes, drawn evenly from all: the pull, its cost, its reward."""
        return {arm: each.kept for arm, each in self._watch.outcomes.items()}

    def past(self, arm: str) -> list[Known]:
        """How the rate of an arm was known over time."""
        return self._watch.past(arm)


class _Counting(Watch):
    """A watch that counts, and remembers more."""

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign, pulls=50, events=50)
        self.counted: Counter[str] = Counter()
        self.tagged: Counter[str] = Counter()
        self.outcomes: defaultdict[str, Outcomes] = defaultdict(Outcomes)
        self._looks = Looks()

    def belief(self, arm: str) -> Belief | None:
        return self._memory.belief(self._arms[arm]) if arm in self._arms else None

    def past(self, arm: str) -> list[Known]:
        return self._looks.of(self._arms[arm]) if arm in self._arms else []

    def _take_in(self, entry: Entry) -> None:
        super()._take_in(entry)
        if entry.kind in ENDINGS:
            self.counted[entry.kind] += 1
        for name in UNUSUAL:
            if entry.more.get(name):
                self.counted[name] += 1
        for tag in entry.more.get("tags", ()) if entry.kind == "asked" else ():
            self.tagged[tag] += 1

    def _count(self, name: str, entry: Entry) -> float:
        more = super()._count(name, entry)
        sample = entry.pull or 0, entry.cost or 0.0, entry.reward or 0.0
        if entry.more.get("instead") is None:
            self.outcomes[name].add(*sample, arms=len(self._arms))
        else:
            self.outcomes[name].correct(*sample)
        self._looks.note(entry.at, self._memory)
        return more
