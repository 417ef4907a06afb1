"""The campaigns that the service has open: each is opened on first use, and closed again where there are very many."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from outlay.campaign import Campaign
from outlay.campaign.ledger.validation import label
from outlay.campaign.ledger_file import some_campaigns
from outlay.campaign.records import Status
from outlay.errors import BadParameter, NoCampaign
from outlay.service import ServiceSettings
from outlay.service.auth import ANYBODY, Key
from outlay.service.problems import NoTemplate
from outlay.service.views import WatchedCampaign

MOST_OPEN = 1000  # campaigns that stay open while nobody uses them
MODEL = "*"  # stands in for the tenant in the name of the campaign that all tenants' of a template are made like


class Wanted(NamedTuple):
    """Which campaigns: that a key may see, after a name, so many, that have spent a share; of templates, the models."""

    key: Key = ANYBODY
    after: str = ""
    limit: int | None = None
    share: float | None = None
    models: bool = False

    def of(self, names: list[str]) -> list[str]:
        """Those of all names, which are in order.

        >>> names = ["free", "free/*", "free/ann", "spring"]
        >>> [Wanted(**terms).of(names) for terms in ({"models": True}, {"after": "free", "limit": 2})]
        [['free/*'], ['free/*', 'free/ann']]
        """
        found = (name for name in names if name > self.after and self.key.sees(name))
        if self.models:
            found = (name for name in found if name.endswith(f"/{MODEL}"))
        return [*islice(found, self.limit)]


class OpenCampaigns:
    """The campaigns of one store, for one event loop."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.stopping = asyncio.Event()
        self.active = 0  # requests that are worked on; those without a key do not count
        self.streams = 0  # now open
        self.files = 0  # being written for export
        self._open: OrderedDict[str, Campaign] = OrderedDict()  # the one that was used last comes last
        self._opening: dict[tuple[str, str | None], asyncio.Task[Campaign]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._users: Counter[str] = Counter()
        self._watched: dict[str, WatchedCampaign] = {}
        self._looking = asyncio.Lock()
        self._seen: dict[tuple[bool, Wanted], tuple[float, list[Status]]] = {}  # when it was read, and what

    async def campaign(self, name: str, like: str | None = None) -> Campaign:
        """The campaign of this name; if there is none, one like another is made, or NoCampaign is raised."""
        if name in self._open:
            self._open.move_to_end(name)
            return self._open[name]
        try:
            label("Campaign", "name", name)
        except BadParameter as error:  # a name that no campaign can have
            raise NoCampaign("no campaign can have this name") from error
        asked = name, like
        if asked not in self._opening:  # only once, however many requests wait for it
            self._opening[asked] = asyncio.ensure_future(self._opened(name, like))
            self._opening[asked].add_done_callback(lambda _: self._opening.pop(asked))
        return await asyncio.shield(self._opening[asked])

    @asynccontextmanager
    async def using(self, name: str, like: str | None = None) -> AsyncIterator[Campaign]:
        """The same; it stays open as long as it is used."""
        campaign = await self.campaign(name, like)
        while self._open.get(name) is not campaign:  # where very many are used, it was closed before it could be
            campaign = await self.campaign(name, like)
        self._users[name] += 1
        try:
            yield campaign
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]
            self._close_unused()

    async def _opened(self, name: str, like: str | None) -> Campaign:
        try:
            async with AsyncExitStack() as stack:
                model = None if like is None else await stack.enter_async_context(self.using(like))
                campaign = await asyncio.to_thread(Campaign.open, self.settings.store, name, like=model)
        except NoCampaign as error:
            if name.endswith(f"/{MODEL}"):
                raise NoTemplate("no such template") from error
            raise
        return await self._kept(campaign)

    async def _kept(self, campaign: Campaign) -> Campaign:
        """The one of its name that is open: this one, if no other was opened meanwhile."""
        kept = self._open.setdefault(campaign.name, campaign)
        if kept is not campaign:
            await campaign.adisconnect()
        return kept

    def _close_unused(self) -> None:
        """Close those that were not used for the longest time, where more are open than need be."""
        unused = (name for name in self._open if name not in self._users)
        for name in [*islice(unused, max(0, len(self._open) - MOST_OPEN))]:
            self._watched.pop(name, None)
            closing = asyncio.ensure_future(self._open.pop(name).adisconnect())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def new(self, terms: dict[str, Any]) -> tuple[Campaign, bool]:
        """Open a campaign on these terms, and say whether it is new; CampaignConflict if it has other terms."""
        name = terms["name"]
        new = False
        try:
            await self.campaign(name)
        except NoCampaign:
            new = True
        campaign = await asyncio.to_thread(lambda: Campaign(store=self.settings.store, **terms))
        return await self._kept(campaign), new

    def watched(self, campaign: Campaign) -> WatchedCampaign:
        """What the dashboard knows about a campaign, kept between requests."""
        if campaign.name not in self._watched:
            self._watched[campaign.name] = WatchedCampaign(campaign)
        return self._watched[campaign.name]

    async def some(self, wanted: Wanted, archived: bool = False, age: float = 0.0) -> list[Status]:
        """The status of those campaigns that are wanted, archived ones or others, at most so many seconds old.

        There may be very many, so no others are read. Requests that want the same share one read: one reads at a time.
        """
        asked, since = (archived, wanted), time.monotonic() - age
        async with self._looking:
            if asked not in self._seen or self._seen[asked][0] < since:
                self._seen = {each: seen for each, seen in self._seen.items() if seen[0] > since}
                read = partial(some_campaigns, self.settings.store, archived, wanted.of, wanted.share)
                began = time.monotonic()
                try:
                    found = await asyncio.to_thread(read)
                except NoCampaign:
                    found = []
                self._seen[asked] = began, found
            return self._seen[asked][1]

    async def close(self) -> None:
        """Finish what is queued, and close all campaigns."""
        self.stopping.set()
        await asyncio.gather(*self._closing)
        while self._open:
            _, campaign = self._open.popitem()
            await campaign.adisconnect()
