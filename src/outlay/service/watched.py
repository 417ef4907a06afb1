"""What is counted about a campaign beside its sums: its tags, and how often something went otherwise than planned.

The events are folded as they come, a look at a time, so that a million of them are read once.
"""

import asyncio
from collections import Counter

from outlay.campaign import Campaign
from outlay.campaign.answers.history import Entry
from outlay.campaign.answers.watching import View, Watch

UNUSUAL = ("late", "overrun", "rounded")  # that a tell may have been
ENDINGS = ("expired", "voided", "amended")  # kinds of events


class Watched:
    """A campaign that somebody looks at."""

    def __init__(self, campaign: Campaign) -> None:
        self._watch = _Counting(campaign)
        self._lock = asyncio.Lock()

    async def look(self) -> View:
        """The campaign as it is now."""
        async with self._lock:
            return await asyncio.to_thread(self._watch.look)

    @property
    def counts(self) -> dict[str, int]:
        """How many pulls were late, over what was set aside, expired, void and so on, at the last look."""
        return {name: self._watch.counted[name] for name in (*UNUSUAL, *ENDINGS)}

    @property
    def tags(self) -> dict[str, int]:
        """How many pulls have each tag, at the last look."""
        return dict(self._watch.tagged)


class _Counting(Watch):
    """A watch that counts."""

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign, pulls=50, events=50)
        self.counted: Counter[str] = Counter()
        self.tagged: Counter[str] = Counter()

    def _take_in(self, entry: Entry) -> None:
        super()._take_in(entry)
        if entry.kind in ENDINGS:
            self.counted[entry.kind] += 1
        self.counted.update(name for name in UNUSUAL if entry.more.get(name))
        if entry.kind == "asked":
            self.tagged.update(entry.more.get("tags", ()))
