"""What there is to see of a campaign: its events folded as they come, a look at a time, so that each is read once."""

import asyncio
import time
from collections import Counter, defaultdict

from outlay.beliefs import Belief
from outlay.campaign import Campaign, Reasons
from outlay.campaign.answers.history import Entry
from outlay.campaign.answers.watching import View, Watch
from outlay.errors import OutlayError
from outlay.service.past import Known, Looks, Outcomes

UNUSUAL = ("late", "overrun", "rounded")  # that a tell may have been
ENDINGS = ("expired", "voided", "amended")  # kinds of events
AT_ONCE = 10_000  # events that one look reads: a fraction of a second
WEIGHED = 1000  # arms whose reasons are told
PATIENCE = 1.0  # seconds for which reasons are good


class Watched:
    """A campaign that somebody looks at."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._watch = _Counting(campaign)
        self._lock = asyncio.Lock()
        self._reasons: Reasons | None = None
        self._weighed = -1, 0.0  # after how many events, and when

    async def look(self) -> View:
        """The campaign as it is now; of a long past, a part more is read with each look."""
        async with self._lock:
            return await asyncio.to_thread(self._watch.look, AT_ONCE)

    async def reasons(self, events: int) -> Reasons | None:
        """Why an arm comes next, where there are so many events; None where the policy is not at hand."""
        async with self._lock:
            if events != self._weighed[0] and time.monotonic() - self._weighed[1] >= PATIENCE:
                try:
                    self._reasons = await asyncio.to_thread(self.campaign.reasons, WEIGHED)
                except OutlayError:
                    self._reasons = None  # a policy of a user's own, which the service does not have
                self._weighed = events, time.monotonic()
            return self._reasons

    @property
    def read(self) -> int:
        """The last event that was read."""
        return self._watch.read

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

    def belief(self, arm: str) -> Belief | None:
        """What the outcomes of an arm say; None before the first."""
        return self._watch.belief(arm)

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
        self.counted.update(name for name in UNUSUAL if entry.more.get(name))
        if entry.kind == "asked":
            self.tagged.update(entry.more.get("tags", ()))

    def _count(self, name: str, entry: Entry) -> None:
        super()._count(name, entry)
        sample = entry.decision or 0, entry.cost or 0.0, entry.reward or 0.0
        if entry.more.get("instead") is None:
            self.outcomes[name].add(*sample, arms=len(self._arms))
        else:
            self.outcomes[name].correct(*sample)
        self._looks.note(entry.at, self._memory)
